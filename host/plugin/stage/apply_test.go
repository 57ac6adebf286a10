// SPDX-License-Identifier: MIT

package stage

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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

var (
	inf = float32(math.Inf(1))
	nan = float32(math.NaN())
)

// viewed is a guest with a bound view of room for cap candidates, or for the row.
func viewed(manifest string, kind, size int, sample ...[]byte) *asm.Guest {
	g := asm.New(manifest)
	g.On(abi.ExportOpen, g.Bind(kind, hosttest.AtBuffer, size), i32(0))
	return g.On(abi.ExportSample, sample...)
}

// candidates has room for 4: ids from atBuffer, logits 16 bytes later.
func candidates(sample ...[]byte) *asm.Guest {
	return viewed(`{"name":"guest","candidates":4}`, abi.BufferCandidates, 32, append(sample, i32(-1))...)
}

const atLogit = hosttest.AtBuffer + 16

// ramp is a row in which token t has logit t, and those in banned −inf.
func ramp(without ...int) []float32 {
	row := make([]float32, 100)
	for i := range row {
		row[i] = float32(i)
	}
	for _, t := range without {
		row[t] = banned
	}
	return row
}

func raw(row []float32) *chain.View { return &chain.View{Row: row, N: -1, Chosen: -1} }

func TestStage_Apply_ShowsTheBestCandidates(t *testing.T) {
	few := ramp()
	for i := range 98 {
		few[i] = banned
	}
	for name, tc := range map[string]struct {
		view *chain.View
		ids  []int32
	}{
		"of the row":            {raw(ramp(98)), []int32{99, 97, 96, 95}},
		"of what is not banned": {raw(few), []int32{99, 98}},
		"of many candidates":    {&chain.View{ID: []int32{1, 2, 3, 4, 5}, Logit: []float32{3, 1, 5, 2, 4}, N: 5, Chosen: -1}, []int32{3, 5, 1, 4}},
		"sorted already":        {&chain.View{ID: []int32{7, 6}, Logit: []float32{2, 1}, N: 2, Chosen: -1}, []int32{7, 6}},
		"out of order":          {&chain.View{ID: []int32{6, 7, 8}, Logit: []float32{1, 2, banned}, N: 3, Chosen: -1}, []int32{7, 6}},
	} {
		t.Run(name, func(t *testing.T) {
			s := use(t, candidates(i32(hosttest.AtScratch), local(0), store), 1)
			must.Do(t, s.Apply(tc.view))
			if n := peek(s, hosttest.AtScratch); int(n) != len(tc.ids) {
				t.Errorf("the guest saw %d candidates", n)
			}
			if diff := cmp.Diff(tc.ids, tc.view.ID[:tc.view.N]); diff != "" {
				t.Error(diff)
			}
			if tc.view.Chosen != -1 {
				t.Errorf("chosen %d", tc.view.Chosen)
			}
		})
	}
}

func TestStage_Apply_TakesEdits(t *testing.T) {
	s := use(t, candidates(pokeF(atLogit, banned), pokeF(atLogit+4, 50), poke(hosttest.AtBuffer+8, 3)), 1)
	v := raw(ramp())
	must.Do(t, s.Apply(v))
	if !slices.Equal(v.ID, []int32{98, 3, 96}) || !slices.Equal(v.Logit, []float32{50, 97, 96}) || v.N != 3 {
		t.Errorf("%v %v %d", v.ID, v.Logit, v.N)
	}
}

// A plugin that keeps the first k means those it was shown: what it writes into the view does not
// count.
func TestStage_Apply_KeepsTheFirst(t *testing.T) {
	five := func() *chain.View {
		return &chain.View{ID: []int32{1, 2, 3, 4, 5}, Logit: []float32{3, 1, 5, 2, 4}, N: 5, Chosen: -1}
	}
	for name, tc := range map[string]struct {
		view   *chain.View
		keep   int
		ids    []int32
		logits []float32
	}{
		"of the row":         {raw(ramp(98)), 3, []int32{99, 97, 96}, []float32{99, 97, 96}},
		"of many candidates": {five(), 2, []int32{3, 5}, []float32{5, 4}},
		"all of them":        {five(), 4, []int32{3, 5, 1, 4}, []float32{5, 4, 3, 2}},
		"sorted already":     {&chain.View{ID: []int32{7, 6, 5}, Logit: []float32{2, 1, 0}, N: 3, Chosen: -1}, 1, []int32{7}, []float32{2}},
	} {
		t.Run(name, func(t *testing.T) {
			s := use(t, candidates(poke(hosttest.AtBuffer, -1), pokeF(atLogit, nan), pokeF(atLogit+4, banned), i32(-1-tc.keep), ret), 1)
			must.Do(t, s.Apply(tc.view))
			v := tc.view
			if v.N != tc.keep || v.Chosen != -1 || !slices.Equal(v.ID, tc.ids) || !slices.Equal(v.Logit, tc.logits) {
				t.Errorf("%v %v, %d, chosen %d", v.ID, v.Logit, v.N, v.Chosen)
			}
		})
	}
}

