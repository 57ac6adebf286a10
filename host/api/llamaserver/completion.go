// SPDX-License-Identifier: MIT

package llamaserver

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
)

// completionBody is POST /completion.
type completionBody struct {
	completion.CommonFields
	Model  string          `json:"model"`
	Prompt json.RawMessage `json:"prompt"`
	Stop   json.RawMessage `json:"stop"`

	// Three names of one thing; the first that is there counts.
	NPredict            *int `json:"n_predict"`
	MaxCompletionTokens *int `json:"max_completion_tokens"`
	MaxTokens           *int `json:"max_tokens"`

	// Two names of one thing, and of another.
	NCmpl    *int `json:"n_cmpl"`
	N        *int `json:"n"`
	NProbs   *int `json:"n_probs"`
	Logprobs *int `json:"logprobs"`

	PostSamplingProbs bool   `json:"post_sampling_probs"`
	NKeep             *int   `json:"n_keep"`
	NDiscard          int    `json:"n_discard"`
	NIndent           int    `json:"n_indent"`
	TMaxPredictMS     int64  `json:"t_max_predict_ms"`
	IDSlot            *int   `json:"id_slot"`
	NCacheReuse       int    `json:"n_cache_reuse"`
	ReasoningFormat   string `json:"reasoning_format"`
	BackendSampling   bool   `json:"backend_sampling"`

	Stream          bool     `json:"stream"`
	SSEPingInterval int      `json:"sse_ping_interval"`
	ResponseFields  []string `json:"response_fields"`
	ReturnTokens    bool     `json:"return_tokens"`
	ReturnProgress  bool     `json:"return_progress"`
	TimingsPerToken bool     `json:"timings_per_token"`
	Verbose         bool     `json:"verbose"`
}

func defaultBody() completionBody {
	return completionBody{CommonFields: completion.DefaultCommonFields(), TMaxPredictMS: -1, ReasoningFormat: "deepseek"}
}

func (a API) completion(c echo.Context) error {
	b := defaultBody()
	size, err := wire.ReadBody(c, &b)
	if err != nil {
		return err
	}
	return a.complete(c, &b, size, completion.Texts{JSON: b.Prompt})
}

// infillBody is POST /infill: a completion whose prompt is made of what surrounds a gap.
type infillBody struct {
	completionBody
	Prompt *string           `json:"prompt"`
	Prefix *string           `json:"input_prefix"`
	Suffix *string           `json:"input_suffix"`
	Extra  []completion.File `json:"input_extra"`
}

// infill fills in the middle.
func (a API) infill(c echo.Context) error {
	b := infillBody{completionBody: defaultBody()}
	size, err := wire.ReadBody(c, &b)
	if err != nil {
		return err
	}
	gap := completion.Infill{Prefix: b.Prefix, Suffix: b.Suffix, Extra: b.Extra}
	if b.Prompt != nil {
		gap.Prompt = *b.Prompt
	}
	return a.complete(c, &b.completionBody, size, gap)
}

// complete answers a completion.
func (a API) complete(c echo.Context, b *completionBody, size int, prompt completion.Source) error {
	if err := b.check(); err != nil {
		return err
	}
	b.clampParams()
	asked, err := b.asked(wire.CallerOf(c), size, prompt)
	if err != nil {
		return err
	}
	r, err := a.Prompt(c.Request().Context(), asked)
	if err != nil {
		return err
	}
	return a.Answer(c, r, newCompletionShape(r, b), b.Stream)
}

