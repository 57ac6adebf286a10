// SPDX-License-Identifier: MIT

package peer

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

// Comparison says how two JSON documents are compared, field by field. Numbers count as equal that
// are one number in 32 bits, which is what llama.cpp computes in.
type Comparison struct {
	// Except are paths of fields that may differ, or be absent, or be there in one document only:
	// "timings", "choices[].message.id". What is within such a field may differ too. "**.timings"
	// is a field of that name wherever it stands.
	Except []string
	// Tolerance has paths of numbers, or of what holds them, and by how much they may differ.
	Tolerance map[string]float64
}

// Differences lists what differs in got from want, both of them JSON, as "path: want → got".
func (c Comparison) Differences(t testing.TB, want, got string) []string {
	t.Helper()
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%v: %s", err, want)
	}
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	return c.between("", w, g)
}

func (c Comparison) between(path string, want, got any) []string {
	if slices.ContainsFunc(c.Except, func(p string) bool { return within(path, p) }) {
		return nil
	}
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			return c.betweenObjects(path, w, g)
		}
	case []any:
		if g, ok := got.([]any); ok && len(g) == len(w) {
			var all []string
			for i := range w {
				all = append(all, c.between(path+"[]", w[i], g[i])...)
			}
			return all
		}
	case float64:
		if g, ok := got.(float64); ok && c.near(path, w, g) {
			return nil
		}
	default:
		if want == got {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s: %s → %s", path, text(want), text(got))}
}

func (c Comparison) betweenObjects(path string, want, got map[string]any) []string {
	var all []string
	both := maps.Clone(want)
	maps.Copy(both, got)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		w, wanted := want[name]
		g, given := got[name]
		switch {
		case wanted && given:
			all = append(all, c.between(at, w, g)...)
		case slices.ContainsFunc(c.Except, func(p string) bool { return within(at, p) }):
		case wanted:
			all = append(all, at+": "+text(w)+" → absent")
		default:
			all = append(all, at+": absent → "+text(g))
		}
	}
	return all
}

func (c Comparison) near(path string, a, b float64) bool {
	if a == b || float32(a) == float32(b) {
		return true
	}
	for p, most := range c.Tolerance {
		if within(path, p) {
			return math.Abs(a-b) <= most
		}
	}
	return false
}

// within reports whether path is that of the pattern or of something in it.
func within(path, pattern string) bool {
	if name, ok := strings.CutPrefix(pattern, "**."); ok {
		return strings.Contains("."+strings.ReplaceAll(path, "[]", "")+".", "."+name+".") // a name may have a dot in it
	}
	rest, ok := strings.CutPrefix(path, pattern)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
