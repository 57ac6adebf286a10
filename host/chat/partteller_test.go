// SPDX-License-Identifier: MIT

package chat

import (
	"testing"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/tools/must"
)

// inBrackets takes what stands in brackets for reasoning, and capitals for calls.
type inBrackets struct{ thinking bool }

func (b *inBrackets) Add(text string, _ bool) (deltas []Delta, _ error) {
	for _, c := range text {
		switch s := string(c); {
		case c == '(' || c == ')':
			b.thinking = c == '('
		case b.thinking:
			deltas = append(deltas, Delta{Reasoning: s})
		case c >= 'A' && c <= 'Z':
			deltas = append(deltas, Delta{Call: &CallDelta{ID: "id", Name: s}})
		default:
			deltas = append(deltas, Delta{Content: s})
		}
	}
	return deltas, nil
}

func (*inBrackets) Cut() ([]Delta, error) { return nil, nil }
func (*inBrackets) Close() error          { return nil }

// Before its first token, and where all were taken back, an answer is in the part that the prompt
// has opened.
func TestPartTeller_Part_BeginsWithWhatThePromptOpened(t *testing.T) {
	for opened, want := range map[bool]abi.Part{false: abi.PartContent, true: abi.PartReasoning} {
		p := must.Get(Prompt{HasParts: true, NewParser: func() (Parser, error) { return &inBrackets{thinking: opened}, nil }}.NewPartTeller())(t)
		for _, step := range []struct {
			text string
			want abi.Part
		}{{"", want}, {"a", want}, {")a", abi.PartContent}, {"", want}, {"(a", abi.PartReasoning}, {"F", map[bool]abi.Part{false: abi.PartToolCall, true: abi.PartReasoning}[opened]}} {
			if got := p.Part(step.text); got != step.want {
				t.Errorf("opened %v, after %q: %v, want %v", opened, step.text, got, step.want)
			}
		}
		p.Close()
	}
}
