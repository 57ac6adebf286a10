// SPDX-License-Identifier: MIT

package guest

import (
	"errors"
	"slices"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/plugins/abi"
)

// counter is a grammar engine whose only sentence is 1 2 3 …; it refuses the text "bad".
type counter struct{ open int }

func (c *counter) Open(_ int32, text string) (plugin.Grammar, error) {
	if text == "bad" {
		return nil, errors.New("line 1: bad")
	}
	c.open++
	return &sentence{engine: c, next: 1}, nil
}

type sentence struct {
	engine *counter
	next   int32
}

func (s *sentence) Mask(mask []uint32) error {
	clear(mask)
	mask[s.next/32] |= 1 << (s.next % 32)
	return nil
}

func (s *sentence) Accept(t int32) bool {
	if t != s.next {
		return false
	}
	s.next++
	return true
}

func (s *sentence) Close() error { s.engine.open--; return nil }

func TestHost_Grammar_MasksAndMoves(t *testing.T) {
	engine := &counter{}
	h := newTestHost(t, func(o *plugin.Options) { o.Grammars, o.Limits.Grammar = engine, 63 })
	g := hosttest.Plain()
	g.Put(hosttest.AtScratch+64, "bad")
	open := g.Call("grammar_open")
	code := [][]byte{g.Bind(abi.BufferMask, atMask, 16),
		i32c(abi.GrammarGBNF), i32c(hosttest.AtScratch + 64), i32c(64), open, drop} // too long
	for i := range 6 { // 4 are allowed; before them one that is refused
		size := 2
		if i == 0 {
			size = 3
		}
		code = append(code, i32c(hosttest.AtScratch+4*i), i32c(abi.GrammarGBNF), i32c(hosttest.AtScratch+64), i32c(size), open, store)
	}
	g.On(abi.ExportOpen, append(code, i32c(0))...)
	g.On(abi.ExportPrepare, i32c(1), g.Call("grammar_mask"), drop, i32c(1))
	g.On(abi.ExportAccept, i32c(hosttest.AtScratch+32), i32c(1), local(0), g.Call("grammar_accept"), store, i32c(0))
	s := useOf(t, mustLoad(t, h, g), plugin.Request{}, 9)
	for i, want := range []int32{-1, 0, 1, 2, 3, -1} {
		if got := peek(s, hosttest.AtScratch+4*i); got != want {
			t.Errorf("handle %d is %d, want %d", i, got, want)
		}
	}
	want := []string{
		"grammar_open: the grammar has 64 bytes, at most 63 are taken", "grammar_open: line 1: bad", "grammar_open: an instance may have no more grammars",
	}
	if got := s.session.log.last(); !slices.Equal(got, want) {
		t.Errorf("log %q", got)
	}
	for _, step := range []struct{ token, answer int32 }{{1, 0}, {5, -1}, {2, 0}, {1000, -1}, {-1, -1}} {
		if _, err := s.accept(step.token); err != nil {
			t.Fatal(err)
		}
		if got := peek(s, hosttest.AtScratch+32); got != step.answer {
			t.Errorf("token %d: %d, want %d", step.token, got, step.answer)
		}
	}
	if answer, err := s.prepare(); err != nil || answer != abi.PrepareMask || s.Buffers.Mask(100)[0] != 1<<3 {
		t.Errorf("answer %d, mask %x, %v", answer, s.Buffers.Mask(100), err)
	}
	if err := s.Close(true); err != nil || engine.open != 0 {
		t.Errorf("%d grammars are open, %v", engine.open, err)
	}
}
