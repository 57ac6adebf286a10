// SPDX-License-Identifier: MIT

package main

import (
	"strings"
	"testing"
)

func TestProgress_Show(t *testing.T) {
	for name, tc := range map[string]struct {
		bar  bool
		want string
	}{
		"lines": {false, "loading m\n"},
		"bar": {true, "\r\x1b[Kloading m [" + strings.Repeat(" ", 30) + "] 0%" +
			"\r\x1b[Kloading m [" + strings.Repeat("#", 15) + strings.Repeat(" ", 15) + "] 50%\r\x1b[K"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			p := progress{out: &out, name: "m", bar: tc.bar, last: -1}
			for _, done := range []float32{0, 0.001, 0.5, 0.5, 1, 1} {
				p.show(done)
			}
			if out.String() != tc.want {
				t.Errorf("shown %q, want %q", out.String(), tc.want)
			}
		})
	}
}
