// SPDX-License-Identifier: MIT

package guest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/tools/must"
)

// counter is a grammar engine whose only sentence is 1 2 3 …; it refuses the text "bad".
type counter struct {
	open   int
	work   uint64                // of opening one
	opened func(context.Context) // is called when one is opened; nil: nothing
}

func (c *counter) Open(ctx context.Context, client string, _ int32, text string) (plugin.Grammar, uint64, error) {
	if c.opened != nil {
		c.opened(ctx)
	}
	if text == "bad" {
		return nil, c.work, errors.New("line 1: bad")
	}
	c.open++
	return &sentence{engine: c, next: 1}, c.work, nil
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

// It ends with 9.
func (s *sentence) Rest() (int, bool, error) {
	if s.next == 6 {
		return 0, false, errors.New("nobody knows")
	}
	return max(0, int(9-s.next)), s.next >= 9, nil
}

func (s *sentence) MaskWithin(tokens int, mask []uint32) (bool, error) {
	if int(9-s.next) > tokens {
		return false, nil
	}
	return true, s.Mask(mask)
}

func (*sentence) Beginning() program.GrammarState { return nil }

func (s *sentence) Close() error { s.engine.open--; return nil }

func TestHost_Grammar_MasksAndMoves(t *testing.T) {
	engine := &counter{}
	h := newTestHost(t, func(o *plugin.HostOptions) { o.Grammars, o.Limits.Grammar = engine, 63 })
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
	s := useOf(t, mustLoad(t, h, g), plugin.RequestInfo{}, 9)
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
		must.Get(s.accept(step.token))(t)
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

// What reading a grammar takes is paid for, also where it is refused. Meanwhile others have the
// time slice, and the reading ends with the request. However the call ends, no grammar stays open.
func TestHost_Grammar_Open_IsPaidFor(t *testing.T) {
	for _, text := range []string{"ok", "bad"} {
		open := func(work uint64, opened func(context.Context, *user)) error {
			engine := &counter{work: work}
			h := newTestHost(t, func(o *plugin.HostOptions) { o.Grammars = engine })
			g := hosttest.Plain()
			g.Put(hosttest.AtScratch+64, text)
			g.On(abi.ExportOpen, i32c(abi.GrammarGBNF), i32c(hosttest.AtScratch+64), i32c(len(text)), g.Call("grammar_open"), drop, i32c(0))
			u := begin(t, mustLoad(t, h, g), plugin.RequestInfo{}, 9)
			engine.opened = func(ctx context.Context) {
				if n := h.timeSlices.Taken(); n != 0 {
					t.Errorf("%s: %d time slices are taken", text, n)
				}
				if opened != nil {
					opened(ctx, u)
				}
			}
			err := u.open()
			if errors.Is(err, plugin.CauseFuel) || errors.Is(err, plugin.CauseCancelled) {
				if engine.open != 0 {
					t.Errorf("%s: no handle was given, and %d grammars are open: %v", text, engine.open, err)
				}
			}
			if closing := u.Close(true); closing != nil || engine.open != 0 {
				t.Errorf("%s: after the instance %d grammars are open: %v", text, engine.open, closing)
			}
			return err
		}
		if err := open(1_000_000, nil); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if err := open(abi.LimitSetupFuel, nil); !errors.Is(err, plugin.CauseFuel) {
			t.Errorf("%s, which takes too much: %v", text, err)
		}
		leaves := func(ctx context.Context, u *user) {
			u.interrupt()
			<-ctx.Done()
		}
		if err := open(0, leaves); !errors.Is(err, plugin.CauseCancelled) {
			t.Errorf("%s, when the request is over: %v", text, err)
		}
	}
}

// A plugin learns how many tokens complete a text, and has the tokens masked after which too few
// are left.
func TestHost_Grammar_Completes(t *testing.T) {
	h := newTestHost(t, func(o *plugin.HostOptions) { o.Grammars = &counter{} })
	g := hosttest.Plain()
	g.Put(hosttest.AtScratch+64, "bad")
	open := func(size int) []byte {
		return slices.Concat(i32c(abi.GrammarGBNF), i32c(hosttest.AtScratch+64), i32c(size), g.Call("grammar_open"))
	}
	reason := func(at int) []byte {
		return slices.Concat(i32c(at), i32c(hosttest.AtScratch+128), i32c(64), g.Call(abi.ImportGrammarReason), store)
	}
	g.On(abi.ExportOpen, g.Bind(abi.BufferMask, atMask, 16), open(3), drop, reason(hosttest.AtScratch), open(2), drop, i32c(0))
	g.On(abi.ExportPrepare, i32c(hosttest.AtScratch+4), i32c(0), i32c(5), g.Call(abi.ImportGrammarMaskWithin), store, i32c(1))
	g.On(abi.ExportAccept, i32c(0), local(0), g.Call("grammar_accept"), drop,
		i32c(hosttest.AtScratch+8), i32c(0), g.Call(abi.ImportGrammarRest), store,
		i32c(hosttest.AtScratch+12), i32c(1), g.Call(abi.ImportGrammarRest), store, reason(hosttest.AtScratch+16), i32c(0))
	s := useOf(t, mustLoad(t, h, g), plugin.RequestInfo{}, 9)
	if n := peek(s, hosttest.AtScratch); n != int32(len("line 1: bad")) {
		t.Errorf("the reason has %d bytes", n)
	}
	for token := int32(1); token <= 8; token++ {
		_, err := s.prepare()
		want, mask := int32(abi.WithinTooFew), uint32(0)
		if token >= 4 {
			want, mask = abi.WithinFilled, 1<<token
		}
		if got := peek(s, hosttest.AtScratch+4); got != want || s.Buffers.Mask(100)[0] != mask || err != nil {
			t.Errorf("before token %d: %d, want %d, mask %x, %v", token, got, want, s.Buffers.Mask(100)[0], err)
		}
		must.Get(s.accept(token))(t)
		rest := 8 - token
		switch token {
		case 5:
			rest = abi.RestUnknown
		case 8:
			rest = abi.RestEnded
		}
		if got := peek(s, hosttest.AtScratch+8); got != rest {
			t.Errorf("after token %d: %d, want %d", token, got, rest)
		}
	}
	if unknown, reason := peek(s, hosttest.AtScratch+12), peek(s, hosttest.AtScratch+16); unknown != abi.RestUnknown || reason != 0 {
		t.Errorf("a handle that is none: %d; where none is refused the reason has %d bytes", unknown, reason)
	}
}
