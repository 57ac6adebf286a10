// SPDX-License-Identifier: MIT

package form

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/media"
)

// saysAll reports whether a prompt has the texts of messages in their order, and a marker for each
// picture and sound. It is quick, and may be wrong about texts that a template writes in another
// way; for each of those and all behind it the answer is no.
func saysAll(prompt string, messages []chat.Message) bool {
	rest := prompt
	for _, m := range messages {
		for _, text := range texts(m) {
			begin, size := find(rest, text)
			if begin < 0 {
				return false
			}
			rest = rest[begin+size:]
		}
	}
	markers := markersOf(messages)
	return markers == 0 || strings.Count(prompt, media.Marker) >= markers
}

// markersOf is how many pictures and sounds messages have.
func markersOf(messages []chat.Message) (n int) {
	for _, m := range messages {
		n += strings.Count(m.Content, media.Marker)
	}
	return n
}

// texts are what a template has to say of a message. The arguments of calls are not among them:
// most templates write those in a notation of their own.
func texts(m chat.Message) (out []string) {
	if m.Parts == nil {
		out = strings.Split(m.Content, media.Marker)
	} else {
		out = slices.DeleteFunc(slices.Clone(m.Parts), func(p string) bool { return p == media.Marker })
	}
	for _, c := range m.ToolCalls {
		out = append(out, c.Function.Name)
	}
	return out
}

// find is where a prompt has a text: without the white space around it, which many templates trim,
// or within JSON.
func find(prompt, text string) (begin, size int) {
	text = strings.TrimSpace(text)
	if begin = strings.Index(prompt, text); begin >= 0 {
		return begin, len(text)
	}
	var inJSON strings.Builder
	e := json.NewEncoder(&inJSON)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a text has no error
	text = strings.Trim(inJSON.String(), "\"\n")
	return strings.Index(prompt, text), len(text)
}

// piece is what a template must say: a text of a message, or a call.
type piece struct {
	field string
	text  string
}

// A mark is a word that no template and no conversation has.
const (
	markBegin = "zqmark"
	markEnd   = "qz"
)

// mark is a copy of messages with a mark for each text, which is the number of its piece. Reasoning
// has none, since templates may leave that of earlier answers out.
func mark(messages []chat.Message) (marked []chat.Message, pieces []piece) {
	add := func(text, format string, at ...any) string {
		if strings.TrimSpace(text) == "" {
			return text
		}
		pieces = append(pieces, piece{fmt.Sprintf(format, at...), text})
		return markBegin + strconv.Itoa(len(pieces)-1) + markEnd
	}
	marked = slices.Clone(messages)
	for i := range marked {
		m := &marked[i]
		if m.Parts != nil {
			m.Parts = slices.Clone(m.Parts)
			for k, part := range m.Parts {
				if part != media.Marker {
					m.Parts[k] = add(part, "messages[%d].content[%d]", i, k)
				}
			}
			m.Content = media.Join(m.Parts)
		} else {
			between := strings.Split(m.Content, media.Marker)
			for k := range between {
				between[k] = add(between[k], "messages[%d].content", i)
			}
			m.Content = strings.Join(between, media.Marker)
		}
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for k := range m.ToolCalls {
			f := &m.ToolCalls[k].Function
			written := f.Name + " " + f.Arguments
			f.Name = add(written, "messages[%d].tool_calls[%d]", i, k)
			if strings.HasPrefix(strings.TrimSpace(f.Arguments), "{") && json.Valid([]byte(f.Arguments)) {
				f.Arguments = `{"q": "` + add(written, "messages[%d].tool_calls[%d]", i, k) + `"}`
			}
		}
	}
	return marked, pieces
}

// missing is the first of so many marks that a prompt does not have; -1: it has all.
func missing(prompt string, marks int) int {
	seen := make([]bool, marks)
	for {
		_, behind, ok := strings.Cut(prompt, markBegin)
		if !ok {
			return slices.Index(seen, false)
		}
		number, _, _ := strings.Cut(behind[:min(len(behind), 24)], markEnd)
		if n, err := strconv.Atoi(number); err == nil && n >= 0 && n < marks {
			seen[n] = true
		}
		prompt = behind
	}
}
