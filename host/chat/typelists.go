// SPDX-License-Identifier: MIT

package chat

import (
	"bytes"
	"encoding/json"
)

// WithoutTypeLists is tools, which are JSON, whose schemas say the same without lists of types: as
// anyOf.
func WithoutTypeLists(tools json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(tools))
	d.UseNumber()
	w := typesWriter{within: []jsonLevel{{}}}
	for {
		token, err := d.Token()
		if err != nil { // the end
			return w.out
		}
		if token != "type" || !w.isName() {
			w.put(token)
			continue
		}
		types, tokens := typeList(d)
		if len(types) == 0 {
			for _, t := range append([]json.Token{token}, tokens...) {
				w.put(t)
			}
			continue
		}
		for _, t := range []json.Token{"anyOf", json.Delim('[')} {
			w.put(t)
		}
		for _, t := range types {
			for _, part := range []json.Token{json.Delim('{'), "type", t, json.Delim('}')} {
				w.put(part)
			}
		}
		w.put(json.Delim(']'))
	}
}

// typeList reads what follows the name type: a list of types, or else the tokens that it has read.
func typeList(d *json.Decoder) (types []string, tokens []json.Token) {
	for {
		token, err := d.Token()
		if err != nil {
			return nil, tokens
		}
		tokens = append(tokens, token)
		switch t, is := token.(string); {
		case is && len(tokens) > 1:
			types = append(types, t)
		case token == json.Delim('[') && len(tokens) == 1:
		case token == json.Delim(']') && len(types) > 0:
			return types, nil
		default:
			return nil, tokens
		}
	}
}

// typesWriter writes JSON, token by token.
type typesWriter struct {
	out    []byte
	within []jsonLevel
}

type jsonLevel struct {
	object bool
	read   int // names and values
}

// isName reports whether the next token is the name of a member, or the end of an object.
func (w *typesWriter) isName() bool {
	at := w.within[len(w.within)-1]
	return at.object && at.read%2 == 0
}

func (w *typesWriter) put(token json.Token) {
	end, _ := token.(json.Delim)
	if end == '}' || end == ']' {
		w.out, w.within = append(w.out, byte(end)), w.within[:len(w.within)-1]
		return
	}
	at := &w.within[len(w.within)-1]
	switch {
	case at.object && at.read%2 == 1:
		w.out = append(w.out, ':')
	case at.read > 0:
		w.out = append(w.out, ',')
	}
	at.read++
	if end != 0 {
		w.out, w.within = append(w.out, byte(end)), append(w.within, jsonLevel{object: end == '{'})
		return
	}
	text, _ := json.Marshal(token)
	w.out = append(w.out, text...)
}