// check refuses what is out of range, besides what completion does.
func (b *completionBody) check() error {
	for _, f := range []struct {
		name      string
		value     *int
		low, high int
	}{
		{"n_predict", b.NPredict, -1, math.MaxInt32}, {"max_completion_tokens", b.MaxCompletionTokens, -1, math.MaxInt32},
		{"max_tokens", b.MaxTokens, -1, math.MaxInt32}, {"n_keep", b.NKeep, -1, math.MaxInt32}, {"n_discard", &b.NDiscard, 0, math.MaxInt32},
		{"n_indent", &b.NIndent, 0, math.MaxInt32}, {"n_cache_reuse", &b.NCacheReuse, 0, math.MaxInt32},
		{"sse_ping_interval", &b.SSEPingInterval, -1, math.MaxInt32}, {"n_probs", b.NProbs, math.MinInt32, mostProbs},
		{"logprobs", b.Logprobs, math.MinInt32, mostProbs},
	} {
		if f.value != nil && (*f.value < f.low || *f.value > f.high) {
			return refusal.Invalid(f.name, "%s is %d; it must be from %d to %d", f.name, *f.value, f.low, f.high)
		}
	}
	if b.TMaxPredictMS < -1 {
		return refusal.Invalid("t_max_predict_ms", "t_max_predict_ms is %d; it must be at least -1", b.TMaxPredictMS)
	}
	if b.DrySequenceBreakers != nil && len(b.DrySequenceBreakers) == 0 {
		return refusal.Invalid("dry_sequence_breakers", "dry_sequence_breakers is empty; it must be a list of texts, or be left out")
	}
	switch b.ReasoningFormat {
	case "none", "auto", "deepseek", "deepseek-legacy":
		return nil
	}
	return refusal.Invalid("reasoning_format", "reasoning_format is %q; it must be none, auto, deepseek or deepseek-legacy", b.ReasoningFormat)
}

// The bounds of the alternatives reported with each token: before the sampler chain, and after it,
// where each sampler is looked at.
const (
	mostProbs      = 1000
	mostCandidates = 100
)

// clampParams moves sampling parameters into their ranges where llama-server does so. Fields that
// are not given stay unset: it is no number.
func (b *completionBody) clampParams() {
	unit := func(v float32) float32 { return max(0, min(v, 1)) }
	if b.TopK != sampling.Unset {
		b.TopK = max(0, b.TopK)
	}
	if b.Mirostat != sampling.Unset {
		b.Mirostat = max(0, min(b.Mirostat, 2))
	}
	b.TopP, b.MinP = unit(b.TopP), unit(b.MinP)
	b.XTCProbability, b.XTCThreshold = unit(b.XTCProbability), unit(b.XTCThreshold)
	b.Temperature, b.AdaptiveTarget = max(0, b.Temperature), max(-1, min(b.AdaptiveTarget, 1))
	if b.DryBase < 1 {
		b.DryBase = sampling.UnsetFields().DryBase
	}
}

// asked is the request that a body of size bytes is.
func (b *completionBody) asked(from completion.Caller, size int, prompt completion.Source) (completion.Asked, error) {
	a := completion.Asked{Caller: from, ModelName: b.Model, PromptField: "prompt", Common: b.CommonFields, Size: size, Source: prompt}
	a.Answers = completion.Answers{PerPrompt: firstGiven(1, b.NCmpl, b.N), OnePerSlot: "n_cmpl", Logprobs: -1, ReturnTokens: b.ReturnTokens, Keep: b.NKeep, Discard: b.NDiscard, Progress: b.ReturnProgress && b.Stream}
	if b.NCmpl == nil {
		a.OnePerSlot = "n"
	}
	if n := b.limit(); n >= 0 {
		n = max(1, n) // as llama-server does
		a.Limit = &n
	}
	if b.IDSlot != nil && *b.IDSlot != -1 {
		a.Slot = b.IDSlot
	}
	if n := max(0, firstGiven(0, b.NProbs, b.Logprobs)); n > 0 {
		a.Logprobs = n
		if b.NProbs != nil {
			a.LogprobsField = "n_probs"
		}
		if b.PostSamplingProbs {
			a.Candidates = n
		}
		if a.Candidates > mostCandidates {
			return a, refusal.Invalid("n_probs", "n_probs is %d; with post_sampling_probs it must be at most %d", n, mostCandidates)
		}
	}
	if most := time.Duration(b.TMaxPredictMS) * time.Millisecond; b.NIndent > 0 || most > 0 {
		a.Lines = completion.LineRule{Indent: b.NIndent, Most: max(0, most), Stream: b.Stream}
	}
	var err error
	a.Stops, err = completion.ReadStops(b.Stop, "stop")
	return a, err
}

// limit is how many tokens to generate: -1 for as many as the server allows.
func (b *completionBody) limit() int {
	return firstGiven(-1, b.NPredict, b.MaxCompletionTokens, b.MaxTokens)
}

