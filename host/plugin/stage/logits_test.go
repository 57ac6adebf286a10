// SPDX-License-Identifier: MIT

package stage

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler/chain"
)

func wholeRow(sample ...[]byte) *asm.Guest {
	return viewed(`{"name":"guest","view":"logits"}`, abi.BufferLogits, 400, append(sample, i32(-1))...)
}

func TestStage_Apply_WholeRow(t *testing.T) {
	s := use(t, wholeRow(pokeF(hosttest.AtBuffer+4*7, 1000)), 1)
	row := ramp(3)
	v := raw(row)
	if err := s.Apply(v); err != nil {
		t.Fatal(err)
	}
	want := ramp(3)
	want[7] = 1000
	if diff := cmp.Diff(want, v.Row); diff != "" || v.N != -1 {
		t.Errorf("%d left, %s", v.N, diff)
	}
	if row[7] != 7 {
		t.Error("the host's row was written to")
	}
}

func TestStage_Apply_WholeRowOfCandidates(t *testing.T) {
	s := use(t, wholeRow(), 1)
	v := &chain.View{Row: ramp(), ID: []int32{9, 4}, Logit: []float32{1, 2}, N: 2, Chosen: -1}
	if err := s.Apply(v); err != nil {
		t.Fatal(err)
	}
	for i, x := range v.Row {
		want := banned
		switch i {
		case 9:
			want = 1
		case 4:
			want = 2
		}
		if x != want {
			t.Errorf("token %d has %v, want %v", i, x, want)
		}
	}
	if v.N != -1 {
		t.Errorf("%d left", v.N)
	}
}

func TestStage_Apply_WholeRowFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		code   []byte
		detail string
	}{
		"NaN":      {pokeF(hosttest.AtBuffer+4*9, nan), "NaN of token 9"},
		"infinite": {pokeF(hosttest.AtBuffer+4*99, inf), "+Inf of token 99"},
		"all banned": {func() (code []byte) {
			for i := range 100 {
				code = append(code, pokeF(hosttest.AtBuffer+4*i, banned)...)
			}
			return code
		}(), "no logit"},
	} {
		t.Run(name, func(t *testing.T) {
			s := use(t, wholeRow(tc.code), 1)
			hosttest.MustFault(t, s.Apply(raw(ramp())), abi.ExportSample, plugin.CauseAnswer, tc.detail)
		})
	}
}

func TestFirstInvalid_FindsEveryKind(t *testing.T) {
	for _, n := range []int{1, 63, 64, 65, 200} {
		for at := range n {
			row := make([]float32, n)
			for i := range row {
				row[i] = -float32(i) * 1e30
			}
			row[n-1] = banned
			if got := firstInvalid(row); got != -1 {
				t.Fatalf("%d: found %d in a good row", n, got)
			}
			for _, bits := range []uint32{0x7f800000, 0x7f800001, 0x7fffffff, 0xff800001, 0xffc00000, 0xffffffff} {
				row[at] = math.Float32frombits(bits)
				if got := firstInvalid(row); got != at {
					t.Fatalf("%d: %#x at %d: found %d", n, bits, at, got)
				}
			}
		}
	}
}