func TestStage_Apply_KeepsOnlyCandidates(t *testing.T) {
	for view, kind := range map[string]int{"logits": abi.BufferLogits, "none": abi.BufferText} {
		s := use(t, viewed(`{"name":"guest","view":"`+view+`"}`, kind, 400, i32(-2)), 1)
		hosttest.MustFault(t, s.Apply(raw(ramp())), abi.ExportSample, plugin.CauseAnswer, "-2, it must be −1 or a token below 100")
	}
}

func TestStage_Apply_TakesAChoice(t *testing.T) {
	g := viewed(`{"name":"guest"}`, abi.BufferCandidates, 32, i32(42))
	s := use(t, g, 1)
	v := raw(ramp())
	if err := s.Apply(v); err != nil || v.Chosen != 42 || v.N != -1 {
		t.Errorf("chosen %d, %d left, %v", v.Chosen, v.N, err)
	}
}

func TestStage_Apply_NothingLeft(t *testing.T) {
	s := use(t, candidates(), 1)
	if err := s.Apply(&chain.View{N: 0, Chosen: -1}); err == nil {
		t.Error("no error")
	}
}

func TestStage_Apply_Faults(t *testing.T) {
	for name, tc := range map[string]struct {
		code   []byte
		cause  error
		detail string
	}{
		"id too large":     {poke(hosttest.AtBuffer, 100), plugin.CauseAnswer, "token 100 with logit 99: not in the vocabulary"},
		"id negative":      {poke(hosttest.AtBuffer, -1), plugin.CauseAnswer, "not in the vocabulary"},
		"id twice":         {poke(hosttest.AtBuffer+4, 99), plugin.CauseAnswer, "twice"},
		"NaN":              {pokeF(atLogit+4, nan), plugin.CauseAnswer, "candidate 1 of 4"},
		"infinite":         {pokeF(atLogit, inf), plugin.CauseAnswer, "+Inf"},
		"nothing left":     {slices.Concat(pokeF(atLogit, banned), pokeF(atLogit+4, banned), pokeF(atLogit+8, banned), pokeF(atLogit+12, banned)), plugin.CauseAnswer, "no candidate"},
		"token too large":  {slices.Concat(i32(100), ret), plugin.CauseAnswer, "100, it must be"},
		"keeps too many":   {slices.Concat(i32(-6), ret), plugin.CauseAnswer, "-6 keeps 5 of 4 candidates"},
		"least number":     {slices.Concat(i32(math.MinInt32), ret), plugin.CauseAnswer, "no bias buffer"},
		"trap":             {unreachable, plugin.CauseTrap, "unreachable"},
		"endless":          {forever, plugin.CauseFuel, "fuel"},
		"out of bounds":    {slices.Concat(i32(-4), load32, drop), plugin.CauseTrap, "out of bounds memory access"},
		"division by zero": {slices.Concat(i32(1), i32(0), asm.Divide, drop), plugin.CauseTrap, "integer divide by zero"},
		"recursion":        {slices.Concat(local(0), asm.CallFunction(5), drop), plugin.CauseStack, "stack"},
	} {
		t.Run(name, func(t *testing.T) {
			s := use(t, candidates(tc.code), 1)
			v := raw(ramp())
			hosttest.MustFault(t, s.Apply(v), abi.ExportSample, tc.cause, tc.detail)
			if v.N != -1 || v.Chosen != -1 {
				t.Error("a fault changed the view")
			}
			if s.instance != nil {
				t.Error("a faulted instance is kept")
			}
		})
	}
}

func TestStage_Apply_SkipsAfterAFault(t *testing.T) {
	m := hosttest.Load(t, hosttest.Open(t, load.New), candidates(unreachable))
	s := useOf(t, m, plugin.RequestInfo{Skip: true}, 1)
	for range 3 {
		v := raw(ramp())
		if err := s.Apply(v); err != nil || v.N != -1 {
			t.Fatalf("%d, %v", v.N, err)
		}
		must.Get(s.Accept(5))(t)
	}
	if h := m.Health(); h.Faults != 1 {
		t.Errorf("%d faults", h.Faults)
	}
}

func TestStage_Apply_NoView(t *testing.T) {
	g := asm.New(`{"name":"guest","view":"none"}`)
	g.On(abi.ExportSample, i32(hosttest.AtScratch), local(0), i32(1), add, store, i32(-1))
	s := use(t, g, 1)
	v := raw(ramp())
	if err := s.Apply(v); err != nil || v.N != -1 || peek(s, hosttest.AtScratch) != 1 {
		t.Errorf("%d left, n %d, %v", v.N, peek(s, hosttest.AtScratch)-1, err)
	}
}

func TestStage_Buffers_SurviveGrowth(t *testing.T) {
	s := use(t, candidates(i32(100), grow, drop, poke(hosttest.AtBuffer, 3)), 1)
	v := raw(ramp())
	if err := s.Apply(v); err != nil || v.ID[0] != 3 {
		t.Errorf("%v, %v", v.ID, err)
	}
}

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

func wholeRow(sample ...[]byte) *asm.Guest {
	return viewed(`{"name":"guest","view":"logits"}`, abi.BufferLogits, 400, append(sample, i32(-1))...)
}

func TestStage_Apply_WholeRow(t *testing.T) {
	s := use(t, wholeRow(pokeF(hosttest.AtBuffer+4*7, 1000)), 1)
	row := ramp(3)
	v := raw(row)
	must.Do(t, s.Apply(v))
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
	must.Do(t, s.Apply(v))
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
