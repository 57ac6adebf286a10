// SPDX-License-Identifier: MIT

package plugins

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/penstock/penstock/tests/hosts"
)

// A template in Go makes the prompt: the answer is the one to the same text given as a prompt, up
// to where the model begins a turn of its own.
func TestTranscript_BuiltInModel_AnswersOnePrompt(t *testing.T) {
	h := hosts.SharedWithExamples(t, "transcript")
	const common = `"max_tokens":40,"temperature":0,"ignore_eos":true`
	_, body := hosts.Post(t, h.URL()+"/v1/completions", `{"prompt":"Be brief.\n\nUser: What is 7 plus 5?\nAssistant:",`+common+`}`)
	var answer struct{ Choices []struct{ Text string } }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Choices) != 1 || answer.Choices[0].Text == "" {
		t.Fatal(body)
	}
	want, _, _ := strings.Cut(answer.Choices[0].Text, "\nUser:")
	got, err := hosts.Whole(t, h, `{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"What is 7 plus 5?"}],`+common+
		`,"plugins":["transcript"]}`)
	if err != nil || got != want {
		t.Errorf("got %q %v, want %q", got, err, want)
	}
}
