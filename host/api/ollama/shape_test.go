// SPDX-License-Identifier: MIT

package ollama

import (
	"encoding/json"
	"testing"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/serving"
)

// What a pass has thought and said goes into two lines.
func TestShape_Part_ThoughtAndSaidApart(t *testing.T) {
	r := &completion.Prompted{Model: &serving.Model{}}
	s := &shape{request: r, chat: true}
	lines := s.Part(&completion.Choice{Request: &completion.Submitted{Prompted: r}}, completion.Delta{Reasoning: "Hm.", Content: "Yes."})
	var got []string
	for _, l := range lines {
		text, err := json.Marshal(l.(line).Message)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(text))
	}
	if want := []string{`{"role":"assistant","content":"","thinking":"Hm."}`, `{"role":"assistant","content":"Yes."}`}; len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%q, want %q", got, want)
	}
}
