// SPDX-License-Identifier: MIT

package plugin

import (
	"errors"
	"slices"
	"testing"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/chain"
)

// accepting is a guest with a splice buffer and the answer of accept.
func accepting(accept ...[]byte) *guestModule {
	g := newGuest(`{"name":"guest","hold":2}`)
	g.On(abi.ExportOpen, g.Bind(abi.BufferSplice, atSplice, 20), i32(0))
	return g.On(abi.ExportAccept, accept...)
}

func splice(backtrack int, tokens ...int) []byte {
	code := slices.Concat(poke(atSplice, backtrack), poke(atSplice+4, len(tokens)))
	for i, t := range tokens {
		code = append(code, poke(atSplice+8+4*i, t)...)
	}
	return code
}

func TestStage_Accept_Answers(t *testing.T) {
	for name, tc := range map[string]struct {
		code [][]byte
		want chain.Effect
	}{
		"go on":     {[][]byte{i32(0)}, chain.Effect{}},
		"stop":      {[][]byte{i32(1)}, chain.Effect{Stop: true}},
		"replace":   {[][]byte{splice(1, 30), i32(2)}, chain.Effect{Splice: true, Backtrack: 1, Tokens: []int32{30}}},
		"append":    {[][]byte{splice(0, 30, 31), i32(2)}, chain.Effect{Splice: true, Tokens: []int32{30, 31}}},
		"take back": {[][]byte{splice(1), i32(2)}, chain.Effect{Splice: true, Backtrack: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := use(t, accepting(tc.code...), 1, 2)
			got, err := s.Accept(9)
			if err != nil || got.Stop != tc.want.Stop || got.Splice != tc.want.Splice || got.Backtrack != tc.want.Backtrack || !slices.Equal(got.Tokens, tc.want.Tokens) {
				t.Errorf("got %+v, %v, want %+v", got, err, tc.want)
			}
		})
	}
}

func TestStage_Accept_Faults(t *testing.T) {
	for name, tc := range map[string]struct {
		code   [][]byte
		detail string
	}{
		"an unknown answer":    {[][]byte{i32(3)}, "3, it must"},
		"a negative answer":    {[][]byte{i32(-1)}, "-1, it must"},
		"beyond the beginning": {[][]byte{splice(2), i32(2)}, "1 were generated"},
		"back without end":     {[][]byte{splice(-1), i32(2)}, "4294967295 tokens"},
		"more than fits":       {[][]byte{poke(atSplice+4, 4), i32(2)}, "4 tokens in a splice buffer for 3"},
		"a strange token":      {[][]byte{splice(0, 100), i32(2)}, "token 100"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := use(t, accepting(tc.code...), 1, 2).Accept(9)
			mustFault(t, err, abi.ExportAccept, CauseAnswer, tc.detail)
		})
	}
	_, err := use(t, plain().On(abi.ExportAccept, i32(2)), 1).Accept(9)
	mustFault(t, err, abi.ExportAccept, CauseAnswer, "no splice buffer")
}

func TestStage_Accept_HoldBoundsBacktrack(t *testing.T) {
	s := use(t, accepting(splice(3), i32(2)), 1)
	s.session.history = append(s.session.history, 2, 3, 4) // generated
	_, err := s.Accept(5)
	mustFault(t, err, abi.ExportAccept, CauseAnswer, "hold is 2 and 4 were generated")
}

func TestStage_Accept_SpliceInAnswerToItself(t *testing.T) {
	s := use(t, accepting(splice(1, 30), i32(2)), 1)
	if _, err := s.Accept(9); err != nil {
		t.Fatal(err)
	}
	if want := []int32{1}; !slices.Equal(s.session.history, want) {
		t.Errorf("history %v", s.session.history)
	}
	_, err := s.Accept(30)
	mustFault(t, err, abi.ExportAccept, CauseAnswer, "spliced itself")
}

