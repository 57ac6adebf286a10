// SPDX-License-Identifier: MIT

package config

import "testing"

func TestParseScaled_LastColonParts(t *testing.T) {
	for text, want := range map[string]struct {
		file  string
		scale float32
	}{"a.gguf:0.5": {"a.gguf", 0.5}, "/b/c.gguf:-1": {"/b/c.gguf", -1}, "C:/d.gguf:2": {"C:/d.gguf", 2}} {
		if file, scale, err := ParseScaled(text); file != want.file || scale != want.scale || err != nil {
			t.Errorf("%s: %s, %v, %v", text, file, scale, err)
		}
	}
	for _, text := range []string{"", "a.gguf", ":1", "a.gguf:", "a.gguf:x", "a.gguf:NaN", "a.gguf:inf", "a.gguf:1e99"} {
		if file, scale, err := ParseScaled(text); err == nil {
			t.Errorf("%q is taken as %s, %v", text, file, scale)
		}
	}
}

func TestParseLayers(t *testing.T) {
	for text, want := range map[string][2]int{"": {}, "1,4": {1, 4}, "2, 2": {2, 2}} {
		if first, last, err := ParseLayers(text); [2]int{first, last} != want || err != nil {
			t.Errorf("%q: %d to %d, %v", text, first, last, err)
		}
	}
	for _, text := range []string{"1", "0,3", "3,2", "a,b", "1,2,3", "-1,2"} {
		if _, _, err := ParseLayers(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
