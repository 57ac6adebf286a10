// SPDX-License-Identifier: MIT

package schematest

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// The cases of the JSON Schema Test Suite, draft 2020-12, for the keywords that the json-schema plugin knows; testdata/suite has
// their licence.
//
//go:embed testdata/suite/*.json
var suite embed.FS

// Group is a schema of the test suite with values that fit it, or do not.
type Group struct {
	File        string // its keyword
	Description string
	Schema      json.RawMessage
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

// Suite returns all groups.
func Suite() ([]Group, error) {
	files, err := fs.Glob(suite, "testdata/suite/*.json")
	if err != nil {
		return nil, err
	}
	var all []Group
	for _, file := range files {
		text, err := suite.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var groups []Group
		if err := json.Unmarshal(text, &groups); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, g := range groups {
			g.File = strings.TrimSuffix(path.Base(file), ".json")
			all = append(all, g)
		}
	}
	return all, nil
}

// Texts returns the ways to write a value in compact JSON, its members in any order, up to a thousand. Whole numbers are written
// without fraction, and what must be escaped as the plugin does.
func Texts(value json.RawMessage) ([]string, error) {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	all := texts(v)
	return all[:min(len(all), 1000)], nil
}

func texts(value any) []string {
	switch v := value.(type) {
	case map[string]any:
		return wrapped("{", "}", members(v))
	case []any:
		all := []string{""}
		for i, item := range v {
			comma := ","
			if i == 0 {
				comma = ""
			}
			all = joined(all, comma, texts(item))
		}
		return wrapped("[", "]", all)
	case json.Number:
		return []string{strings.TrimSuffix(v.String(), ".0")}
	default:
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			panic(err) // it was JSON before
		}
		return []string{strings.ReplaceAll(strings.TrimSpace(text.String()), `\f`, `\u000c`)}
	}
}

// members has each order of the members of an object.
func members(object map[string]any) []string {
	if len(object) == 0 {
		return []string{""}
	}
	var all []string
	for name, value := range object {
		rest := map[string]any{}
		for n, v := range object {
			if n != name {
				rest[n] = v
			}
		}
		first, comma := joined([]string{texts(name)[0]}, ":", texts(value)), ","
		if len(rest) == 0 {
			comma = ""
		}
		all = append(all, joined(first, comma, members(rest))...)
	}
	return all
}

func joined(heads []string, between string, tails []string) []string {
	var all []string
	for _, head := range heads {
		for _, tail := range tails {
			all = append(all, head+between+tail)
		}
	}
	return all
}

func wrapped(before, after string, all []string) []string {
	for i := range all {
		all[i] = before + all[i] + after
	}
	return all
}
