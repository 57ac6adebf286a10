// SPDX-License-Identifier: MIT

package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock/penstock/native"
)

// refusesTypeLists reports whether a template failed because it looks up the types of arguments in a map, as Hermes 3's does, and one is a
// list of types: llama.cpp's Jinja stops there, where Python's finds nothing.
func refusesTypeLists(err error) bool {
	return errors.Is(err, native.ErrFailed) && strings.Contains(err.Error(), "unhashable type: Array")
}

// withoutTypeLists is tools whose schemas say the same without lists of types: as anyOf.
func withoutTypeLists(tools json.RawMessage) (json.RawMessage, error) {
	var out bytes.Buffer
	from := jsontext.NewDecoder(bytes.NewReader(tools), jsontext.AllowDuplicateNames(true))
	to := jsontext.NewEncoder(&out, jsontext.AllowDuplicateNames(true))
	for {
		token, err := from.ReadToken()
		if errors.Is(err, io.EOF) {
			return bytes.TrimSpace(out.Bytes()), nil
		}
		if err != nil {
			return nil, err
		}
		if within, read := from.StackIndex(from.StackDepth()); within == '{' && read%2 == 1 && token.String() == "type" {
			err = writeType(to, from)
		} else {
			err = to.WriteToken(token)
		}
		if err != nil {
			return nil, err
		}
	}
}

// writeType writes a member whose name was type: the name alone, or with a list of types, as alternatives.
func writeType(to *jsontext.Encoder, from *jsontext.Decoder) error {
	if from.PeekKind() != '[' {
		return to.WriteToken(jsontext.String("type"))
	}
	value, err := from.ReadValue()
	if err != nil {
		return err
	}
	name := "type"
	var types []string
	if json.Unmarshal(value, &types) == nil {
		alternatives := make([]map[string]string, len(types))
		for i, t := range types {
			alternatives[i] = map[string]string{"type": t}
		}
		name = "anyOf"
		if value, err = json.Marshal(alternatives); err != nil {
			return err
		}
	}
	if err := to.WriteToken(jsontext.String(name)); err != nil {
		return err
	}
	return to.WriteValue(value)
}
