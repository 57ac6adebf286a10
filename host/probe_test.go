// SPDX-License-Identifier: MIT

package host

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// The probe that tools/trainprobe has trained on the built-in model declines what that knows nothing of, also with questions it was not
// trained with, and leaves the others' answers as they are.
func TestProbe_BuiltInModel_DeclinesWhatItDoesNotKnow(t *testing.T) {
	weights, err := os.ReadFile("../plugins/examples/probe/testdata/unknown.json")
	if err != nil {
		t.Fatal(err)
	}
	h := openWithExamples(t, "probe")
	ask := func(question string, plugins string) string {
		t.Helper()
		text, err := whole(t, h, fmt.Sprintf(`{"messages":[{"role":"user","content":%q}],"max_tokens":60,"temperature":0%s}`, question, plugins))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	probing := `,"plugins":[{"name":"probe","config":` + strings.TrimSpace(string(weights)) + `}]`
	for _, question := range []string{"Who wrote Faust?", "How do I grow tomatoes?", "What is the mass of an electron?"} {
		if got := ask(question, ""); strings.Contains(got, "do not know") {
			t.Errorf("%s: without the probe the model says %q", question, got)
		}
		if got := ask(question, probing); got != "I do not know." {
			t.Errorf("%s: %q", question, got)
		}
	}
	for _, question := range []string{"What is 6 plus 3?", "What is the capital of Japan?", "Tell me a story about a frog."} {
		if got, want := ask(question, probing), ask(question, ""); got != want {
			t.Errorf("%s: %q, without the probe %q", question, got, want)
		}
	}
}

// The value that comes with a declined answer, and the recording of it, which plays again.
func TestProbe_TellsItsClient(t *testing.T) {
	h := openWithExamples(t, "probe")
	var row []string
	for range h.core.Engine.Info().EmbeddingOut {
		row = append(row, "0")
	}
	body := `{"messages":[{"role":"user","content":"Hello!"}],"plugins":[{"name":"probe","config":{"layers":[{"weights":[[` + strings.Join(row, ",") + `]],"bias":[3]}],"say":"No."}}]}`
	_, raw := post(t, h.URL()+"/v1/chat/completions", body)
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal([]byte(raw), &answer); err != nil || len(answer.Choices) != 1 || answer.Choices[0].Message.Content != "No." || !strings.Contains(raw, `"probability":0.95257`) {
		t.Errorf("%s: %v", raw, err)
	}
	status, raw := post(t, h.URL()+"/v1/chat/completions", strings.Replace(body, strings.Join(row, ","), "1,2", 1))
	if status != 400 || !strings.Contains(raw, "train the probe on this model") {
		t.Errorf("a probe of another model: %d %s", status, raw)
	}
}
