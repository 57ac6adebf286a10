// SPDX-License-Identifier: MIT

package peer

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// request is one that both servers answer.
type request struct {
	path  string // POST, unless there is no body
	body  string
	field string // of a wrong request: what an error has to name
}

func (r request) method() string {
	if r.body == "" {
		return http.MethodGet
	}
	return http.MethodPost
}

// generator makes requests; the same seed makes the same ones.
type generator struct {
	t      *testing.T
	random *rand.Rand
}

// object is a JSON object.
type object = map[string]any

func (g *generator) pick(n int) int         { return g.random.IntN(n) }
func (g *generator) often(percent int) bool { return g.pick(100) < percent }

func oneOf[T any](g *generator, choices ...T) T { return choices[g.pick(len(choices))] }

func (g *generator) request(path string, body object) request {
	g.t.Helper()
	text := must.Get(json.Marshal(body))(g.t)
	return request{path: path, body: string(text)}
}

var texts = []string{
	"Once upon a time", "The frog", "Lily and Tom went to the park.", "One day,", "a", " ", "\n", "The old fox said: \"", "Grüße an die Bären",
	"été 🐸 naïve", "1 2 3", "There was a king\n\nand a queen", "He said <|im_end|> loudly", "Once upon a time there was a little dog who liked to",
	"<|im_start|>user\nTell me a story about a frog.<|im_end|>\n<|im_start|>assistant\n",
}

func (g *generator) text() string { return oneOf(g, texts...) }

func (g *generator) tokens(n int) []int {
	tokens := make([]int, n)
	for i := range tokens {
		tokens[i] = 200 + g.pick(1200)
	}
	return tokens
}

// prompt is one of the forms that llama-server takes.
func (g *generator) prompt() any {
	switch g.pick(8) {
	case 0:
		return g.tokens(1 + g.pick(8))
	case 1:
		return []any{g.text(), 1 + g.pick(1000), g.text()}
	case 2:
		return []any{300 + g.pick(1000), g.text()}
	case 3:
		return object{"prompt_string": g.text()}
	}
	return g.text()
}

// setting is a parameter of a completion with a value that is allowed, or that llama-server makes
// fit.
func (g *generator) setting() object {
	settings := []func() object{
		func() object { return object{"top_k": oneOf(g, -1, 0, 1, 5, 40, 100000)} },
		func() object { return object{"top_p": oneOf(g, 0.0, 0.1, 0.5, 0.95, 1, 1.5, -1)} },
		func() object { return object{"min_p": oneOf(g, 0.0, 0.05, 0.5, 1, 2)} },
		func() object { return object{"top_n_sigma": oneOf(g, -1, 0, 1, 2.5)} },
		func() object { return object{"xtc_probability": 0, "xtc_threshold": oneOf(g, 0.1, 0.5, 1.5)} },
		func() object { return object{"typical_p": oneOf(g, 0.2, 0.9, 1)} },
		func() object {
			return object{"dynatemp_range": 0, "dynatemp_exponent": oneOf(g, 0.5, 1, 2)}
		},
		func() object {
			return object{"repeat_last_n": oneOf(g, 0, 8, 64, 1000), "repeat_penalty": oneOf(g, 1, 1.1, 1.5)}
		},
		func() object {
			return object{"presence_penalty": oneOf(g, 0, 0.5, -0.5), "frequency_penalty": oneOf(g, 0, 0.5, 1.5)}
		},
		func() object {
			return object{"dry_multiplier": oneOf(g, 0.0, 0.8), "dry_base": oneOf(g, 0.5, 1.75, 2), "dry_allowed_length": oneOf(g, 1, 2, 3),
				"dry_penalty_last_n": oneOf(g, 0, 16, 64), "dry_sequence_breakers": []string{"\n", "."}}
		},
		func() object {
			return object{"adaptive_target": oneOf(g, -1, -0.5), "adaptive_decay": oneOf(g, 0, 0.5, 0.99)}
		},
		func() object {
			return object{"mirostat": 0, "mirostat_tau": oneOf(g, 1, 5.5), "mirostat_eta": oneOf(g, 0.1, 0.5)}
		},
		func() object { return object{"seed": oneOf(g, 0, 1, 42, 4294967293)} },
		func() object { return object{"min_keep": oneOf(g, 0, 1, 5)} },
		func() object { return object{"n_keep": oneOf(g, 0, 4, -1)} },
		func() object { return object{"n_discard": oneOf(g, 0, 8)} },
		func() object { return object{"n_indent": oneOf(g, 0, 2)} },
		func() object { return object{"t_max_predict_ms": oneOf(g, -1, 0, 600000)} },
		func() object { return object{"ignore_eos": g.often(50)} },
		func() object {
			return object{"logit_bias": [][2]any{{g.pick(100), 1.5}, {300, false}, {" there", -5}}}
		},
		func() object { return object{"logit_bias": object{"374": -100, " was": 2}} },
		func() object { return object{"samplers": []string{"top_k", "typ_p", "temperature"}} },
		func() object { return object{"samplers": oneOf(g, "kypmxt", "kt", "edt")} },
		func() object { return object{"n_probs": oneOf(g, 0, 1, 3, 10)} },
		func() object { return object{"n_probs": oneOf(g, 1, 3, 10), "post_sampling_probs": true} },
		func() object { return object{"stop": []string{oneOf(g, " a", " the", "zzz", "\n"), "."}} },
		func() object { return object{"stop": oneOf(g, " was", " the")} },
		func() object { return object{"return_tokens": g.often(70)} },
		func() object { return object{"cache_prompt": g.often(50)} },
		func() object { return object{"timings_per_token": true} },
		func() object { return object{"n_cache_reuse": 0, "sse_ping_interval": 30, "verbose": false} },
		func() object { return object{"id_slot": oneOf(g, -1, 0, 1)} },
		func() object {
			return object{"response_fields": []string{"content", "stop_type", "generation_settings/top_k", "generation_settings/n_predict", "nothing"}}
		},
		func() object { return object{"grammar": `root ::= [a-z ]+ "."`} },
		func() object { return object{"json_schema": object{"type": "string", "maxLength": 5}} },
		func() object { return object{"top_k": nil, "stop": nil, "n_probs": nil, "samplers": nil} },
		func() object { return object{"frobnicate": g.pick(3)} },
		func() object { return object{"model": oneOf(g, "tiny", "gpt-4o-mini", "")} },
		func() object { return object{"reasoning_format": oneOf(g, "none", "auto", "deepseek")} },
		func() object { return object{"lora": []object{}} },
	}
	return settings[g.pick(len(settings))]()
}

