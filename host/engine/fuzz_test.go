// SPDX-License-Identifier: MIT

package engine

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/sampling"
)

// conversed are templates of llama.cpp's, each of another family.
var conversed = []string{"Qwen-Qwen3-0.6B.jinja", "meta-llama-Llama-3.1-8B-Instruct.jinja", "mistralai-Mistral-Nemo-Instruct-2407.jinja", "openai-gpt-oss-120b.jinja",
	"deepseek-ai-DeepSeek-V3.1.jinja", "llama3", ""}

// Any conversation with tools becomes a prompt, always the same, whose grammar and parser can be
// made, or it is refused as the client's.
func FuzzEngine_Render(f *testing.F) {
	f.Add(uint8(0), `[{"role":"user","content":"Hi"},{"role":"assistant","content":"","tool_calls":[{"type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"1"}]`,
		`[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}}]`, "Hello.")
	f.Add(uint8(9), `[{"role":"system","content":[{"type":"text","text":"a"}]},{"role":"user","content":"b"}]`, `[]`, "<think>c</think>d")
	engines := make([]*Engine, len(conversed))
	for i, source := range conversed {
		engines[i] = withTemplate(f, source)
	}
	f.Fuzz(func(t *testing.T, which uint8, messages, tools, answer string) {
		e := engines[int(which)%len(engines)]
		c, ok := conversationOf(messages, tools)
		if !ok {
			return
		}
		encoder := chat.Encoder{Model: e, Context: 512}
		p, err := encoder.Conversation(t.Context(), c)
		if err != nil {
			mustBeTheClients(t, err)
			return
		}
		again, err := encoder.Conversation(t.Context(), c)
		if diff := cmp.Diff(p, again, cmpopts.IgnoreFields(chat.Prompt{}, "NewParser")); err != nil || diff != "" {
			t.Errorf("the second time: %v\n%s", err, diff)
		}
		if p.Rules != nil {
			mustCompile(t, e, sampling.Constraint{Format: p.Rules})
		}
		if p.HasParts {
			mustTakeApart(t, p, answer)
		}
	})
}

// conversationOf is what the body of a request has become; false where it was refused.
func conversationOf(messages, tools string) (c chat.Conversation, ok bool) {
	var rawMessages, rawTools []json.RawMessage
	if json.Unmarshal([]byte(messages), &rawMessages) != nil || json.Unmarshal([]byte(tools), &rawTools) != nil {
		return c, false
	}
	var errMessages, errTools error
	c.Messages, c.Media, errMessages = chat.ParseMessages(rawMessages)
	c.Tools, _, errTools = chat.ParseTools(rawTools, true)
	return c, errMessages == nil && errTools == nil
}

func mustBeTheClients(t *testing.T, err error) {
	t.Helper()
	var invalid *chat.Invalid
	var long *chat.TooLong
	if !errors.As(err, &invalid) && !errors.As(err, &long) && !errors.Is(err, chat.ErrInvalidText) {
		t.Errorf("an error that is not the client's: %v", err)
	}
}

func mustCompile(t *testing.T, e *Engine, c sampling.Constraint) {
	t.Helper()
	g, err := e.read(t.Context(), c)
	if err != nil {
		t.Errorf("%v: %s", err, c.Format.Parser)
		return
	}
	g.release()
}

// mustTakeApart has an answer to a prompt taken apart.
func mustTakeApart(t *testing.T, p chat.Prompt, answer string) {
	t.Helper()
	a, err := p.NewSplitter()
	if err != nil {
		t.Error(err)
		return
	}
	a.Add(answer)
	if _, err := a.End(); err != nil {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// A regular expression's grammar takes a text just when the expression matches all of it.
func FuzzEngine_Regex(f *testing.F) {
	f.Add(`^(a|bc)*[^d-f]{2,3}$`, "abcxy")
	f.Add(`(?i)stra(ss|ß)e\s?\d+`, "Straße 7")
	e := opened(f, Options{Slots: 1, ContextSize: 512})
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if !utf8.ValidString(text) || strings.Contains(text, "\x00") || len(text) > 40 || len(pattern) > 200 {
			return
		}
		kept, err := e.read(t.Context(), sampling.Constraint{Regex: pattern})
		if err != nil {
			return
		}
		defer kept.release()
		goes, err := regexp.Compile(pattern)
		if err != nil {
			t.Fatalf("%q is taken, and Go's: %v", pattern, err)
		}
		goes.Longest()
		at := goes.FindStringIndex(text)
		want := at != nil && at[0] == 0 && at[1] == len(text)
		if got := e.takes(t, kept, text); got != want {
			t.Errorf("%q: %q is taken: %v, matches: %v", pattern, text, got, want)
		}
	})
}
