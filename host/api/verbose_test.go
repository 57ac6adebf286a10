// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/tools/must"
)

// described is the part of an answer that llama-server's clients look for.
type described struct {
	Fingerprint string `json:"system_fingerprint"`
	Verbose     *struct {
		Content   string
		Stop      bool
		Predicted int            `json:"tokens_predicted"`
		Settings  map[string]any `json:"generation_settings"`
	} `json:"__verbose"`
}

func TestAPI_Verbose(t *testing.T) {
	r := newRig(t, nil)
	for path, body := range map[string]string{
		"/v1/chat/completions": `{` + hello + `,"max_tokens":3,"top_k":7`, "/v1/completions": `{"prompt":"abc","max_tokens":3,"top_k":7`,
	} {
		var plain, whole described
		if r.post(path, body+`}`, &plain); plain.Verbose != nil || plain.Fingerprint != "penstock test" {
			t.Errorf("%s: %+v", path, plain)
		}
		r.post(path, body+`,"verbose":true}`, &whole)
		if v := whole.Verbose; v == nil || v.Content == "" || !v.Stop || v.Predicted != 3 || v.Settings["top_k"] != 7.0 || v.Settings["n_predict"] != 3.0 {
			t.Errorf("%s: %+v", path, whole.Verbose)
		}
		_, _, text := r.call(http.MethodPost, path, body+`,"verbose":true,"stream":true}`)
		seen := 0
		for _, frame := range frames(t, text) {
			var d described
			if json.Unmarshal([]byte(frame), &d) == nil && d.Verbose != nil {
				if seen++; d.Verbose.Predicted != 3 || d.Verbose.Settings["stream"] != true {
					t.Errorf("%s: %+v", path, d.Verbose)
				}
			}
		}
		if seen != 1 {
			t.Errorf("%s: %d frames of a stream describe the answer", path, seen)
		}
	}
}

// In streams of OpenAI's API, too, the frames of tokens have the times until then, and frames tell
// how far the prompt is computed, if llama-server's fields ask for that.
func TestAPI_Measured(t *testing.T) {
	r := newRig(t, nil)
	for path, body := range map[string]string{
		"/v1/chat/completions": `{` + hello + `,"max_tokens":3,"stream":true`, "/v1/completions": `{"prompt":"abc","max_tokens":3,"stream":true`,
	} {
		for fields, want := range map[string]struct{ timed, progress bool }{
			``: {}, `,"timings_per_token":true`: {timed: true}, `,"return_progress":true`: {progress: true},
			`,"timings_per_token":true,"return_progress":true,"verbose":true`: {true, true},
		} {
			status, _, text := r.call(http.MethodPost, path, body+fields+`}`)
			var told []int // of the prompt's tokens
			tokens, plain := 0, 0
			for _, frame := range frames(t, text) {
				var f struct {
					Timings  *wire.Timings
					Progress *wire.Progress `json:"prompt_progress"`
					Choices  []struct {
						Text   string
						Delta  struct{ Content string }
						Finish string `json:"finish_reason"`
					}
				}
				if json.Unmarshal([]byte(frame), &f) != nil || len(f.Choices) != 1 {
					continue
				}
				said := f.Choices[0].Text + f.Choices[0].Delta.Content
				switch {
				case f.Progress != nil:
					told = append(told, f.Progress.Processed)
					if f.Choices[0].Finish != "" || said != "" || (f.Timings != nil) != want.timed || len(told) > 1 && told[len(told)-1] < told[len(told)-2] {
						t.Errorf("%s%s: %s", path, fields, frame)
					}
				case f.Choices[0].Finish != "":
					if f.Timings == nil || f.Timings.PredictedN != 3 {
						t.Errorf("%s%s: %s", path, fields, frame)
					}
				case said == "":
				case f.Timings == nil:
					plain++
				default:
					if tokens++; f.Timings.PredictedN < tokens || f.Timings.PromptN < 1 {
						t.Errorf("%s%s: %s", path, fields, frame)
					}
				}
			}
			if status != http.StatusOK || (tokens > 0) != want.timed || (plain > 0) == want.timed || (len(told) > 0) != want.progress {
				t.Errorf("%s%s: %d, %d and %d frames, progress %v: %s", path, fields, status, tokens, plain, told, text)
			}
		}
	}
}

// What a request says of its answer's form is in the settings as it was given.
func TestAPI_GenerationSettings_Form(t *testing.T) {
	r := newRig(t, nil)
	for field, value := range map[string]any{
		"grammar": "root ::= [a-z]*", "json_schema": map[string]any{"type": "object", "required": []any{"a"}}, "regex": "[a-z]*",
	} {
		body := must.Get(json.Marshal(map[string]any{"prompt": "abc", "n_predict": 3, field: value}))(t)
		var answer struct {
			Settings map[string]any `json:"generation_settings"`
		}
		r.post("/completion", string(body), &answer)
		want := map[string]any{"grammar": "", field: value}
		got := map[string]any{"grammar": answer.Settings["grammar"], field: answer.Settings[field]}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
}

// The seed of generation_settings is the request's, else the operator's, else llama.cpp's word for
// one that is drawn.
func TestAPI_GenerationSettings_Seed(t *testing.T) {
	for operators, want := range map[string]map[string]float64{
		"":  {``: 1<<32 - 1, `,"seed":9`: 9, `,"seed":-1`: 1<<32 - 1},
		"7": {``: 7, `,"seed":9`: 9, `,"seed":-1`: 1<<32 - 1},
	} {
		defaults, err := sampling.NewDefaults(map[string]string{"seed": operators})
		if operators == "" {
			defaults, err = sampling.NewDefaults()
		}
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, func(s *setup) {
			s.wrap = func(m servingtest.OneModel) serving.Models { m.Model.Defaults.Sampling = defaults; return m }
		})
		for body, seed := range want {
			var a struct {
				Settings map[string]any `json:"generation_settings"`
			}
			if r.post("/completion", `{"prompt":"abc","n_predict":1`+body+`}`, &a); a.Settings["seed"] != seed {
				t.Errorf("the operator's seed is %q, the request %s: %v, want %v", operators, body, a.Settings["seed"], seed)
			}
		}
	}
}

// Frames that tell how far a prompt is computed have the times until then, if each token's has.
func TestAPI_Progress_Timings(t *testing.T) {
	r := newRig(t, nil)
	for body, want := range map[string]bool{``: false, `,"timings_per_token":true`: true} {
		_, _, text := r.call(http.MethodPost, "/completion", `{"prompt":"abcdefgh","n_predict":1,"stream":true,"return_progress":true`+body+`}`)
		told := 0
		for _, frame := range frames(t, text) {
			var f struct {
				Progress *struct{ Cache, Processed int } `json:"prompt_progress"`
				Timings  *wire.Timings
			}
			if json.Unmarshal([]byte(frame), &f) != nil || f.Progress == nil {
				continue
			}
			if told++; (f.Timings != nil) != want || want && (f.Timings.PromptN != f.Progress.Processed-f.Progress.Cache || f.Timings.PredictedN != 0) {
				t.Errorf("%s: %s", body, frame)
			}
		}
		if told == 0 {
			t.Errorf("%s: no progress in %s", body, text)
		}
	}
}
