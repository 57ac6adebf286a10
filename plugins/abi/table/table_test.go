// SPDX-License-Identifier: MIT

package table

import (
	"slices"
	"testing"
)

func TestV1_Names_AreUnique(t *testing.T) {
	v := V1()
	for _, list := range [][]Func{v.Exports, v.Imports} {
		seen := map[string]bool{}
		for _, f := range list {
			if seen[f.Name] {
				t.Errorf("%s stands twice", f.Name)
			}
			seen[f.Name] = true
			if f.Doc == "" {
				t.Errorf("%s has no description", f.Name)
			}
		}
	}
}

func TestV1_Pointers_HaveAListAndALength(t *testing.T) {
	for _, f := range V1().Imports {
		for i, p := range f.Params {
			if p.Access != None && (p.List == "" || f.Entries(i) < 0) {
				t.Errorf("%s: %s is %q and counted by parameter %d", f.Name, p.Name, p.List, f.Entries(i))
			}
		}
		if per := f.Cost.Per; per != "" && !slices.ContainsFunc(f.Params, func(p Value) bool { return p.Name == per }) {
			t.Errorf("%s costs by %s, which is none of its parameters", f.Name, per)
		}
	}
}

func TestCost_String_Worked(t *testing.T) {
	for want, c := range map[string]Cost{
		"":                       {},
		"bytes read / 16":        {Read: true},
		"1,000, and n × n_vocab": {Fixed: 1000, Vocabulary: 1, Per: "n"},
		"100,000, 16 × bytes read, and bytes written / 16; also more": {Fixed: 100_000, Byte: 16, Wrote: true, More: "more"},
		"more": {More: "more"},
	} {
		if got := c.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestV1_Buffers_KindsCountFromOne(t *testing.T) {
	for i, b := range V1().Buffers {
		if b.Kind != int64(i+1) {
			t.Errorf("%s has kind %d, want %d", b.Name, b.Kind, i+1)
		}
	}
}

func TestField_Elements_Worked(t *testing.T) {
	for _, c := range []struct {
		count string
		want  int64
	}{{"1", 1}, {"cap", 3}, {"n_vocab", 33}, {"words", 2}} {
		got := Field{Count: c.count}.Elements(map[string]int64{"cap": 3, "n_vocab": 33})
		if got != c.want {
			t.Errorf("%s: %d elements, want %d", c.count, got, c.want)
		}
	}
}
