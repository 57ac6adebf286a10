// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// withSampling is the built-in model with sampling parameters in its file.
func withSampling(t *testing.T) string {
	t.Helper()
	return hosts.Written(t, "sampling.gguf", func(w io.Writer) error {
		return synth.Edit(w, hosts.BuiltIn, func(h *gguf.Header) {
			h.Set("general.sampling.temp", gguf.NewFloat32(0.25))
			h.Set("general.sampling.top_k", gguf.NewUint32(7))
			h.Set("general.sampling.sequence", gguf.NewString("kmt"))
			h.Set("general.sampling.top_p", gguf.NewFloat32(7)) // out of range
			h.Set("general.sampling.penalty_repeat", gguf.NewFloat32(1.5))
		})
	})
}

// What a request does not say is what the operator says, else what the model's file brings, else
// llama.cpp's.
func TestHost_SamplingDefaults_Order(t *testing.T) {
	brought := map[string]any{"temperature": 0.25, "top_k": 7.0, "top_p": 0.95, "repeat_penalty": 1.5, "min_p": 0.05,
		"samplers": []any{"top_k", "min_p", "temperature"}, "seed": float64(1<<32 - 1)}
	with := func(base map[string]any, over map[string]any) map[string]any {
		m := maps.Clone(base)
		maps.Copy(m, over)
		return m
	}
	for name, c := range map[string]struct {
		settings map[string]any
		props    map[string]any
	}{
		"the file's":     {nil, brought},
		"the operator's": {map[string]any{"sampling.top_k": "9", "sampling.min_p": "0.05", "sampling.temperature": "0.8", "sampling.seed": "3"}, with(brought, map[string]any{"top_k": 9.0, "temperature": 0.8, "seed": 3.0})},
		"not the file's": {map[string]any{"sampling.from_model": "false", "sampling.top_k": "9"}, map[string]any{"temperature": 0.8, "top_k": 9.0, "top_p": 0.95, "repeat_penalty": 1.0, "min_p": 0.05,
			"samplers": []any{"penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"}, "seed": float64(1<<32 - 1)}},
	} {
		t.Run(name, func(t *testing.T) {
			h := hosts.Open(t, with(map[string]any{"model.path": withSampling(t)}, c.settings))
			hosts.Run(t, h)
			var props struct {
				Defaults struct {
					Params map[string]any `json:"params"`
				} `json:"default_generation_settings"`
			}
			must.Do(t, json.Unmarshal([]byte(hosts.Get(t, h.URL()+"/props")), &props))
			compare(t, "/props", c.props, props.Defaults.Params)
			said := generation(t, h, `{"prompt":"a","n_predict":1}`)
			compare(t, "a request that says nothing", without(c.props, "seed"), said)
			said = generation(t, h, `{"prompt":"a","n_predict":1,"top_k":3,"temperature":null,"samplers":["top_k","temp"]}`)
			compare(t, "a request", with(without(c.props, "seed"), map[string]any{"top_k": 3.0, "samplers": []any{"top_k", "temperature"}}), said)
		})
	}
}

func without(m map[string]any, key string) map[string]any {
	m = maps.Clone(m)
	delete(m, key)
	return m
}

// generation is generation_settings of an answer.
func generation(t *testing.T, h *host.Host, body string) map[string]any {
	t.Helper()
	status, text := hosts.Post(t, h.URL()+"/completion", body)
	var answer struct {
		Settings map[string]any `json:"generation_settings"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || status != 200 {
		t.Fatalf("%d %v %.300s", status, err, text)
	}
	return answer.Settings
}

// compare compares those that are wanted; numbers are float32 at the server.
func compare(t *testing.T, what string, want, got map[string]any) {
	t.Helper()
	of := map[string]any{}
	for name := range want {
		of[name] = got[name]
	}
	if diff := cmp.Diff(want, of); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Every API has the operator's defaults: at a temperature of 0 two answers without parameters are
// the same.
func TestHost_SamplingDefaults_EveryAPI(t *testing.T) {
	h := hosts.Open(t, map[string]any{"sampling.temperature": "0"})
	hosts.Run(t, h)
	const messages = `"messages":[{"role":"user","content":"Tell me a story."}]`
	for path, body := range map[string]string{
		"/v1/chat/completions": `{` + messages + `,"max_tokens":30}`,
		"/v1/completions":      `{"prompt":"Once","max_tokens":30}`,
		"/completion":          `{"prompt":"Once","n_predict":30}`,
		"/v1/messages":         `{` + messages + `,"max_tokens":30}`,
		"/v1/responses":        `{"input":"Tell me a story.","max_output_tokens":30}`,
		"/api/chat":            `{` + messages + `,"stream":false,"options":{"num_predict":30}}`,
		"/api/generate":        `{"prompt":"Tell me a story.","stream":false,"options":{"num_predict":30}}`,
	} {
		one, other := storyOf(t, h, path, body), storyOf(t, h, path, body)
		hot := strings.Replace(body, "{", `{"temperature":1,"seed":5,`, 1)
		if one == "" || one != other {
			t.Errorf("%s: %q, then %q", path, one, other)
		}
		if said := storyOf(t, h, path, hot); said == one {
			t.Errorf("%s: a temperature in the request changed nothing: %q", path, said)
		}
	}
}

// storyOf is the text of an answer, in whatever shape: the longest text of its JSON.
func storyOf(t *testing.T, h *host.Host, path, body string) (longest string) {
	t.Helper()
	status, text := hosts.Post(t, h.URL()+path, body)
	var answer any
	if err := json.Unmarshal([]byte(text), &answer); err != nil || status != 200 {
		t.Fatalf("%s: %d %v %.300s", path, status, err, text)
	}
	var look func(v any)
	look = func(v any) {
		switch v := v.(type) {
		case string:
			if strings.Contains(v, " ") && len(v) > len(longest) {
				longest = v
			}
		case []any:
			for _, each := range v {
				look(each)
			}
		case map[string]any:
			for name, each := range v {
				if name != "prompt" && name != "generation_settings" {
					look(each)
				}
			}
		}
	}
	look(answer)
	return longest
}
