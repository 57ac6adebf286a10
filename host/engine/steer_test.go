// SPDX-License-Identifier: MIT

package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
	answers "github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/tools/must"
)

// calling is a request whose answer begins with some tokens, and whose lazy grammar a tag wakes.
func calling(t *testing.T, e *Engine, begun []scheduler.Token) scheduler.Request {
	t.Helper()
	p := greedily()
	p.Constraint = sampling.Constraint{Grammar: `root ::= "<call>" [a-z ]{100,140} "</call>"`, GrammarLazy: true,
		GrammarTriggers: []sampling.Trigger{{Kind: sampling.TriggerWord, Value: "<call>"}}}
	stages := must.Get(e.NewChain(p))(t)
	return scheduler.Request{Prompt: []scheduler.Segment{{Tokens: tokens(t, e, "Once upon a time")}}, Begun: answers.Begun{Tokens: begun}, Ending: scheduler.Ending{MaxTokens: 200}, Reports: scheduler.Reports{Logprobs: -1},
		Caching: scheduler.Caching{CachePrompt: true}, Chain: stages, Delivery: scheduler.Delivery{Buffer: 16}} // so that it is not at its end before it is steered
}

// A lazy grammar that has woken stays with its answer: one that is forked, taken back to before or
// after the tag, or preempted ends as one that is left alone.
func TestEngine_LazyGrammar_FollowsASteeredAnswer(t *testing.T) {
	e := opened(t, Options{Slots: 1, ContextSize: 1024})
	s, stop := scheduled(t, e, 1)
	defer stop()
	encode := func(text string) []scheduler.Token {
		t.Helper()
		return must.Get(e.Tokenize(t.Context(), text, false, true))(t)
	}
	before, tag := encode(" there was a frog. "), encode("<call>")
	begun := slices.Concat(before, tag)
	all, ends := said(t, s, calling(t, e, begun))
	want := all[0]
	if call := want[max(0, strings.Index(want, "<call>")):]; !strings.HasPrefix(call, "<call>") || !strings.HasSuffix(call, "</call>") || ends[0].Err != nil {
		t.Fatalf("left alone, the answer is %q (%v)", want, ends[0].Err)
	}
	for name, steer := range map[string]func(*scheduler.Stream, []scheduler.Token) error{
		"forked": func(_ *scheduler.Stream, answered []scheduler.Token) error {
			if texts, _ := said(t, s, calling(t, e, answered)); texts[0] != want {
				t.Errorf("the fork is %q, want %q", texts[0], want)
			}
			return nil
		},
		"preempted": func(*scheduler.Stream, []scheduler.Token) error {
			_, _ = said(t, s, greedy(t, e, strings.Repeat("Another story. ", 40), 20))
			return nil
		},
		"taken back to after the tag": func(st *scheduler.Stream, answered []scheduler.Token) error {
			return st.Rewind(t.Context(), len(answered)-len(begun)-1)
		},
		"taken back to before the tag": func(st *scheduler.Stream, answered []scheduler.Token) error {
			if err := st.Rewind(t.Context(), len(answered)-len(before)); err != nil {
				return err
			}
			for _, unread := st.TryNext(); unread; _, unread = st.TryNext() { // an injection waits for the reader
			}
			if err := st.Inject(t.Context(), encode("An aside. ")); err != nil { // which the grammar, awake, would not allow
				return err
			}
			if err := st.Rewind(t.Context(), len(encode("An aside. "))); err != nil {
				return err
			}
			return st.Inject(t.Context(), tag)
		},
	} {
		st := must.Get(s.Submit(calling(t, e, begun)))(t)
		for n := 0; n < len(begun)+3; n++ { // the event of its start, and two tokens of the call
			must.Get(st.Next(t.Context()))(t)
		}
		if err := st.Pause(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, answered, err := st.Conversation(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := steer(st, answered.Tokens); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, answered, err = st.Conversation(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := st.Resume(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := e.rest(t, st, answered.Tokens); got != want {
			t.Errorf("%s: the answer is %q, want %q", name, got, want)
		}
	}
}

// rest reads an answer, which has some tokens, to its end and returns its text.
func (e *Engine) rest(t *testing.T, st *scheduler.Stream, answered []scheduler.Token) string {
	t.Helper()
	var seen []scheduler.Token
	for {
		event := must.Get(st.Next(t.Context()))(t)
		if event.Kind == scheduler.KindToken {
			seen = append(seen, event.Token)
		}
		if event.End == nil {
			continue
		}
		if event.End.Err != nil {
			t.Error(event.End.Err)
		}
		more := event.End.Usage.Generated - len(answered)
		if event.End.EndToken != nil { // which counts, and is not shown
			more--
		}
		var text strings.Builder
		for _, token := range append(answered, seen[max(0, len(seen)-more):]...) {
			text.WriteString(e.backend.Piece(token))
		}
		return text.String()
	}
}
