// SPDX-License-Identifier: MIT

package script

import (
	"testing"
)

func TestSample_Filter(t *testing.T) {
	s := mustOpen(t, `export function sample(c) { log(c.length, c.text(0)); c.filter(s => !s.includes("e")); }`, nil)
	v := view(rowOf(t, " the", " frog", " cat"))
	if err := s.Apply(v); err != nil {
		t.Fatal(said(err))
	}
	t.Log(v.N, v.ID[:v.N], v.Logit[:v.N])
	if v.Likeliest() != token(t, " frog") {
		t.Errorf("got %q", words.Piece(v.Likeliest()))
	}
}
