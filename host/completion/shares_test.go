// SPDX-License-Identifier: MIT

package completion

import (
	"testing"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/scheduler"
)

// Tokens belong to the part that their text is in, and those whose text is held back or is half a
// character to the one that it comes in later.
func TestShares_Take(t *testing.T) {
	for _, c := range []struct {
		name     string
		tokens   []string
		parts    []chat.Delta
		said     string // the numbers of the tokens
		reasoned int
	}{
		{"text", []string{"a", "", "", "日", "."}, []chat.Delta{{Content: "a"}, {Content: "日."}}, "01234", 0},
		{"reasoning", []string{"<think>", "\n", "ab", "\n</think>", "\n\n", "Yes", "."}, []chat.Delta{{Reasoning: "ab"}, {Content: "Yes."}}, "56", 5},
		{"a mark and text in one token", []string{"<think>", "ab", "</think>Y", "es"}, []chat.Delta{{Reasoning: "ab"}, {Content: "Yes"}}, "23", 2},
		{"a call", []string{"Hm.", "<call>", "{}", "</call>"}, []chat.Delta{{Content: "Hm."}, {Call: &CallDelta{Name: "f"}}, {Call: &CallDelta{Arguments: "{}"}}}, "0", 0},
		{"cut in reasoning", []string{"<think>", "ab", "\n"}, []chat.Delta{{Reasoning: "ab"}}, "", 3},
		{"written otherwise", []string{"a", "'b'"}, []chat.Delta{{Call: &CallDelta{Arguments: `{"a":"b"}`}}}, "", 0},
	} {
		var s shares
		said := ""
		for i, text := range c.tokens {
			s.add(scheduler.Event{Kind: scheduler.KindToken, Token: int32(i), Text: text})
		}
		for _, part := range c.parts {
			for _, e := range s.take(part) {
				said += string('0' + e.Token)
			}
		}
		s.end()
		if said != c.said || s.reasoned != c.reasoned {
			t.Errorf("%s: tokens %q said and %d of reasoning; want %q and %d", c.name, said, s.reasoned, c.said, c.reasoned)
		}
	}
}
