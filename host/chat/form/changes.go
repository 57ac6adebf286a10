// SPDX-License-Identifier: MIT

package form

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock/penstock/host/chat"
)

const (
	system    = "system"
	developer = "developer"
	user      = "user"
	assistant = "assistant"
	result    = "tool"
)

func isSystem(m chat.Message) bool { return m.Role == system || m.Role == developer }

// apply makes the changes. The messages that it is given stay as they are.
func (f Form) apply(messages []chat.Message) []chat.Message {
	out := slices.Clone(messages)
	for _, c := range changes {
		if f&c.form != 0 {
			out = c.make(out)
		}
	}
	return out
}

// changes are all that there are, in the order in which they are made. They may write into the
// slice that they are given, but not into what its messages refer to.
var changes = []struct {
	form Form
	name string
	make func([]chat.Message) []chat.Message
}{
	{shortIDs, "short ids", func(ms []chat.Message) []chat.Message { return renameCalls(ms, shortID) }},
	{namedIDs, "named ids", func(ms []chat.Message) []chat.Message { return renameCalls(ms, namedID) }},
	{oneCallEach, "one call each", separateCalls},
	{textBeforeCalls, "text before calls", func(ms []chat.Message) []chat.Message { return separateTexts(ms, len(ms)) }},
	{textBeforeOldCalls, "text before old calls", func(ms []chat.Message) []chat.Message { return separateTexts(ms, lastOf(user, ms)) }},
	{userBeforeCalls, "a user before calls", func(ms []chat.Message) []chat.Message { return insert(ms, chat.Message{Role: user}, callsAfterText) }},
	{callsAsText, "calls as text", writeCalls},
	{resultsAsUser, "results as user", writeResults},
	{joinSystem, "system joined", func(ms []chat.Message) []chat.Message { return joinParts(ms, system, developer) }},
	{joinUser, "user joined", func(ms []chat.Message) []chat.Message { return joinParts(ms, user) }},
	{joinAssistant, "assistant joined", func(ms []chat.Message) []chat.Message { return joinParts(ms, assistant) }},
	{joinResults, "results joined", func(ms []chat.Message) []chat.Message { return joinParts(ms, result) }},
	{frontSystems, "front systems", mergeFront},
	{laterSystems, "later systems", mergeLater},
	{systemsAsUser, "systems as user", giveToUser},
	{dropEmpty, "no empty answer", leaveOutEmpty},
	{answerResults, "answered results", func(ms []chat.Message) []chat.Message {
		return insert(ms, chat.Message{Role: assistant}, followsResult)
	}},
	{beginWithUser, "user first", putUserFirst},
	{haveUser, "a user", addUser},
	{mergeUsers, "users merged", func(ms []chat.Message) []chat.Message { return merge(ms, user) }},
	{mergeAssistants, "assistants merged", func(ms []chat.Message) []chat.Message { return merge(ms, assistant) }},
}

// lastOf is the place of the last message of a role; -1: there is none.
func lastOf(role string, ms []chat.Message) int {
	last := len(ms) - 1
	for last >= 0 && ms[last].Role != role {
		last--
	}
	return last
}

// writeResults writes results as Qwen does.
func writeResults(ms []chat.Message) []chat.Message {
	for i, m := range ms {
		if m.Role == result {
			ms[i] = chat.Message{Role: user, Content: "<tool_response>\n" + m.Content + "\n</tool_response>"}
		}
	}
	return ms
}

func joinParts(ms []chat.Message, roles ...string) []chat.Message {
	for i := range ms {
		if slices.Contains(roles, ms[i].Role) {
			ms[i].Parts = nil // the content has them
		}
	}
	return ms
}

// mergeFront makes the system messages at the front one.
func mergeFront(ms []chat.Message) []chat.Message {
	n := 0
	for n < len(ms) && isSystem(ms[n]) {
		n++
	}
	if n < 2 {
		return ms
	}
	return append([]chat.Message{joinMessages(ms[0].Role, ms[:n])}, ms[n:]...)
}

// mergeLater adds the system messages behind others to those at the front.
func mergeLater(ms []chat.Message) (out []chat.Message) {
	var all []chat.Message
	for _, m := range ms {
		if isSystem(m) {
			all = append(all, m)
		} else {
			out = append(out, m)
		}
	}
	if len(all) == 0 || len(all) == len(ms) || isSystem(ms[0]) && !slices.ContainsFunc(ms[slices.IndexFunc(ms, isNoSystem):], isSystem) {
		return ms
	}
	role := system
	if isSystem(ms[0]) {
		role = ms[0].Role
	}
	return append([]chat.Message{joinMessages(role, all)}, out...)
}