// firstGiven is the first value that is there.
func firstGiven(otherwise int, values ...*int) int {
	for _, v := range values {
		if v != nil {
			return *v
		}
	}
	return otherwise
}

// randomSeed is how llama.cpp writes that a seed is to be drawn.
const randomSeed = 1<<32 - 1

// legacyReasoning is the format that leaves reasoning in the content too.
const legacyReasoning = "deepseek-legacy"

// settings are generation_settings: what an answer is generated with.
type settings map[string]any

// samplingSettings describes sampling parameters; all other settings have their defaults.
func samplingSettings(p sampling.Params) settings {
	s := settings(p.Values())
	maps.Copy(s, settings{
		"seed": p.Seed, "max_tokens": -1, "n_predict": -1, "n_keep": 0, "n_discard": 0, "n_probs": 0, "stream": false,
		"timings_per_token": false, "post_sampling_probs": false, "backend_sampling": false, "lora": []any{},
		"chat_format": "Content-only", "reasoning_format": "none", "reasoning_in_content": false, "generation_prompt": "",
	})
	return s
}

// defaultSettings describes a request that sets nothing. Two lists are in an answer's settings
// only, as with llama-server.
func defaultSettings(m *serving.Model) settings {
	p := m.Defaults.Sampling.Params()
	if !m.Defaults.Sampling.Seeded() {
		p.Seed = randomSeed
	}
	s := samplingSettings(p)
	s["speculative.types"] = drafters(m)
	delete(s, "dry_sequence_breakers")
	delete(s, "preserved_tokens")
	return s
}

// drafters are what guesses tokens of a model's answers.
func drafters(m *serving.Model) string { return cmp.Or(m.Compute.Drafter, "none") }

// settings describes what one choice of a request with this body is computed with.
func (b *completionBody) settings(r *completion.Prompted, choice int) settings {
	p := r.Params.ForChoice(uint32(choice % r.PerPrompt))
	if b.Seed == nil && !r.Model.Defaults.Sampling.Seeded() || b.Seed != nil && *b.Seed < 0 {
		p.Seed = randomSeed
	}
	s := samplingSettings(p)
	maps.Copy(s, formatSettings(r, p))
	maps.Copy(s, settings{
		"stop": append(append([]string{}, r.Stops...), r.Rendered.Stops...), "logit_bias": biases(r),
		"lora": adapters(r.Adapters), "speculative.types": drafters(r.Model),
		"max_tokens": b.limit(), "n_predict": b.limit(), "n_keep": r.Shift().Keep, "n_discard": b.NDiscard, "n_probs": firstGiven(0, b.NProbs, b.Logprobs), "stream": b.Stream,
		"timings_per_token": b.TimingsPerToken, "post_sampling_probs": b.PostSamplingProbs, "backend_sampling": b.BackendSampling,
		"reasoning_format": b.ReasoningFormat, "reasoning_in_content": b.Stream && b.ReasoningFormat == legacyReasoning,
	})
	if format := r.Rendered.Format; format != "" {
		reasoning := r.Rendered.ReasoningFormat
		maps.Copy(s, settings{"chat_format": format, "reasoning_format": reasoning, "reasoning_in_content": b.Stream && reasoning == legacyReasoning,
			"generation_prompt": r.Rendered.GenerationPrompt})
	}
	if b.limit() == -1 && r.Model.Defaults.MaxTokens > 0 && b.unlimited() {
		s["n_predict"], s["max_tokens"] = r.Model.Defaults.MaxTokens, r.Model.Defaults.MaxTokens
	}
	return s
}

// formatSettings describes what the answer must look like: what the request gave, or the grammar
// of its chat's format. It was not refused, so there are no errors.
func formatSettings(r *completion.Prompted, p sampling.Params) settings {
	triggers, _ := r.Model.Engine.Triggers(context.Background(), p)
	preserved := append([]int32{}, r.Preserved...)
	slices.Sort(preserved)
	s := settings{"grammar": p.Grammar, "grammar_lazy": p.GrammarLazy, "grammar_triggers": append([]sampling.Trigger{}, triggers...),
		"preserved_tokens": preserved, "generation_prompt": p.GenerationPrompt}
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
		for _, token := range r.Model.Vocabulary.Ends {
			list = append(list, tokenBias{Token: token})
		}
	}
	return list
}
