// SPDX-License-Identifier: MIT

package completion

import (
	"testing"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/serving"
)

// Before its first token, and where all were taken back, an answer is in the part that the prompt
// has opened.
func TestPartTeller_Part_BeginsWithWhatThePromptOpened(t *testing.T) {
	for opened, want := range map[bool]serving.Part{false: serving.PartContent, true: serving.PartReasoning} {
		r := &TextRequest{Rendered: chat.Prompt{NewParser: func() (chat.Parser, error) { return &upper{thinking: opened}, nil }}}
		p, err := r.tellParts()
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			text string
			want serving.Part
		}{{"", want}, {"a", want}, {")a", serving.PartContent}, {"", want}, {"(a", serving.PartReasoning}, {"F", map[bool]serving.Part{false: serving.PartToolCall, true: serving.PartReasoning}[opened]}} {
			if got := p.Part(step.text); got != step.want {
				t.Errorf("opened %v, after %q: %v, want %v", opened, step.text, got, step.want)
			}
		}
		p.Close()
	}
}