func isNoSystem(m chat.Message) bool { return !isSystem(m) }

// giveToUser has system messages stand before what the user says next. Where the user says no more,
// they are the user's.
func giveToUser(ms []chat.Message) (out []chat.Message) {
	var waiting []chat.Message
	last := lastOf(user, ms)
	for i, m := range ms {
		switch {
		case isSystem(m) && i < last:
			waiting = append(waiting, m)
			continue
		case isSystem(m):
			m.Role = user
		case m.Role == user && len(waiting) > 0:
			m, waiting = joinMessages(user, append(waiting, m)), nil
		}
		out = append(out, m)
	}
	return out
}

// leaveOutEmpty leaves out what says nothing, but for the last message, with which an answer may go
// on.
func leaveOutEmpty(ms []chat.Message) (out []chat.Message) {
	for i, m := range ms {
		if i == len(ms)-1 || m.Role != assistant || strings.TrimSpace(m.Content) != "" || m.Reasoning != "" || len(m.ToolCalls) > 0 {
			out = append(out, m)
		}
	}
	return out
}

// insert puts a message before each that a condition is true of.
func insert(ms []chat.Message, other chat.Message, before func(ms []chat.Message, i int) bool) (out []chat.Message) {
	for i, m := range ms {
		if before(ms, i) {
			out = append(out, other)
		}
		out = append(out, m)
	}
	return out
}

func followsResult(ms []chat.Message, i int) bool {
	return i > 0 && ms[i].Role == user && ms[i-1].Role == result
}

func callsAfterText(ms []chat.Message, i int) bool {
	return i > 0 && len(ms[i].ToolCalls) > 0 && ms[i-1].Role == assistant && len(ms[i-1].ToolCalls) == 0
}

// putUserFirst puts a user who says nothing before the first message behind the system's, if that
// is another's.
func putUserFirst(ms []chat.Message) []chat.Message {
	first := slices.IndexFunc(ms, isNoSystem)
	if first < 0 || ms[first].Role == user {
		return ms
	}
	return slices.Insert(ms, first, chat.Message{Role: user})
}

// addUser puts a user who says nothing behind the system messages at the front.
func addUser(ms []chat.Message) []chat.Message {
	if slices.ContainsFunc(ms, func(m chat.Message) bool { return m.Role == user }) {
		return ms
	}
	front := slices.IndexFunc(ms, isNoSystem)
	if front < 0 {
		front = len(ms)
	}
	return slices.Insert(ms, front, chat.Message{Role: user})
}

// merge makes one message of those of a role that follow each other. Messages with calls stay.
func merge(ms []chat.Message, role string) (out []chat.Message) {
	isOther := func(m chat.Message) bool { return m.Role != role || len(m.ToolCalls) > 0 }
	for len(ms) > 0 {
		n := slices.IndexFunc(ms, isOther)
		if n < 0 {
			n = len(ms)
		}
		if n < 2 {
			out, ms = append(out, ms[0]), ms[1:]
			continue
		}
		var thoughts []string
		for _, m := range ms[:n] {
			if m.Reasoning != "" {
				thoughts = append(thoughts, m.Reasoning)
			}
		}
		one := joinMessages(role, ms[:n])
		one.Reasoning = strings.Trim(strings.Join(thoughts, "\n\n"), "\n")
		out, ms = append(out, one), ms[n:]
	}
	return out
}

// joinMessages makes one message of several, in parts if one of them has parts.
func joinMessages(role string, ms []chat.Message) chat.Message {
	var texts, parts []string
	inParts := false
	for _, m := range ms {
		inParts = inParts || m.Parts != nil
		if m.Content != "" {
			texts = append(texts, m.Content)
		}
		switch {
		case m.Parts != nil:
			parts = append(parts, m.Parts...)
		case m.Content != "":
			parts = append(parts, m.Content)
		}
	}
	out := chat.Message{Role: role, Content: strings.Join(texts, "\n\n")}
	if inParts {
		out.Parts = parts
	}
	return out
}

