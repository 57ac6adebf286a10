// SPDX-License-Identifier: MIT

package main

import (
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

func TestNoRepeat_Sample_MakesRepetitionsLessLikely(t *testing.T) {
	s := plugintest.Open[noRepeat](t, plugintest.Request{Config: `{"allowed":2,"penalty":1}`, Pieces: make([]string, 10), Prompt: []penstock.Token{9, 9}})
	for _, token := range []penstock.Token{1, 2, 3, 4, 5, 1, 2, 3} {
		s.Accept(token)
	}
	ids, logits := []penstock.Token{4, 3, 9}, []float32{3, 2, 1}
	if got := s.Sample(ids, logits); got != penstock.Biased {
		t.Fatalf("it answers %d", got)
	}
	for i, want := range []float32{1, 2, 1} { // 1 2 3 4 would be two more than may repeat
		if logits[i] != want {
			t.Errorf("the logit of token %d is %v, want %v", ids[i], logits[i], want)
		}
	}
}
