// SPDX-License-Identifier: MIT

package api

import (
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/tests/hosts"
)

// wholeOf reads frames until an answer has ended, and returns all of its text.
func wholeOf(c *hosts.Client, id string) (text, reason string) {
	c.T.Helper()
	for {
		if f := c.Frame(); f.Type == "end" && f.ID == id {
			text, c.Texts[id] = c.Texts[id], ""
			return text, f.Reason
		}
	}
}

// pauseAfter reads so many tokens of an answer, pauses it and returns their text.
func pauseAfter(c *hosts.Client, id string, n int) (text string) {
	c.T.Helper()
	for range n {
		text += c.Until("token").Text
	}
	c.Send(`{"type":"pause","id":"` + id + `"}`)
	c.Send(`{"type":"rewind","id":"` + id + `","tokens":0}`) // is refused, once the answer is paused
	c.Until("error")
	return text
}

// A fork says what the answer said so far, and goes on as that would: greedily it says the same,
// with plugins and without.
func TestSocket_Fork_GoesOnAsTheAnswerWould(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, map[string][]byte{"a.wasm": hosts.Always("always", 300)})
	for name, more := range map[string]string{"native": "", "a plugin": `,"plugins":["always"]`, "log-probabilities": `,"logprobs":2`, "a grammar": `,"grammar":"root ::= [a-z .,]*"`} {
		t.Run(name, func(t *testing.T) {
			c := hosts.Dial(t, h)
			c.Send(`{"type":"generate","id":"a","request":{"prompt":"Once upon a time there was a frog","temperature":0,"ignore_eos":true,"max_tokens":300` + more + `}}`)
			pauseAfter(c, "a", 12)
			c.Send(`{"type":"fork","id":"a","as":"b"}`)
			forked, _ := wholeOf(c, "b")
			c.Send(`{"type":"fork","id":"a","as":"c","detach_ms":100}`)
			again, _ := wholeOf(c, "c")
			c.Send(`{"type":"resume","id":"a"}`)
			source, reason := wholeOf(c, "a")
			if forked != source || again != source || reason != "length" {
				t.Errorf("the answer says %q, its forks %q and %q", source, forked, again)
			}
		})
	}
}

// Forks have seeds of their own, or the parameters of their frames.
func TestSocket_Fork_DrawsOtherTokens(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	c := hosts.Dial(t, h)
	// Long enough that it is paused far from its end on a busy machine too: the built-in model
	// writes a token in a fraction of a millisecond.
	c.Send(`{"type":"generate","id":"a","request":{"prompt":"Once upon a time","temperature":1.5,"seed":1,"ignore_eos":true,"max_tokens":450}}`)
	begun := pauseAfter(c, "a", 5)
	var texts []string
	for _, more := range []string{``, ``, `,"sampling":{"seed":5}`, `,"sampling":{"seed":5}`, `,"sampling":{"temperature":0}`} {
		c.Send(`{"type":"fork","id":"a","as":"b"` + more + `}`)
		text, _ := wholeOf(c, "b")
		if !strings.HasPrefix(text, begun) {
			t.Errorf("a fork of %q says %q", begun, text)
		}
		texts = append(texts, text)
	}
	if texts[2] != texts[3] {
		t.Error("two forks with the same seed differ")
	}
	slices.Sort(texts)
	if n := len(slices.Compact(texts)); n != 4 {
		t.Errorf("there are %d different forks, want 4", n)
	}
	c.Send(`{"type":"cancel","id":"a"}`)
}

func TestSocket_Fork_WrongFramesAreRefused(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	c := hosts.Dial(t, h)
	c.Send(`{"type":"generate","id":"a","request":{"prompt":"Hello","ignore_eos":true}}`)
	pauseAfter(c, "a", 3)
	for _, tc := range []struct{ frame, param, code string }{
		{`{"type":"fork","id":"a"}`, "as", "invalid_value"},
		{`{"type":"fork","id":"a","as":""}`, "as", "invalid_value"},
		{`{"type":"fork","id":"a","as":"` + strings.Repeat("x", 129) + `"}`, "as", "invalid_value"},
		{`{"type":"fork","id":"a","as":"a"}`, "as", "invalid_value"},
		{`{"type":"fork","id":"a","as":7}`, "as", "invalid_type"},
		{`{"type":"fork","id":"x","as":"b"}`, "id", "unknown_id"},
		{`{"type":"fork","id":"a","as":"b","detach_ms":-1}`, "detach_ms", "invalid_value"},
		{`{"type":"fork","id":"a","as":"b","sampling":{"temperature":-1}}`, "temperature", "invalid_value"},
		{`{"type":"fork","id":"a","as":"b","sampling":{"nonsense":1}}`, "sampling", "invalid_value"},
		{`{"type":"fork","id":"a","as":"b","sampling":7}`, "", "invalid_json"},
	} {
		c.Send(tc.frame)
		if f := c.Until("error"); f.Error.Param != tc.param || f.Error.Code != tc.code {
			t.Errorf("%s: %+v", tc.frame, f.Error)
		}
	}
	c.GoesOn("a")
}
