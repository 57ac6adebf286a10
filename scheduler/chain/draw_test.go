// SPDX-License-Identifier: MIT

package chain

import (
	"math"
	"math/rand/v2"
	"testing"
)

// randomMask has words of all kinds: empty, full, and any number of bits.
func randomMask(r *rand.Rand, words int) []uint32 {
	mask := make([]uint32, words)
	for i := range mask {
		switch r.IntN(5) {
		case 0:
		case 1:
			mask[i] = ^uint32(0)
		case 2:
			mask[i] = r.Uint32() & r.Uint32() & r.Uint32()
		case 3:
			mask[i] = r.Uint32() | r.Uint32() | r.Uint32()
		default:
			mask[i] = r.Uint32()
		}
	}
	return mask
}

func TestRestriction_Apply_MasksACopy(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		size := 1 + rng.IntN(300)
		row := make([]float32, size)
		for i := range row {
			row[i] = float32(i)
		}
		r := restriction{mask: randomMask(rng, (size+31)/32), bias: []Bias{{Token: 0, Value: 0.5}}}
		got := r.apply(row)
		for i := range row {
			want := float32(math.Inf(-1))
			if r.mask[i/32]>>(i%32)&1 == 1 {
				want = float32(i)
			}
			if i == 0 {
				want += 0.5
			}
			if got[i] != want || row[i] != float32(i) {
				t.Fatalf("token %d of %d: %v, want %v; the row has %v", i, size, got[i], want, row[i])
			}
		}
	}
}

func TestRestriction_Ban_TakesOneToken(t *testing.T) {
	r := restriction{narrowedBy: -1}
	for _, c := range []struct {
		token Token
		taken bool
	}{{39, true}, {39, false}, {40, false}, {-1, false}, {0, true}} {
		if got := r.ban(c.token, 40); got != c.taken {
			t.Errorf("token %d: %v", c.token, got)
		}
	}
	if r.mask[0] != ^uint32(1) || r.mask[1] != 0x7f {
		t.Errorf("%x", r.mask)
	}
}

// BenchmarkRestriction_Apply is the price of a mask over 128,256 tokens, on the critical path of
// one slot.
func BenchmarkRestriction_Apply(b *testing.B) {
	row := make([]float32, 128_256)
	for name, word := range map[string]uint32{"few": 1, "half": 0x55555555, "most": 0xfffeffff} {
		b.Run(name, func(b *testing.B) {
			var r restriction
			for range len(row) / 32 {
				r.mask = append(r.mask, word)
			}
			for b.Loop() {
				r.apply(row)
			}
		})
	}
}
