// SPDX-License-Identifier: MIT

package session

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// Write writes a file for people to read and edit: each call on a line of its own.
func (f *File) Write(to io.Writer) error { return f.write(&writer{to: to, people: true}) }

// Stream writes a file as JSON, call by call: a recording is many times as long as what it is made
// of.
func (f *File) Stream(to io.Writer) error { return f.write(&writer{to: to}) }

func (f *File) write(w *writer) error {
	f.Version = Version
	head := *f
	head.Sessions, head.Recording = nil, nil
	w.object(0, struct {
		File
		Sessions bool `json:"sessions,omitempty"`
	}{File: head}, func() {
		w.list(1, "sessions", len(f.Sessions), func(i int) {
			s := f.Sessions[i]
			calls := s.Calls
			s.Calls = nil
			w.object(2, struct {
				Session
				Calls bool `json:"calls,omitempty"`
			}{Session: s}, func() {
				w.list(3, "calls", len(calls), func(j int) { w.value(&calls[j]) })
			})
		})
		if f.Recording != nil {
			w.key(1, "recording")
			w.value(f.Recording)
		}
	})
	w.text("\n")
	return w.err
}

// writer writes until the first error.
type writer struct {
	to     io.Writer
	people bool // read it
	first  bool // what comes is the first of an object or a list
	err    error
}

func (w *writer) text(s string) {
	if w.err == nil {
		_, w.err = io.WriteString(w.to, s)
	}
}

// entry begins an entry of an object or a list, on a line of its own.
func (w *writer) entry(depth int) {
	if !w.first {
		w.text(",")
	}
	w.first = false
	w.line(depth)
}

func (w *writer) line(depth int) {
	if w.people {
		w.text("\n" + strings.Repeat("  ", depth))
	}
}

func (w *writer) key(depth int, name string) {
	w.entry(depth)
	w.text(`"` + name + `":`)
	if w.people {
		w.text(" ")
	}
}

// object writes an object whose entries have lines of their own: those of a value, then more.
func (w *writer) object(depth int, value any, more func()) {
	text := w.json(value)
	d := json.NewDecoder(bytes.NewReader(text))
	w.text("{")
	w.first = true
	_, _ = d.Token() // what was written is an object, of any values
	for w.err == nil && d.More() {
		name, _ := d.Token()
		var value json.RawMessage
		w.err = d.Decode(&value)
		var entries []json.RawMessage
		if w.people && (name == "model" || name == "table") && json.Unmarshal(value, &entries) == nil {
			w.list(depth+1, name.(string), len(entries), func(i int) { w.raw(entries[i]) })
			continue
		}
		w.key(depth+1, name.(string))
		w.raw(value)
	}
	more()
	w.line(depth)
	w.text("}")
}

// list writes a list whose entries have lines of their own.
func (w *writer) list(depth int, name string, n int, each func(i int)) {
	w.key(depth, name)
	w.text("[")
	for i := range n {
		w.first = i == 0
		w.entry(depth + 1)
		each(i)
	}
	if n > 0 {
		w.line(depth)
	}
	w.text("]")
	w.first = false
}

func (w *writer) value(v any) { w.raw(w.json(v)) }

func (w *writer) json(v any) []byte {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(!w.people)
	if err := e.Encode(v); err != nil && w.err == nil {
		w.err = err
	}
	return bytes.TrimSpace(text.Bytes())
}

// raw writes JSON on one line.
func (w *writer) raw(text []byte) {
	if !w.people {
		w.text(string(text))
		return
	}
	var out []byte
	inText, escaped := false, false
	for _, b := range text {
		if b == '"' && !escaped {
			inText = !inText
		}
		escaped = b == '\\' && !escaped
		if out = append(out, b); !inText && (b == ',' || b == ':') {
			out = append(out, ' ')
		}
	}
	w.text(string(out))
}
