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
