// SPDX-License-Identifier: MIT

package stage

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

// Buffers of a preparing guest, one after the other.
const (
	atMask   = hosttest.AtBuffer // 4 words
	atBias   = atMask + 16       // 2 entries
	atSplice = atBias + 20       // 3 tokens
	atText   = atSplice + 20     // 256 bytes
)

// preparing binds everything that prepare and accept may fill.
func preparing(prepare ...[]byte) *asm.Guest {
	g := asm.New(`{"name":"guest","hold":2}`)
	g.On(abi.ExportOpen, g.Bind(abi.BufferMask, atMask, 16), g.Bind(abi.BufferBias, atBias, 20), g.Bind(abi.BufferSplice, atSplice, 20), i32(0))
	return g.On(abi.ExportPrepare, prepare...)
}

func TestStage_Prepare_TakesWhatIsFilled(t *testing.T) {
	minus := float32(math.Inf(-1))
	for name, tc := range map[string]struct {
		code [][]byte
		want chain.Prepared
	}{
		"nothing": {[][]byte{i32(0)}, chain.Prepared{}},
		"a mask, without what is beyond the vocabulary": {
			[][]byte{poke(atMask, 5), poke(atMask+12, -1), i32(1)}, chain.Prepared{Mask: []uint32{5, 0, 0, 0xf}}},
		"biases": {
			[][]byte{poke(atBias, 2), poke(atBias+4, 99), pokeF(atBias+8, 1.5), poke(atBias+12, 3), pokeF(atBias+16, minus), i32(2)},
			chain.Prepared{Bias: []chain.Bias{{Token: 99, Value: 1.5}, {Token: 3, Value: minus}}}},
		"a token": {
			[][]byte{poke(atSplice, 0), poke(atSplice+4, 1), poke(atSplice+8, 42), i32(4)},
			chain.Prepared{Forced: []chain.Token{42}}},
		"tokens, as many as fit": {
			[][]byte{poke(atSplice, 0), poke(atSplice+4, 3), poke(atSplice+8, 42), poke(atSplice+12, 0), poke(atSplice+16, 99), i32(4)},
			chain.Prepared{Forced: []chain.Token{42, 0, 99}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := use(t, preparing(tc.code...), 1)
			got := must.Get(s.Prepare())(t)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStage_Prepare_Faults(t *testing.T) {
	for name, tc := range map[string]struct {
		code   [][]byte
		cause  error
		detail string
	}{
		"an unknown bit":     {[][]byte{i32(8)}, plugin.CauseAnswer, "0x8"},
		"a negative answer":  {[][]byte{i32(-1)}, plugin.CauseAnswer, "0xffffffff"},
		"an empty mask":      {[][]byte{i32(1)}, plugin.CauseAnswer, "allows no token"},
		"only beyond":        {[][]byte{poke(atMask+12, 0x10), i32(1)}, plugin.CauseAnswer, "allows no token"},
		"too many biases":    {[][]byte{poke(atBias, 3), i32(2)}, plugin.CauseAnswer, "3 biases in a buffer for 2"},
		"endless biases":     {[][]byte{poke(atBias, -1), i32(2)}, plugin.CauseAnswer, "4294967295 biases"},
		"a wrong token":      {[][]byte{poke(atBias, 1), poke(atBias+4, 100), i32(2)}, plugin.CauseAnswer, "token 100"},
		"a NaN bias":         {[][]byte{poke(atBias, 1), pokeF(atBias+8, nan), i32(2)}, plugin.CauseAnswer, "NaN"},
		"an infinite bias":   {[][]byte{poke(atBias, 1), pokeF(atBias+8, inf), i32(2)}, plugin.CauseAnswer, "+Inf"},
		"no forced token":    {[][]byte{i32(4)}, plugin.CauseAnswer, "not 0 and 0"},
		"many forced tokens": {[][]byte{poke(atSplice+4, 4), i32(4)}, plugin.CauseAnswer, "4 tokens in a splice buffer for 3"},
		"a stranger later":   {[][]byte{poke(atSplice+4, 2), poke(atSplice+12, 100), i32(4)}, plugin.CauseAnswer, "token 100"},
		"forcing back":       {[][]byte{poke(atSplice, 1), poke(atSplice+4, 1), i32(4)}, plugin.CauseAnswer, "not 1 and 1"},
		"forcing a stranger": {[][]byte{poke(atSplice+4, 1), poke(atSplice+8, -1), i32(4)}, plugin.CauseAnswer, "token 4294967295"},
		"a trap":             {[][]byte{unreachable}, plugin.CauseTrap, "unreachable"},
		"no end":             {[][]byte{forever}, plugin.CauseFuel, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := use(t, preparing(tc.code...), 1).Prepare()
			hosttest.MustFault(t, err, abi.ExportPrepare, tc.cause, tc.detail)
		})
	}
}

func TestStage_Prepare_UnboundBuffers(t *testing.T) {
	for bit := 1; bit <= 4; bit *= 2 {
		_, err := use(t, hosttest.Plain().On(abi.ExportPrepare, i32(bit)), 1).Prepare()
		hosttest.MustFault(t, err, abi.ExportPrepare, plugin.CauseAnswer, "not bound")
	}
}

func TestStage_Open_Buffers(t *testing.T) {
	bindings := func(list ...[3]int) (answers []int32) {
		g := hosttest.Plain()
		var code [][]byte
		for i, b := range list {
			code = append(code, i32(hosttest.AtScratch+4*i), i32(b[0]), i32(b[1]), i32(b[2]), g.Call("bind"), store)
		}
		s := use(t, g.On(abi.ExportOpen, append(code, i32(0))...), 1)
		for i := range list {
			answers = append(answers, peek(s, hosttest.AtScratch+4*i))
		}
		return answers
	}
	const memory = 4 << 16
	for name, tc := range map[string]struct {
		list [][3]int
		want []int32
	}{
		"twice":         {[][3]int{{1, hosttest.AtBuffer, 32}, {1, hosttest.AtBuffer + 64, 32}}, []int32{0, -1}},
		"overlapping":   {[][3]int{{1, hosttest.AtBuffer, 32}, {4, hosttest.AtBuffer + 28, 32}, {5, hosttest.AtBuffer - 28, 32}, {6, hosttest.AtBuffer + 32, 256}}, []int32{0, -1, -1, 0}},
		"the same":      {[][3]int{{4, hosttest.AtBuffer, 32}, {5, hosttest.AtBuffer, 32}}, []int32{0, -1}},
		"unknown kinds": {[][3]int{{0, hosttest.AtBuffer, 32}, {7, hosttest.AtBuffer, 512}, {-1, hosttest.AtBuffer, 512}}, []int32{-1, -1, -1}},
		"misaligned":    {[][3]int{{1, hosttest.AtBuffer + 2, 32}}, []int32{-1}},
		"outside":       {[][3]int{{1, memory - 16, 32}, {1, -32, 32}, {1, -16, 32}, {6, 0, -1}, {1, memory - 32, 32}}, []int32{-1, -1, -1, -1, 0}},
		"too small":     {[][3]int{{1, hosttest.AtBuffer, 4}, {2, hosttest.AtBuffer, 396}, {3, hosttest.AtBuffer, 12}, {4, hosttest.AtBuffer, 8}, {5, hosttest.AtBuffer, 4}, {6, hosttest.AtBuffer, 255}}, []int32{-1, -1, -1, -1, -1, -1}},
		"just enough":   {[][3]int{{1, 0, 8}, {2, 8, 400}, {3, 408, 16}, {4, 424, 12}, {5, 436, 8}, {6, 444, 256}}, []int32{0, 0, 0, 0, 0, 0}},
	} {
		if got := bindings(tc.list...); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}

func TestStage_Bind_OnlyInOpen(t *testing.T) {
	g := hosttest.Plain()
	g.On(abi.ExportWarm, i32(hosttest.AtScratch), i32(1), i32(hosttest.AtBuffer), i32(32), g.Call("bind"), store, i32(0))
	g.On(abi.ExportPrepare, i32(hosttest.AtScratch+4), i32(1), i32(hosttest.AtBuffer), i32(32), g.Call("bind"), store, i32(0))
	s := use(t, g, 1)
	must.Get(s.Prepare())(t)
	if peek(s, hosttest.AtScratch) != -1 || peek(s, hosttest.AtScratch+4) != -1 {
		t.Errorf("in warm %d, in prepare %d", peek(s, hosttest.AtScratch), peek(s, hosttest.AtScratch+4))
	}
}

// accepting is a guest with a splice buffer and the answer of accept.
func accepting(accept ...[]byte) *asm.Guest {
	g := asm.New(`{"name":"guest","hold":2}`)
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
			hosttest.MustFault(t, err, abi.ExportAccept, plugin.CauseAnswer, tc.detail)
		})
	}
	_, err := use(t, hosttest.Plain().On(abi.ExportAccept, i32(2)), 1).Accept(9)
	hosttest.MustFault(t, err, abi.ExportAccept, plugin.CauseAnswer, "no splice buffer")
}

func TestStage_Accept_HoldBoundsBacktrack(t *testing.T) {
	s := use(t, accepting(splice(3), i32(2)), 1)
	s.session.History = append(s.session.History, 2, 3, 4) // generated
	_, err := s.Accept(5)
	hosttest.MustFault(t, err, abi.ExportAccept, plugin.CauseAnswer, "hold is 2 and 4 were generated")
}

// A plugin may take back as many tokens as it has said in open, and the chain holds so many.
func TestStage_Accept_HoldOfTheRequest(t *testing.T) {
	for _, c := range []struct{ most, said, hold int }{{3, 1, 1}, {3, 3, 3}, {3, 0, 0}, {3, 4, 3}, {3, -1, 3}, {0, 1, 0}} {
		g := asm.New(fmt.Sprintf(`{"name":"guest","hold":%d}`, c.most))
		answer := abi.HoldOk
		if c.said != c.hold {
			answer = abi.HoldRefused
		}
		g.On(abi.ExportOpen, g.Bind(abi.BufferSplice, atSplice, 20), i32(c.said), g.Call(abi.ImportHold), i32(answer), asm.Subtract)
		g.On(abi.ExportAccept, i32(1), g.Call(abi.ImportHold), drop, splice(c.hold+1), i32(2)) // too late to say more
		s := use(t, g, 1)
		if needs := s.Traits().Needs(); needs.Hold != c.hold || s.Traits().Hold != c.most {
			t.Errorf("%+v: %d tokens are held, of %d", c, needs.Hold, s.Traits().Hold)
		}
		s.session.History = append(s.session.History, 2, 3, 4, 5)
		_, err := s.Accept(6)
		hosttest.MustFault(t, err, abi.ExportAccept, plugin.CauseAnswer, fmt.Sprintf("%d tokens are taken back; hold is %d and", c.hold+1, c.hold))
	}
}

func TestStage_Accept_SpliceInAnswerToItself(t *testing.T) {
	s := use(t, accepting(splice(1, 30), i32(2)), 1)
	must.Get(s.Accept(9))(t)
	if want := []int32{1}; !slices.Equal(s.session.History, want) {
		t.Errorf("history %v", s.session.History)
	}
	_, err := s.Accept(30)
	hosttest.MustFault(t, err, abi.ExportAccept, plugin.CauseAnswer, "spliced itself")
}

// counting counts accepted tokens in a global and in memory at atScratch.
func counting(rewind bool) *asm.Guest {
	g := hosttest.Plain()
	g.Globals = 1
	g.On(abi.ExportAccept, global(0), i32(1), add, setGlobal(0), i32(hosttest.AtScratch), global(0), store, i32(1))
	if rewind {
		g.On(abi.ExportRewind, i32(hosttest.AtScratch+4), local(0), store, i32(0))
	}
	return g
}

func TestStage_Reset_FreshInstanceIsReplayed(t *testing.T) {
	s := use(t, counting(false), 1, 2)
	first := s.instance
	for _, token := range []int32{3, 4, 5} {
		must.Get(s.Accept(token))(t)
	}
	must.Do(t, s.Reset([]int32{1, 2, 3, 4}, 2))
	if s.instance == first || peek(s, hosttest.AtScratch) != 2 || !slices.Equal(s.session.History, []int32{1, 2, 3, 4}) {
		t.Errorf("same instance: %v, %d accepted, history %v", s.instance == first, peek(s, hosttest.AtScratch), s.session.History)
	}
}

// What a fresh instance gives while it is told the answer so far, the client has; what it gives
// afterwards, the client gets.
func TestStage_Reset_FreshInstanceGivesOutputs(t *testing.T) {
	g := hosttest.Plain()
	g.Put(hosttest.AtScratch, "7")
	g.On(abi.ExportAccept, i32(hosttest.AtScratch), i32(1), g.Call("output"), drop, i32(0))
	s := use(t, g, 1, 2)
	accept := func(token int32) int {
		t.Helper()
		must.Get(s.Accept(token))(t)
		return len(s.session.TakeOutputs())
	}
	if n := accept(3); n != 1 {
		t.Fatalf("%d values are given", n)
	}
	must.Do(t, s.Reset([]int32{1, 2, 3}, 2))
	if again, after := len(s.session.TakeOutputs()), accept(4); again != 0 || after != 1 {
		t.Errorf("%d values are given again, %d afterwards", again, after)
	}
}

func TestStage_Reset_IsTold(t *testing.T) {
	s := use(t, counting(true), 1, 2)
	first := s.instance
	must.Get(s.Accept(3))(t)
	must.Do(t, s.Reset([]int32{1, 2}, 2))
	if s.instance != first || peek(s, hosttest.AtScratch+4) != 2 {
		t.Errorf("same instance: %v, told %d", s.instance == first, peek(s, hosttest.AtScratch+4))
	}
}

func TestStage_Reset_ForkedConversationIsReplayed(t *testing.T) {
	m := hosttest.Load(t, hosttest.Open(t, load.New), counting(true))
	s := must.Get(New(m, plugin.RequestInfo{}))(t)
	defer s.Close()
	must.Do(t, s.Reset([]int32{1, 2, 3, 4}, 1))
	if peek(s, hosttest.AtScratch) != 3 {
		t.Errorf("%d accepted", peek(s, hosttest.AtScratch))
	}
}

func TestStage_Reset_Refused(t *testing.T) {
	s := use(t, hosttest.Plain().On(abi.ExportRewind, i32(1)), 1)
	hosttest.MustFault(t, s.Reset([]int32{1}, 1), abi.ExportRewind, plugin.CauseAnswer, "must be 0")
}

func TestStage_Reset_OpenRefuses(t *testing.T) {
	g := hosttest.Plain()
	g.Put(hosttest.AtScratch, "threshold is too high")
	g.On(abi.ExportOpen, i32(hosttest.AtScratch), i32(21), g.Call("fail"), i32(9))
	s, err := New(hosttest.Load(t, hosttest.Open(t, load.New), g), plugin.RequestInfo{Skip: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.Reset([]int32{1}, 1)
	var refusal *plugin.Refusal
	if !errors.As(err, &refusal) || refusal.Message != "threshold is too high" || refusal.Param() != "plugins" {
		t.Errorf("got %v", err)
	}
}

func TestStage_Reset_ViewMustBeBound(t *testing.T) {
	for name, g := range map[string]*asm.Guest{
		"candidates": hosttest.Plain().On(abi.ExportSample, i32(-1)),
		"logits":     asm.New(`{"name":"guest","view":"logits"}`).On(abi.ExportSample, i32(-1)),
		"text":       hosttest.Plain().On(abi.ExportStop, i32(0)),
	} {
		s := must.Get(New(hosttest.Load(t, hosttest.Open(t, load.New), g), plugin.RequestInfo{}))(t)
		hosttest.MustFault(t, s.Reset([]int32{1}, 1), abi.ExportOpen, plugin.CauseBuffer, name)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestStage_Close_TellsOnceAndReleases(t *testing.T) {
	g := hosttest.Plain()
	g.Put(hosttest.AtScratch, "bye")
	g.On(abi.ExportClose, i32(1), i32(hosttest.AtScratch), i32(3), g.Call("log"))
	var log bytes.Buffer
	p := must.Get(hosttest.Open(t, load.New, func(o *plugin.HostOptions) { o.Log, o.LogLines = slog.New(slog.NewTextHandler(&log, nil)), true }).Load(t.Context(), g.Wasm()))(t)
	s := useOf(t, p, plugin.RequestInfo{}, 1)
	for range 2 {
		must.Do(t, s.Close())
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "msg=bye") {
		t.Errorf("log %q", got)
	}
	if p.Release(); p.Retain() {
		t.Error("users are left")
	}
	if _, err := s.Accept(1); err != nil {
		t.Error(err)
	}
}