// completion is greedy: what is drawn by chance need not agree.
func (g *generator) completion() request {
	body := object{"prompt": g.prompt()}
	for range g.pick(5) {
		maps.Copy(body, g.setting())
	}
	body["temperature"] = oneOf(g, 0, 0, 0, -1)
	body[oneOf(g, "n_predict", "n_predict", "max_tokens", "max_completion_tokens")] = oneOf(g, 0, 1, 2, 5, 12, 24)
	if g.often(30) {
		body["stream"] = true
	}
	if g.often(6) {
		body["prompt"] = []any{g.text(), g.tokens(3), g.text()}
	} else if g.often(6) {
		body[oneOf(g, "n_cmpl", "n")] = 2
		delete(body, "id_slot")
	}
	if body["grammar"] != nil { // Penstock refuses a body with both
		delete(body, "json_schema")
	}
	if body["grammar"] != nil || body["json_schema"] != nil { // at the end of the grammar no token would be left
		delete(body, "ignore_eos")
	}
	if _, isList := body["prompt"].([]any); isList || body["n"] != nil || body["n_cmpl"] != nil {
		delete(body, "stream") // the frames of several answers may come in any order
	}
	return g.request(oneOf(g, "/completion", "/completions"), body)
}

func (g *generator) tokenize() request {
	body := object{"content": g.text()}
	if g.often(20) {
		body["content"] = []any{g.text(), 5, g.text()}
	}
	for _, name := range []string{"add_special", "parse_special", "with_pieces"} {
		if g.often(50) {
			body[name] = g.often(60)
		}
	}
	if g.often(5) {
		delete(body, "content")
	}
	return g.request("/tokenize", body)
}

func (g *generator) detokenize() request {
	if g.often(5) {
		return g.request("/detokenize", object{})
	}
	tokens := g.tokens(g.pick(12))
	if g.often(30) {
		tokens = append(tokens, oneOf(g, 0, 1, 2, 3, 147, 198, 240))
	}
	return g.request("/detokenize", object{"tokens": tokens})
}

func (g *generator) applyTemplate() request {
	var messages []object
	if g.often(50) {
		messages = append(messages, object{"role": "system", "content": g.text()})
	}
	for i := range g.pick(5) {
		messages = append(messages, object{"role": []string{"user", "assistant"}[i%2], "content": g.text()})
	}
	if g.often(30) {
		messages = append(messages, object{"role": "user", "content": []object{{"type": "text", "text": g.text()}, {"type": "text", "text": "b"}}})
	}
	if messages == nil { // a list without messages is refused
		messages = []object{{"role": "user", "content": g.text()}}
	}
	body := object{"messages": messages}
	if g.often(20) {
		body["add_generation_prompt"] = false
	}
	if g.often(20) {
		body["chat_template_kwargs"] = object{"enable_thinking": g.often(50)}
	}
	return g.request("/apply-template", body)
}

