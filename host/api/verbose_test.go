// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// What a request says of its answer's form is in the settings as it was given.
func TestAPI_GenerationSettings_Form(t *testing.T) {
	r := newRig(t, nil)
	for field, value := range map[string]any{
		"grammar": "root ::= [a-z]*", "json_schema": map[string]any{"type": "object", "required": []any{"a"}}, "regex": "[a-z]*",
	} {
		body, err := json.Marshal(map[string]any{"prompt": "abc", "n_predict": 3, field: value})
		if err != nil {
			t.Fatal(err)
		}
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
