// SPDX-License-Identifier: MIT

package llamaserver

import (
	"cmp"
	"maps"
	"slices"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
)

// randomSeed is how llama.cpp writes that a seed is to be drawn.
const randomSeed = 1<<32 - 1

// legacyReasoning is the format that leaves reasoning in the content too.
const legacyReasoning = "deepseek-legacy"

// settings are generation_settings: what an answer is generated with.
type settings map[string]any

// samplingSettings are those of sampling parameters, and what all others are by default.
func samplingSettings(p sampling.Params) settings {
	s := settings(p.Values())
	maps.Copy(s, settings{
		"seed": p.Seed, "max_tokens": -1, "n_predict": -1, "n_keep": 0, "n_discard": 0, "n_probs": 0, "stream": false,
		"timings_per_token": false, "post_sampling_probs": false, "backend_sampling": false, "lora": []any{},
		"chat_format": "Content-only", "reasoning_format": "none", "reasoning_in_content": false, "generation_prompt": "",
	})
	return s
}

// defaultSettings are those of a request that says nothing. Two lists are in an answer's settings
// only, as with llama-server.
func defaultSettings(m *serving.Model) settings {
	p := m.Sampling.Params()
	if !m.Sampling.Seeded() {
		p.Seed = randomSeed
	}
	s := samplingSettings(p)
	s["speculative.types"] = drafters(m)
	delete(s, "dry_sequence_breakers")
	delete(s, "preserved_tokens")
	return s
}

// drafters are what guesses tokens of a model's answers.
func drafters(m *serving.Model) string { return cmp.Or(m.Drafter, "none") }

// settings are those of a choice of a request with this body.
func (b *completionBody) settings(r *completion.Prompted, choice int) settings {
	p := r.Params.ForChoice(uint32(choice % r.PerPrompt))
	if b.Seed == nil && !r.Model.Sampling.Seeded() || b.Seed != nil && *b.Seed < 0 {
		p.Seed = randomSeed
	}
	s := samplingSettings(p)
	maps.Copy(s, formatSettings(r.Model.Engine, p))
	maps.Copy(s, settings{
		"stop": slices.Concat([]string{}, r.Stops, r.Rendered.Stops), "logit_bias": biases(r),
		"lora": adapters(r.Adapters), "speculative.types": drafters(r.Model),
		"max_tokens": b.limit(), "n_predict": b.limit(), "n_keep": r.Shift().Keep, "n_discard": b.NDiscard, "n_probs": first(0, b.NProbs, b.Logprobs), "stream": b.Stream,
		"timings_per_token": b.TimingsPerToken, "post_sampling_probs": b.PostSamplingProbs, "backend_sampling": b.BackendSampling,
		"reasoning_format": b.ReasoningFormat, "reasoning_in_content": b.Stream && b.ReasoningFormat == legacyReasoning,
	})
	if format := r.Rendered.Format; format != "" {
		reasoning := r.Rendered.ReasoningFormat
		maps.Copy(s, settings{"chat_format": format, "reasoning_format": reasoning, "reasoning_in_content": b.Stream && reasoning == legacyReasoning,
			"generation_prompt": r.Rendered.GenerationPrompt})
	}
	if b.limit() == -1 && r.Model.MaxTokens > 0 && b.unlimited() {
		s["n_predict"], s["max_tokens"] = r.Model.MaxTokens, r.Model.MaxTokens
	}
	return s
}

// formatSettings are those of what the answer must look like: what the request gave, or the
// grammar of its chat's format. It was not refused, so there are no errors.
func formatSettings(e serving.Engine, p sampling.Params) settings {
	triggers, _ := e.Triggers(p)
	preserved, _ := e.PreservedTokens(p)
	slices.Sort(preserved)
	s := settings{"grammar": p.Grammar, "grammar_lazy": p.GrammarLazy, "grammar_triggers": append([]sampling.Trigger{}, triggers...),
		"preserved_tokens": append([]int32{}, preserved...), "generation_prompt": p.GenerationPrompt}
	if len(p.JSONSchema) > 0 {
		s["json_schema"] = p.JSONSchema
	}
	if p.Regex != "" {
		s["regex"] = p.Regex
	}
	return s
}

// unlimited reports whether the body says nothing of the length of the answer.
func (b *completionBody) unlimited() bool {
	return b.NPredict == nil && b.MaxCompletionTokens == nil && b.MaxTokens == nil
}

// adapters lists the LoRA adapters that a request names.
func adapters(scales []serving.AdapterScale) []map[string]any {
	list := []map[string]any{}
	for _, s := range scales {
		entry := map[string]any{"id": s.ID, "scale": s.Scale}
		if s.Name != "" {
			entry = map[string]any{"name": s.Name, "scale": s.Scale}
		}
		list = append(list, entry)
	}
	return list
}

// tokenBias is one entry of logit_bias; null bans the token.
type tokenBias struct {
	Bias  *float32 `json:"bias"`
	Token int32    `json:"token"`
}

// biases lists the biases of a request by token, and after them those of the tokens that may not
// end the answer.
func biases(r *completion.Prompted) []tokenBias {
	list := []tokenBias{}
	for _, token := range slices.Sorted(maps.Keys(r.Params.LogitBias)) {
		entry := tokenBias{Token: token}
		if bias := r.Params.LogitBias[token]; bias >= lowest {
			entry.Bias = &bias
		}
		list = append(list, entry)
	}
	if r.Params.IgnoreEOS {
		for _, token := range r.Model.Ends {
			list = append(list, tokenBias{Token: token})
		}
	}
	return list
}
