// SPDX-License-Identifier: MIT

package stage

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/chain"
)

// compactByOne is compact, one candidate at a time.
func compactByOne(ids []int32, logits []float32) (keptIDs []int32, keptLogits []float32, invalid int) {
	for i, x := range logits {
		switch {
		case math.IsNaN(float64(x)) || x == inf:
			return nil, nil, i
		case x != banned:
			keptIDs, keptLogits = append(keptIDs, ids[i]), append(keptLogits, x)
		}
	}
	return keptIDs, keptLogits, -1
}

func TestCompact_IsAsGoodAsOneAtATime(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	toIDs, toLogits := make([]int32, 300), make([]float32, 300)
	for _, n := range []int{0, 1, 63, 64, 65, 128, 130, 256, 300} {
		for round := range 300 {
			ids, logits := make([]int32, n), make([]float32, n)
			for i := range n {
				ids[i], logits[i] = int32(r.Uint32()), float32(r.NormFloat64())
			}
			for range r.IntN(4) { // runs that are banned
				from := r.IntN(n + 1)
				for i := from; i < min(n, from+r.IntN(200)); i++ {
					logits[i] = banned
				}
			}
			if n > 0 && round%5 == 0 {
				logits[r.IntN(n)] = []float32{inf, nan, math.MaxFloat32, -math.MaxFloat32, math.Float32frombits(1 << 31)}[r.IntN(5)]
			}
			wantIDs, wantLogits, wantInvalid := compactByOne(ids, logits)
			kept, invalid := compact(toIDs, toLogits, ids, logits)
			if invalid != wantInvalid || !slices.Equal(toIDs[:kept], wantIDs) || !slices.Equal(toLogits[:kept], wantLogits) {
				t.Fatalf("%v: kept %v %v, invalid %d; want %v %v, %d", logits, toIDs[:kept], toLogits[:kept], invalid, wantIDs, wantLogits, wantInvalid)
			}
		}
	}
}

func TestSorted_SeesEveryPair(t *testing.T) {
	for _, n := range []int{1, 2, 8, 9, 10, 17, 30} {
		falling := func() []float32 {
			l := make([]float32, n)
			for i := range l {
				l[i] = 5 - float32(i/2) // some are equal
			}
			return l
		}
		if !sorted(falling()) {
			t.Errorf("%d logits in order count as unsorted", n)
		}
		for i := range n {
			for _, x := range []float32{nan, 100, banned} {
				l := falling()
				if l[i] = x; sorted(l) && (i > 0 || x != 100) {
					t.Errorf("%d logits with %v at %d count as sorted", n, x, i)
				}
			}
		}
	}
	if sorted(nil) {
		t.Error("no logits count as sorted")
	}
}

// showWide shows 256 candidates, four blocks of them, to a guest that does something with them.
// Token i has the logit −i.
func showWide(t *testing.T, sample []byte) (*chain.View, error) {
	t.Helper()
	loader := hosttest.Open(t, load.New, func(o *plugin.HostOptions) { o.Vocabulary = bigWords{} })
	s := useOf(t, hosttest.Load(t, loader, viewed(`{"name":"guest"}`, abi.BufferCandidates, 2048, sample, i32(-1))), plugin.RequestInfo{}, 1)
	v := &chain.View{N: 256, Chosen: -1}
	for i := range 256 {
		v.ID, v.Logit = append(v.ID, int32(i)), append(v.Logit, -float32(i))
	}
	err := s.Apply(v)
	if err != nil && v.N != 256 {
		t.Error("a fault changed the view")
	}
	return v, err
}

// What a guest leaves is looked at wherever it stands, whether it left the ids alone or not.
func TestStage_Apply_LooksAtAllCandidates(t *testing.T) {
	for _, i := range []int{0, 63, 64, 200, 255} {
		id := hosttest.AtBuffer + 4*i
		logit := id + 4*256
		for name, tc := range map[string]struct {
			code   []byte
			detail string
		}{
			"NaN alone":        {pokeF(logit, nan), "neither finite"},
			"infinite alone":   {pokeF(logit, inf), "neither finite"},
			"NaN, ids changed": {slices.Concat(poke(id, 280), pokeF(logit, nan)), "neither finite"},
			"one id twice":     {poke(id, (i+1)%256), "twice"},
			"id past the last": {poke(id, bigWords{}.Size()), "not in the vocabulary"},
			"all is wrong":     {slices.Concat(poke(id, -1), pokeF(logit, nan)), "not in the vocabulary"},
		} {
			t.Run(fmt.Sprintf("%s at %d", name, i), func(t *testing.T) {
				_, err := showWide(t, tc.code)
				hosttest.MustFault(t, err, abi.ExportSample, plugin.CauseAnswer, tc.detail)
			})
		}
		if v, err := showWide(t, pokeF(logit, banned)); err != nil || v.N != 255 || slices.Contains(v.ID, int32(i)) {
			t.Errorf("%d banned: %d left, %v", i, v.N, err)
		}
		if v, err := showWide(t, poke(id, 299)); err != nil || v.N != 256 || v.ID[i] != 299 {
			t.Errorf("%d replaced: %d left, %v", i, v.N, err)
		}
	}
}
