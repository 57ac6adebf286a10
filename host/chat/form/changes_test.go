// SPDX-License-Identifier: MIT

package form

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/tools/steadytest"
)

// Each change takes as long as the conversation is, whatever it is like.
func TestForm_Apply_Linear(t *testing.T) {
	const n = 20_000
	text := strings.Repeat("x", 100)
	each := func(make func(i int) chat.Message) []chat.Message {
		ms := []chat.Message{}
		for i := range n {
			ms = append(ms, make(i))
		}
		return ms
	}
	roles := func(roles ...string) []chat.Message {
		return each(func(i int) chat.Message { return says(roles[i%len(roles)], text) })
	}
	id := func(i int) string { return fmt.Sprint("call", i) }
	ids := make([]string, n)
	for i := range ids {
		ids[i] = id(i)
	}
	calls := func(ids []string) chat.Message {
		m := says(assistant, text)
		for _, id := range ids {
			m.ToolCalls = append(m.ToolCalls, chat.NewToolCall(id, "f", `{"q":"x"}`))
		}
		return m
	}
	give := func(id func(i int) string) []chat.Message {
		return each(func(i int) chat.Message { return returns(id(i), text) })
	}
	reading := steadytest.Cost(t, func() {
		var read []chat.Message
		written, err := json.Marshal(roles(system, user, assistant, user))
		if err == nil {
			err = json.Unmarshal(written, &read)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	all := shortIDs | namedIDs | oneCallEach
	var tried Form
	for name, c := range map[string]struct {
		forms    Form // each is tried alone
		messages []chat.Message
	}{
		"users":                       {mergeUsers, roles(user)},
		"users in parts":              {joinUser | joinSystem | joinResults | mergeUsers, each(func(int) chat.Message { return chat.Message{Role: user, Content: text, Parts: []string{text}} })},
		"assistants":                  {joinAssistant | mergeAssistants, roles(assistant)},
		"thoughts":                    {dropEmpty | mergeAssistants, each(func(int) chat.Message { return chat.Message{Role: assistant, Reasoning: text} })},
		"systems":                     {frontSystems | laterSystems | systemsAsUser, roles(system)},
		"systems, then assistants":    {frontSystems | beginWithUser | haveUser, append(roles(system), roles(assistant)...)},
		"in turn":                     {laterSystems | systemsAsUser | beginWithUser, roles(system, user, assistant, user)},
		"calls with texts":            {textBeforeCalls | textBeforeOldCalls | userBeforeCalls | callsAsText, each(func(i int) chat.Message { return calls(ids[i : i+1]) })},
		"results, then a user":        {resultsAsUser | answerResults, roles(result, user)},
		"results in turn":             {all, append([]chat.Message{calls(ids)}, give(id)...)},
		"the last result first":       {all | callsAsText, append([]chat.Message{calls(ids)}, give(func(i int) string { return id(n - 1 - i) })...)},
		"results without ids":         {all, append([]chat.Message{calls(ids)}, give(func(int) string { return "" })...)},
		"one id":                      {all, append([]chat.Message{calls(slices.Repeat([]string{"x"}, n))}, give(func(int) string { return "x" })...)},
		"one id, and results without": {all, append([]chat.Message{calls(slices.Repeat([]string{"x"}, n))}, give(func(i int) string { return []string{"", "x"}[i%2] })...)},
		"results of no call":          {all, append([]chat.Message{calls(ids)}, give(func(int) string { return "none" })...)},
	} {
		tried |= c.forms
		for _, change := range changes {
			if c.forms&change.form == 0 {
				continue
			}
			if took, ok := steadytest.Within(t, 8*reading, func() { change.form.apply(c.messages) }); !ok {
				t.Errorf("%s, %s: %v, reading as many messages takes %v", name, change.name, took, reading)
			}
		}
	}
	for _, change := range changes {
		if tried&change.form == 0 {
			t.Errorf("%s is not tried", change.name)
		}
	}
}

// The result of a call is found by its id, or else in turn.
func TestEachResult(t *testing.T) {
	for name, c := range map[string]struct {
		ids, results []string
		want         string
	}{
		"in turn":          {[]string{"a", "b"}, []string{"a", "b"}, "0 1"},
		"out of turn":      {[]string{"a", "b"}, []string{"b", "a"}, "1 0"},
		"without ids":      {[]string{"a", "b"}, []string{"", ""}, "0 1"},
		"one without":      {[]string{"a", "b", "c"}, []string{"a", "", ""}, "0 1 2"},
		"the one left":     {[]string{"a", "b", "c"}, []string{"b", "", ""}, "1 0 2"},
		"an id twice":      {[]string{"a", "a"}, []string{"a", "a"}, "0 1"},
		"twice, in mixed":  {[]string{"a", "a", "b"}, []string{"", "a", "b"}, "0 1 2"},
		"too many":         {[]string{"a"}, []string{"a", "a", ""}, "0"},
		"of no call":       {[]string{"a"}, []string{"b", "a"}, "0"},
		"before all calls": {nil, []string{"a", ""}, ""},
	} {
		ms := []chat.Message{calling("", c.ids...)}
		for _, id := range c.results {
			ms = append(ms, returns(id, "r"))
		}
		var got []string
		eachResult(ms, func(_, _, call int) { got = append(got, fmt.Sprint(call)) })
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
