// SPDX-License-Identifier: MIT

package form

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
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
	r := reader{rest: prompt, most: scans * (len(prompt) + 1), inJSON: map[string]bool{}}
	for _, m := range messages {
		for _, text := range texts(m) {
			if !r.find(strings.TrimSpace(text), m.Role) {
				return false
			}
		}
	}
	markers := markersOf(messages)
	return markers == 0 || strings.Count(prompt, media.Marker) >= markers
}

// scans is how often a prompt may be searched from end to end: it bounds the time for texts that
// are not found as they came.
const scans = 8

// reader finds texts in what is left of a prompt: without the white space around them, which many
// templates trim, or within JSON.
type reader struct {
	rest   string
	most   int             // bytes that may be searched yet
	inJSON map[string]bool // by roles: the last text was found there
}

func (r *reader) find(text, role string) bool {
	if r.skip(text, r.inJSON[role]) {
		return true
	}
	if !r.skip(text, !r.inJSON[role]) {
		return false
	}
	r.inJSON[role] = !r.inJSON[role]
	return true
}

// skip goes on behind a text, if it is there.
func (r *reader) skip(text string, inJSON bool) bool {
	if r.most < 0 {
		return false
	}
	if inJSON {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(text) // a text has no error
		text = b.String()[1 : b.Len()-len("\"\n")]
	}
	at := strings.Index(r.rest, text)
	if at < 0 {
		r.most -= len(r.rest)
		return false
	}
	r.rest = r.rest[at+len(text):]
	return true
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

func markOf(number int) string { return markBegin + strconv.Itoa(number) + markEnd }

// marks are the numbers of the marks in a text.
func marks(text string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for {
			_, behind, ok := strings.Cut(text, markBegin)
			if !ok {
				return
			}
			number, _, _ := strings.Cut(behind[:min(len(behind), 24)], markEnd)
			if n, err := strconv.Atoi(number); err == nil && !yield(n) {
				return
			}
			text = behind
		}
	}
}

// mark is a copy of messages with a mark for each text, which is the number of its piece. Reasoning
// has none, since templates may leave that of earlier answers out.
func mark(messages []chat.Message) (marked []chat.Message, pieces []piece) {
	add := func(text, field string) string {
		if strings.TrimSpace(text) == "" {
			return text
		}
		pieces = append(pieces, piece{field, text})
		return markOf(len(pieces) - 1)
	}
	marked = slices.Clone(messages)
	for i := range marked {
		m := &marked[i]
		place := fmt.Sprintf("messages[%d]", i)
		if m.Parts != nil {
			m.Parts = slices.Clone(m.Parts)
			for k, part := range m.Parts {
				if part != media.Marker {
					m.Parts[k] = add(part, cmp.Or(m.Field, fmt.Sprintf("%s.content[%d]", place, k)))
				}
			}
			m.Content = media.Join(m.Parts)
		} else {
			between := strings.Split(m.Content, media.Marker)
			for k := range between {
				between[k] = add(between[k], cmp.Or(m.Field, place+".content"))
			}
			m.Content = strings.Join(between, media.Marker)
		}
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for k := range m.ToolCalls {
			f := &m.ToolCalls[k].Function
			written, field := f.Name+" "+f.Arguments, cmp.Or(m.Field, fmt.Sprintf("%s.tool_calls[%d]", place, k))
			f.Name = add(written, field)
			if strings.HasPrefix(strings.TrimSpace(f.Arguments), "{") && json.Valid([]byte(f.Arguments)) {
				f.Arguments = `{"q": "` + add(written, field) + `"}`
			}
		}
	}
	return marked, pieces
}

// missing is the first of so many marks that a prompt does not have; -1: it has all.
func missing(prompt string, pieces int) int {
	seen := make([]bool, pieces)
	for n := range marks(prompt) {
		if n >= 0 && n < pieces {
			seen[n] = true
		}
	}
	return slices.Index(seen, false)
}