// count asks how many tokens a conversation has.
func (g *generator) count() request {
	r := g.applyTemplate()
	r.path = oneOf(g, "/chat/completions/input_tokens", "/v1/chat/completions/input_tokens")
	return r
}

func (g *generator) embedding() request {
	body := object{"content": g.prompt()}
	if g.often(30) {
		body["content"] = []any{g.text(), g.tokens(3), g.text()}
	}
	if g.often(30) {
		body["embd_normalize"] = 2
	}
	return g.request(oneOf(g, "/embedding", "/embeddings"), body)
}

// wrong is a request that llama-server refuses, with the field at fault.
func (g *generator) wrong() request {
	wrongs := []struct {
		path, field string
		body        object
	}{
		{"/completion", "prompt", object{}},
		{"/completion", "prompt", object{"prompt": 3}},
		{"/completion", "prompt", object{"prompt": []any{}}},
		{"/completion", "prompt", object{"prompt": []any{true}}},
		{"/completion", "prompt", object{"prompt": object{"text": "a"}}},
		{"/completion", "prompt", object{"prompt": []int{99999999}}},
		{"/completion", "prompt", object{"prompt": []int{-5}}},
		{"/completion", "prompt", object{"prompt": g.tokens(3000)}},
		{"/completion", "n_predict", object{"n_predict": -2}},
		{"/completion", "n_predict", object{"n_predict": "many"}},
		{"/completion", "top_k", object{"top_k": "x"}},
		{"/completion", "temperature", object{"temperature": []int{1}}},
		{"/completion", "stream", object{"stream": "yes"}},
		{"/completion", "cache_prompt", object{"cache_prompt": 3}},
		{"/completion", "return_tokens", object{"return_tokens": "no"}},
		{"/completion", "n_indent", object{"n_indent": -1}},
		{"/completion", "n_keep", object{"n_keep": -2}},
		{"/completion", "n_discard", object{"n_discard": -2}},
		{"/completion", "repeat_last_n", object{"repeat_last_n": -3}},
		{"/completion", "min_keep", object{"min_keep": -1}},
		{"/completion", "n", object{"n": 0}},
		{"/completion", "n_cmpl", object{"n_cmpl": 3}},
		{"/completion", "adaptive_decay", object{"adaptive_decay": 1}},
		{"/completion", "grammar", object{"grammar": "root ::= ("}},
		{"/completion", "json_schema", object{"json_schema": object{"type": "thing"}}},
		{"/completion", "dry_sequence_breakers", object{"dry_sequence_breakers": []string{}}},
		{"/completion", "t_max_predict_ms", object{"t_max_predict_ms": -2}},
		{"/apply-template", "messages", object{}},
		{"/apply-template", "messages", object{"messages": "hello"}},
		{"/apply-template", "messages", object{"messages": []any{object{"role": "user", "content": 3}}}},
		{"/embedding", "content", object{}},
		{"/embedding", "content", object{"content": 3}},
		{"/embedding", "encoding_format", object{"content": "a", "encoding_format": "hex"}},
		{"/rerank", "", object{"query": "a", "documents": []string{"b"}}},
		{"/infill", "", object{"input_prefix": "a", "input_suffix": "b"}},
	}
	w := wrongs[g.pick(len(wrongs))]
	if _, ok := w.body["prompt"]; !ok && w.path == "/completion" && w.field != "prompt" {
		w.body["prompt"] = "a"
	}
	r := g.request(w.path, w.body)
	r.field = w.field
	return r
}

// requests makes n requests over all routes.
func requests(t *testing.T, seed uint64, n int) []request {
	g := &generator{t, rand.New(rand.NewPCG(seed, 0))}
	all := []request{{path: "/props"}, {path: "/v1/models"}, {path: "/models"}, {path: "/health"}, {path: "/v1/health"}, {path: "/lora-adapters"}}
	makers := []func() request{g.completion, g.completion, g.completion, g.completion, g.completion, g.tokenize, g.detokenize, g.applyTemplate, g.count, g.embedding, g.wrong, g.wrong}
	for len(all) < n {
		all = append(all, makers[g.pick(len(makers))]())
	}
	return all
}

func (r request) String() string { return fmt.Sprintf("%s %s %s", r.method(), r.path, r.body) }
