// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/tools/must"
)

// fed is a stream of given events.
type fed struct {
	serving.Stream
	events chan scheduler.Event
}

func (fed) ID() string { return "fed" }
func (fed) Cancel()    {}
func (f fed) TryNext() (scheduler.Event, bool) {
	select {
	case e := <-f.events:
		return e, true
	default:
		return scheduler.Event{}, false
	}
}

func (f fed) Next(ctx context.Context) (scheduler.Event, error) {
	select {
	case e := <-f.events:
		return e, nil
	case <-ctx.Done():
		return scheduler.Event{}, ctx.Err()
	}
}

// feed sends an answer's characters, one each millisecond, and its end.
func feed(f fed, text string) {
	f.events <- scheduler.Event{Kind: scheduler.KindStarted, Started: &scheduler.Started{}}
	for _, c := range text {
		time.Sleep(time.Millisecond)
		f.events <- scheduler.Event{Kind: scheduler.KindToken, Token: c, Text: string(c)}
	}
	f.events <- scheduler.Event{Kind: scheduler.KindEnd, End: &scheduler.End{Reason: answer.ReasonStop}}
}

// upper is a slow parser for which capitals are the names of calls, digits their arguments, and
// what is in parentheses reasoning.
type upper struct {
	calls    int
	thinking bool
}

func (u *upper) Add(text string, _ bool) (deltas []chat.Delta, _ error) {
	time.Sleep(time.Millisecond)
	for _, c := range text {
		switch s := string(c); {
		case c == '(' || c == ')':
			u.thinking = c == '('
		case u.thinking:
			deltas = append(deltas, chat.Delta{Reasoning: s})
		case c >= 'A' && c <= 'Z':
			u.calls++
			deltas = append(deltas, chat.Delta{Call: &CallDelta{Index: u.calls - 1, ID: "id", Name: s}})
		case c >= '0' && c <= '9':
			deltas = append(deltas, chat.Delta{Call: &CallDelta{Index: u.calls - 1, Arguments: s}})
		default:
			deltas = append(deltas, chat.Delta{Content: s})
		}
	}
	return deltas, nil
}

func (*upper) Cut() ([]chat.Delta, error) { return nil, nil }
func (*upper) Close() error               { return nil }

// Several choices are read together, and what each delta says belongs to what its choice says of
// itself.
func TestSubmitted_Read_TakesPartsOfEachChoice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		texts := []string{"(hm)hello", "(hm, hm)F12G3", strings.Repeat("long ", 100)}
		a := &Submitted{Prompted: &Prompted{}}
		for i, text := range texts {
			parts := must.Get(chat.Prompt{HasParts: true, NewParser: func() (chat.Parser, error) { return &upper{}, nil }}.NewSplitter())(t)
			c := &Choice{Index: i, Request: a, Stream: fed{events: make(chan scheduler.Event, 64)}, parts: parts}
			a.Choices = append(a.Choices, c)
			go feed(c.Stream.(fed), text)
		}
		wholes := make([]Whole, len(texts))
		deltas := 0
		must.Do(t, a.Read(t.Context(), func(c *Choice, d Delta) error {
			wholes[c.Index].Add(&d)
			if !d.Empty() {
				deltas++
			}
			if n := len(c.Tokens); n > 0 && d.Event.Kind == scheduler.KindToken && c.Tokens[n-1] != d.Event.Token {
				t.Error("the choice went on while its delta was taken")
			}
			return nil
		}, func() error { return nil }))
		a.Cancel()
		for i, want := range []struct {
			reasoning, content, reason string
			calls                      []CallDelta
		}{
			{"hm", "hello", "stop", nil},
			{"hm, hm", "", "tool_calls", []CallDelta{{ID: "id", Name: "F", Arguments: "12"}, {Index: 1, ID: "id", Name: "G", Arguments: "3"}}},
			{"", texts[2], "stop", nil},
		} {
			w := &wholes[i]
			if w.Reasoning.String() != want.reasoning || w.Content.String() != want.content || a.Choices[i].FinishReason() != want.reason {
				t.Errorf("%d: got %q, %q, %s", i, w.Reasoning.String(), w.Content.String(), a.Choices[i].FinishReason())
			}
			if diff := cmp.Diff(want.calls, w.Calls); diff != "" {
				t.Errorf("%d: (-want +got):\n%s", i, diff)
			}
		}
		if deltas < 20 || deltas > 100 {
			t.Errorf("%d deltas: a parser that takes a millisecond is to be asked every sixteen", deltas)
		}
	})
}

// Text that waits for its parser is told of when it is time, though no further event comes.
func TestSubmitted_Read_TellsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parts, err := chat.Prompt{HasParts: true, NewParser: func() (chat.Parser, error) { return &upper{}, nil }}.NewSplitter()
		if err != nil {
			t.Fatal(err)
		}
		f := fed{events: make(chan scheduler.Event, 16)}
		a := &Submitted{Prompted: &Prompted{}}
		a.Choices = []*Choice{{Request: a, Stream: f, parts: parts}}
		for _, c := range "abc" {
			f.events <- scheduler.Event{Kind: scheduler.KindToken, Text: string(c)}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var seen Whole
		begin := time.Now()
		err = a.Read(ctx, func(_ *Choice, d Delta) error {
			if seen.Add(&d); seen.Content.String() == "abc" && time.Since(begin) > 20*time.Millisecond {
				t.Errorf("the last text came after %v", time.Since(begin))
			}
			return nil
		}, func() error { return nil })
		if !errors.Is(err, context.DeadlineExceeded) || seen.Content.String() != "abc" {
			t.Errorf("%v, %q", err, seen.Content.String())
		}
	})
}

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