// eachResult finds the call of each result: by its id, or else the first call that has no result
// yet. It calls visit with the places of the two.
func eachResult(ms []chat.Message, visit func(result, message, call int)) {
	from := 0                 // the last message with calls
	var all []int             // its calls, from the first that may have no result yet
	var byID map[string][]int // likewise those of an id
	var has []bool            // a result, by the call
	for i, m := range ms {
		if n := len(m.ToolCalls); n > 0 {
			from, all, byID, has = i, make([]int, n), make(map[string][]int, n), make([]bool, n)
			for k, c := range m.ToolCalls {
				all[k], byID[c.ID] = k, append(byID[c.ID], k)
			}
		}
		if m.Role != result {
			continue
		}
		open := all
		if m.ToolCallID != "" {
			open = byID[m.ToolCallID]
		}
		for len(open) > 0 && has[open[0]] {
			open = open[1:]
		}
		if len(open) > 0 {
			has[open[0]] = true
			visit(i, from, open[0])
		}
		if m.ToolCallID == "" {
			all = open
		} else if len(byID) > 0 {
			byID[m.ToolCallID] = open
		}
	}
}

// renameCalls gives calls other ids, and their results the same. number counts the calls before
// one.
func renameCalls(ms []chat.Message, rename func(c chat.ToolCall, number int) string) []chat.Message {
	ids, number := make([][]string, len(ms)), 0
	for i, m := range ms {
		for _, c := range m.ToolCalls {
			ids[i] = append(ids[i], rename(c, number))
			number++
		}
	}
	ofResult := map[int]string{}
	eachResult(ms, func(result, message, call int) { ofResult[result] = ids[message][call] })
	for i := range ms {
		m := &ms[i]
		if id, ok := ofResult[i]; ok {
			m.ToolCallID = id
		} else if m.Role == result {
			m.ToolCallID = rename(chat.ToolCall{ID: m.ToolCallID, Function: chat.Function{Name: m.Name}}, number)
			number++
		}
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for k := range m.ToolCalls {
			m.ToolCalls[k].ID = ids[i][k]
		}
	}
	return ms
}

// shortID is the same for the same id, so that the prompt of a longer conversation begins as that
// of a shorter one.
func shortID(c chat.ToolCall, number int) string {
	const length = 9
	isOther := func(r rune) bool { return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') }
	if len(c.ID) == length && strings.IndexFunc(c.ID, isOther) < 0 {
		return c.ID
	}
	from := c.ID
	if from == "" {
		from = strconv.Itoa(number)
	}
	sum := sha256.Sum256([]byte(from))
	return base32.StdEncoding.EncodeToString(sum[:])[:length]
}

func namedID(c chat.ToolCall, number int) string {
	begin := "functions." + c.Function.Name + ":"
	if c.Function.Name == "" || strings.HasPrefix(c.ID, begin) {
		return c.ID
	}
	return begin + strconv.Itoa(number)
}

// separateCalls has each call in a message of its own, with its result behind it.
func separateCalls(ms []chat.Message) (out []chat.Message) {
	type place struct{ message, call int }
	results, moved := map[place]int{}, map[int]bool{}
	eachResult(ms, func(result, message, call int) {
		if len(ms[message].ToolCalls) > 1 {
			results[place{message, call}], moved[result] = result, true
		}
	})
	for i, m := range ms {
		switch {
		case moved[i]:
		case len(m.ToolCalls) < 2:
			out = append(out, m)
		default:
			for k, c := range m.ToolCalls {
				one := chat.Message{Role: m.Role, Name: m.Name}
				if k == 0 {
					one = m
				}
				one.ToolCalls = []chat.ToolCall{c}
				out = append(out, one)
				if r, ok := results[place{i, k}]; ok {
					out = append(out, ms[r])
				}
			}
		}
	}
	return out
}

// separateTexts has what messages before a place say beside calls in messages of their own.
func separateTexts(ms []chat.Message, before int) (out []chat.Message) {
	for i, m := range ms {
		if i < before && len(m.ToolCalls) > 0 && strings.TrimSpace(m.Content) != "" {
			said := m
			said.ToolCalls = nil
			out = append(out, said)
			m.Content, m.Parts, m.Reasoning = "", nil, ""
		}
		out = append(out, m)
	}
	return out
}

// writeCalls writes calls as Hermes and Qwen do, which models know best.
func writeCalls(ms []chat.Message) []chat.Message {
	for i := range ms {
		m := &ms[i]
		if len(m.ToolCalls) == 0 {
			continue
		}
		var lines []string
		if m.Content != "" {
			lines = append(lines, m.Content)
		}
		for _, c := range m.ToolCalls {
			lines = append(lines, fmt.Sprintf("<tool_call>\n{\"name\": %s, \"arguments\": %s}\n</tool_call>", quoted(c.Function.Name), c.Function.Arguments))
		}
		m.Content, m.Parts, m.ToolCalls = strings.Join(lines, "\n"), nil, nil
	}
	return ms
}

func quoted(text string) string {
	b, _ := json.Marshal(text) // a text has no error
	return string(b)
}
