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

func TestV1_Pointers_HaveALength(t *testing.T) {
	for _, f := range V1().Imports {
		for i, p := range f.Params {
			if p.Access == None {
				continue
			}
			counts := func(v Value) bool { return v.Name == "n" || v.Name == "k" } // stand where several pointers, or an answer's layout, share them
			if (i+1 == len(f.Params) || f.Params[i+1].Access != None) && !slices.ContainsFunc(f.Params, counts) {
				t.Errorf("%s: %s has no length, limit or count", f.Name, p.Name)
			}
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
