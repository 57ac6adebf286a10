// SPDX-License-Identifier: MIT

package stage

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler/chain"
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
			got, err := s.Prepare()
			if err != nil {
				t.Fatal(err)
			}
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
	if _, err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	if peek(s, hosttest.AtScratch) != -1 || peek(s, hosttest.AtScratch+4) != -1 {
		t.Errorf("in warm %d, in prepare %d", peek(s, hosttest.AtScratch), peek(s, hosttest.AtScratch+4))
	}
}
