// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// schemaCase is a line of the data.
type schemaCase struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Tests  []instance      `json:"tests"`
}

// instance is a text that a schema must take, or must not.
type instance struct {
	Valid bool            `json:"valid"`
	Data  json.RawMessage `json:"data"`
}

// isTool reports whether the schema may be that of a tool's arguments.
func (c *schemaCase) isTool() bool {
	var s struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(c.Schema, &s) != nil || s.Type != "object" {
		return false
	}
	for _, t := range c.Tests {
		if t.Valid && !bytes.HasPrefix(t.Data, []byte("{")) {
			return false
		}
	}
	return true
}

// texts are the ways in which an instance is written, members in its order: with a blank behind
// each comma and colon, and without.
func (t *instance) texts() ([][]byte, error) {
	var all [][]byte
	for _, blanks := range []bool{true, false} {
		v := jsontext.Value(bytes.Clone(t.Data))
		err := v.Format(jsontext.SpaceAfterColon(blanks), jsontext.SpaceAfterComma(blanks), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}
