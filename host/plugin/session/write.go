// SPDX-License-Identifier: MIT

package session

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// Write writes a file for people to read and edit: each call on a line of its own.
func (f *File) Write(to io.Writer) error { return f.write(to, true) }

// Stream writes a file as JSON, call by call: the text of a recording is many times as long as the
// recording in memory.
func (f *File) Stream(to io.Writer) error { return f.write(to, false) }

func (f *File) write(to io.Writer, people bool) error {
	w := &writer{Writer: bufio.NewWriter(to), people: people}
	f.Version = Version
	head := *f
	head.Recording = nil
	w.open("", '{')
	w.fields(struct {
		File
		Sessions bool `json:"sessions,omitempty"`
	}{File: head})
	w.open("sessions", '[')
	for _, s := range f.Sessions {
		w.open("", '{')
		w.fields(struct {
			Session
			Calls bool `json:"calls,omitempty"`
		}{Session: s})
		w.open("calls", '[')
		for i := range s.Calls {
			w.entry("", &s.Calls[i])
		}
		w.close(']')
		w.close('}')
	}
	w.close(']')
	if f.Recording != nil {
		w.entry("recording", f.Recording)
	}
	w.close('}')
	_ = w.WriteByte('\n') // Flush has the error
	return errors.Join(w.err, w.Flush())
}

// writer writes objects and lists. For people, the entries of opened ones are on lines of their
// own. Flush returns errors of writing.
type writer struct {
	*bufio.Writer
	people bool
	depth  int
	begun  bool  // the innermost object or list has an entry
	err    error // of values that cannot be written as JSON
}

func (w *writer) open(name string, bracket byte) {
	w.begin(name)
	_ = w.WriteByte(bracket)
	w.depth, w.begun = w.depth+1, false
}

func (w *writer) close(bracket byte) {
	if w.depth--; w.begun {
		w.line()
	}
	_ = w.WriteByte(bracket)
	w.begun = true
}

// begin begins an entry, which has a name in an object.
func (w *writer) begin(name string) {
	if w.begun {
		_ = w.WriteByte(',')
	}
	if w.begun = true; w.depth > 0 {
		w.line()
	}
	if name != "" {
		w.write([]byte(`"` + name + `":`))
	}
}

func (w *writer) line() {
	if w.people {
		_, _ = w.WriteString("\n" + strings.Repeat("  ", w.depth))
	}
}

func (w *writer) entry(name string, value any) {
	w.begin(name)
	w.write(w.json(value))
}

// fields writes the entries of an object. For people, models have a line for each entry.
func (w *writer) fields(object any) {
	d := json.NewDecoder(bytes.NewReader(w.json(object)))
	_, _ = d.Token() // what was written is an object, of any values
	for d.More() {
		name, _ := d.Token()
		var value json.RawMessage
		_ = d.Decode(&value)
		var entries []json.RawMessage
		if !w.people || name != "model" && name != "table" || json.Unmarshal(value, &entries) != nil {
			w.begin(name.(string))
			w.write(value)
			continue
		}
		w.open(name.(string), '[')
		for _, e := range entries {
			w.begin("")
			w.write(e)
		}
		w.close(']')
	}
}

func (w *writer) json(v any) []byte {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(!w.people)
	w.err = errors.Join(w.err, e.Encode(v))
	return bytes.TrimSpace(text.Bytes())
}

// write writes JSON on one line, for people with spaces in it.
func (w *writer) write(text []byte) {
	if !w.people {
		_, _ = w.Write(text)
		return
	}
	inText, escaped := false, false
	for _, b := range text {
		if b == '"' && !escaped {
			inText = !inText
		}
		escaped = b == '\\' && !escaped
		if _ = w.WriteByte(b); !inText && (b == ',' || b == ':') {
			_ = w.WriteByte(' ')
		}
	}
}