// counting counts accepted tokens in a global and in memory at atScratch.
func counting(rewind bool) *guestModule {
	g := plain()
	g.Globals = 1
	g.On(abi.ExportAccept, global(0), i32(1), add, setGlobal(0), i32(atScratch), global(0), store, i32(1))
	if rewind {
		g.On(abi.ExportRewind, i32(atScratch+4), local(0), store, i32(0))
	}
	return g
}

func TestStage_Rewind_FreshInstanceIsReplayed(t *testing.T) {
	s := use(t, counting(false), 1, 2)
	first := s.instance
	for _, token := range []int32{3, 4, 5} {
		if _, err := s.Accept(token); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Rewind([]int32{1, 2, 3, 4}, 2); err != nil {
		t.Fatal(err)
	}
	if s.instance == first || peek(s, atScratch) != 2 || !slices.Equal(s.session.history, []int32{1, 2, 3, 4}) {
		t.Errorf("same instance: %v, %d accepted, history %v", s.instance == first, peek(s, atScratch), s.session.history)
	}
}

func TestStage_Rewind_IsTold(t *testing.T) {
	s := use(t, counting(true), 1, 2)
	first := s.instance
	if _, err := s.Accept(3); err != nil {
		t.Fatal(err)
	}
	if err := s.Rewind([]int32{1, 2}, 2); err != nil {
		t.Fatal(err)
	}
	if s.instance != first || peek(s, atScratch+4) != 2 {
		t.Errorf("same instance: %v, told %d", s.instance == first, peek(s, atScratch+4))
	}
}

func TestStage_Rewind_ForkedConversationIsReplayed(t *testing.T) {
	m := mustLoad(t, newTestRuntime(t), counting(true))
	s, err := m.NewStage(Request{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Rewind([]int32{1, 2, 3, 4}, 1); err != nil {
		t.Fatal(err)
	}
	if peek(s, atScratch) != 3 {
		t.Errorf("%d accepted", peek(s, atScratch))
	}
}

func TestStage_Rewind_Refused(t *testing.T) {
	s := use(t, plain().On(abi.ExportRewind, i32(1)), 1)
	mustFault(t, s.Rewind([]int32{1}, 1), abi.ExportRewind, CauseAnswer, "must be 0")
}

func TestStage_Rewind_OpenRefuses(t *testing.T) {
	g := plain()
	g.Put(atScratch, "threshold is too high")
	g.On(abi.ExportOpen, i32(atScratch), i32(21), g.Call("fail"), i32(9))
	s, err := mustLoad(t, newTestRuntime(t), g).NewStage(Request{Skip: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.Rewind([]int32{1}, 1)
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Message != "threshold is too high" || refusal.Param() != "plugins" {
		t.Errorf("got %v", err)
	}
}

func TestStage_Rewind_ViewMustBeBound(t *testing.T) {
	for name, g := range map[string]*guestModule{
		"candidates": plain().On(abi.ExportSample, i32(-1)),
		"logits":     newGuest(`{"name":"guest","view":"logits"}`).On(abi.ExportSample, i32(-1)),
		"text":       plain().On(abi.ExportStop, i32(0)),
	} {
		s, err := mustLoad(t, newTestRuntime(t), g).NewStage(Request{})
		if err != nil {
			t.Fatal(err)
		}
		mustFault(t, s.Rewind([]int32{1}, 1), abi.ExportOpen, CauseBuffer, name)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestStage_Close_TellsOnceAndReleases(t *testing.T) {
	g := plain()
	g.Put(atScratch, "bye")
	g.On(abi.ExportClose, i32(1), i32(atScratch), i32(3), g.Call("log"))
	s := use(t, g, 1)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.session.capture.lines; !slices.Equal(got, []string{"bye"}) {
		t.Errorf("log %q", got)
	}
	if n := s.module.uses.Load(); n != 1 {
		t.Errorf("%d users are left", n)
	}
	if _, err := s.Accept(1); err != nil {
		t.Error(err)
	}
}
