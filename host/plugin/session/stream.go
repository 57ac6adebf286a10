// SPDX-License-Identifier: MIT

package session

import (
	"bytes"
	"encoding/json"
	"io"
)

// Stream writes a file as JSON, call by call: a recording is many times as long as what it is made
// of.
func (f *File) Stream(to io.Writer) error {
	f.Version = Version
	head := *f
	head.Sessions, head.Recording = nil, nil
	w := &writer{to: to}
	w.object(struct {
		File
		Sessions bool `json:"sessions,omitempty"`
	}{File: head})
	w.text(`,"sessions":[`)
	for i := range f.Sessions {
		w.comma(i)
		s := f.Sessions[i]
		calls := s.Calls
		s.Calls = nil
		w.object(struct {
			Session
			Calls bool `json:"calls,omitempty"`
		}{Session: s})
		w.text(`,"calls":[`)
		for j := range calls {
			w.comma(j)
			w.value(&calls[j])
		}
		w.text("]}")
	}
	w.text("]")
	if f.Recording != nil {
		w.text(`,"recording":`)
		w.value(f.Recording)
	}
	w.text("}\n")
	return w.err
}

// writer writes until the first error.
type writer struct {
	to  io.Writer
	err error
}

func (w *writer) text(s string) {
	if w.err == nil {
		_, w.err = io.WriteString(w.to, s)
	}
}

func (w *writer) comma(i int) {
	if i > 0 {
		w.text(",")
	}
}

func (w *writer) value(v any) {
	if w.err != nil {
		return
	}
	var text []byte
	if text, w.err = json.Marshal(v); w.err == nil {
		w.text(string(text))
	}
}

// object writes an object but for its end.
func (w *writer) object(v any) {
	text, err := json.Marshal(v)
	if w.err == nil {
		w.err = err
	}
	w.text(string(bytes.TrimSuffix(text, []byte("}"))))
}
