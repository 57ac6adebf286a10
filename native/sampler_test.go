// SPDX-License-Identifier: MIT

package native

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/must"
)

var (
	nan = float32(math.NaN())
	inf = float32(math.Inf(1))
)

var allKinds = []SamplerKind{Penalties, DRY, TopNSigma, TopK, Typical, TopP, MinP, XTC, Temperature, Infill}

// numbers are the float parameters by name.
var numbers = map[string]func(o *SamplerOptions) *float32{
	"temperature":       func(o *SamplerOptions) *float32 { return &o.Temperature },
	"dynatemp_range":    func(o *SamplerOptions) *float32 { return &o.DynatempRange },
	"dynatemp_exponent": func(o *SamplerOptions) *float32 { return &o.DynatempExponent },
	"top_p":             func(o *SamplerOptions) *float32 { return &o.TopP },
	"min_p":             func(o *SamplerOptions) *float32 { return &o.MinP },
	"typical_p":         func(o *SamplerOptions) *float32 { return &o.TypicalP },
	"top_n_sigma":       func(o *SamplerOptions) *float32 { return &o.TopNSigma },
	"xtc_probability":   func(o *SamplerOptions) *float32 { return &o.XTCProbability },
	"xtc_threshold":     func(o *SamplerOptions) *float32 { return &o.XTCThreshold },
	"repeat_penalty":    func(o *SamplerOptions) *float32 { return &o.RepeatPenalty },
	"frequency_penalty": func(o *SamplerOptions) *float32 { return &o.FrequencyPenalty },
	"presence_penalty":  func(o *SamplerOptions) *float32 { return &o.PresencePenalty },
	"dry_multiplier":    func(o *SamplerOptions) *float32 { return &o.DryMultiplier },
	"dry_base":          func(o *SamplerOptions) *float32 { return &o.DryBase },
	"mirostat_tau":      func(o *SamplerOptions) *float32 { return &o.MirostatTau },
	"mirostat_eta":      func(o *SamplerOptions) *float32 { return &o.MirostatEta },
	"adaptive_target":   func(o *SamplerOptions) *float32 { return &o.AdaptiveTarget },
	"adaptive_decay":    func(o *SamplerOptions) *float32 { return &o.AdaptiveDecay },
}

func TestNewSampler_AbsurdParameters(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	for name, field := range numbers {
		for _, v := range []float32{nan, inf, -inf, 1e30, -1e30} {
			o := defaultSamplerOptions()
			o.Chain = allKinds
			o.TopK = 40
			*field(&o) = v
			_, err := NewSampler(m, o)
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s = %v: got %v, want ErrInvalid that names it", name, v, err)
			}
		}
	}
	for name, change := range map[string]func(o *SamplerOptions){
		"negative min_keep":   func(o *SamplerOptions) { o.MinKeep = -1 },
		"huge repeat_last_n":  func(o *SamplerOptions) { o.RepeatLastN = math.MaxInt32 },
		"negative last_n":     func(o *SamplerOptions) { o.RepeatLastN = -1 },
		"huge dry_last_n":     func(o *SamplerOptions) { o.DryPenaltyLastN = math.MaxInt },
		"negative dry length": func(o *SamplerOptions) { o.DryAllowedLength = -5 },
		"unknown kind":        func(o *SamplerOptions) { o.Chain = []SamplerKind{99} },
		"negative kind":       func(o *SamplerOptions) { o.Chain = []SamplerKind{-1} },
		"unknown selector":    func(o *SamplerOptions) { o.Select = 99 },
		"long chain":          func(o *SamplerOptions) { o.Chain = slices.Repeat([]SamplerKind{TopK}, 100) },
		"infill alone":        func(o *SamplerOptions) { o.Chain = []SamplerKind{Infill} },
		"bias of no token":    func(o *SamplerOptions) { o.BiasTokens, o.BiasValues = []int32{1536}, []float32{1} },
		"bias of token -1":    func(o *SamplerOptions) { o.BiasTokens, o.BiasValues = []int32{-1}, []float32{1} },
		"bias NaN":            func(o *SamplerOptions) { o.BiasTokens, o.BiasValues = []int32{1}, []float32{nan} },
		"bias +Inf":           func(o *SamplerOptions) { o.BiasTokens, o.BiasValues = []int32{1}, []float32{inf} },
		"bias ragged":         func(o *SamplerOptions) { o.BiasTokens = []int32{1} },
		"empty breaker":       func(o *SamplerOptions) { o.DryBreakers = []string{""} },
		"breaker with zero":   func(o *SamplerOptions) { o.DryBreakers = []string{"a\x00b"} },
		"many breakers": func(o *SamplerOptions) {
			o.Chain, o.DryBreakers = []SamplerKind{DRY}, slices.Repeat([]string{"x"}, 100)
		},
	} {
		o := defaultSamplerOptions()
		change(&o)
		if _, err := NewSampler(m, o); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
}

func row(seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]float32, 1536)
	for i := range out {
		out[i] = float32(r.NormFloat64() * 3)
	}
	return out
}

// Any chain of accepted parameters chooses a token or gives an error, whatever the row.
func TestSampler_Sample_RandomChainsAndRows(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	r := rand.New(rand.NewPCG(7, 7))
	rows := map[string][]float32{"plain": row(1), "flat": make([]float32, 1536)}
	for name, v := range map[string]float32{"NaN": nan, "+Inf": inf, "-Inf": -inf, "huge": math.MaxFloat32, "tiny": -math.MaxFloat32} {
		all, some := make([]float32, 1536), row(2)
		for i := range all {
			all[i] = v
			if i%7 == 0 {
				some[i] = v
			}
		}
		rows["all "+name], rows["some "+name] = all, some
	}
	drawn := 0
	for range 300 {
		o := randomOptions(r)
		s, err := NewSampler(m, o)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("%+v: %v", o, err)
			}
			continue
		}
		for name, row := range rows {
			token, err := s.Sample(row)
			switch {
			case err == nil && (token < 0 || token >= 1536):
				t.Fatalf("%+v, row %s: drew %d", o, name, token)
			case err == nil:
				drawn++
				if err := s.Accept(token); err != nil {
					t.Fatalf("%+v, row %s: accept %d: %v", o, name, token, err)
				}
			case !errors.Is(err, ErrFailed):
				t.Fatalf("%+v, row %s: %v", o, name, err)
			}
		}
		closing(t, s)
	}
	if drawn < 300 {
		t.Errorf("only %d tokens were drawn: the test tests little", drawn)
	}
}

func randomOptions(r *rand.Rand) SamplerOptions {
	o := defaultSamplerOptions()
	for range r.IntN(8) {
		o.Chain = append(o.Chain, allKinds[r.IntN(len(allKinds))])
	}
	o.Select = Selector(1 + r.IntN(5))
	o.TopK, o.MinKeep = r.IntN(3000)-100, r.IntN(3)
	o.RepeatLastN, o.DryPenaltyLastN, o.DryAllowedLength = r.IntN(100), r.IntN(100), r.IntN(4)
	o.DryBreakers = []string{"\n", "frog"}
	for _, field := range numbers {
		if r.IntN(3) == 0 {
			*field(&o) = []float32{0, 1e-30, 1e-6, 0.01, 0.5, 0.99, 1, 2, 100}[r.IntN(9)]
		}
	}
	return o
}

func TestSampler_Sample_WrongRow(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	s := newSampler(t, m, defaultSamplerOptions())
	for _, n := range []int{0, 1, 1535, 1537} {
		if _, err := s.Sample(make([]float32, n)); !errors.Is(err, ErrInvalid) {
			t.Errorf("a row of %d: got %v, want ErrInvalid", n, err)
		}
	}
	for _, token := range []int32{-1, 1536, math.MaxInt32, math.MinInt32} {
		if err := s.Accept(token); !errors.Is(err, ErrInvalid) {
			t.Errorf("accept %d: got %v, want ErrInvalid", token, err)
		}
		if err := s.Rewind([]int32{1, token}, 0); !errors.Is(err, ErrInvalid) {
			t.Errorf("rewind to %d: got %v, want ErrInvalid", token, err)
		}
	}
}

func TestSampler_Sample_SeedsAreReproducible(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	draw := func(seed uint32) []int32 {
		o := defaultSamplerOptions()
		o.Seed = seed
		s := newSampler(t, m, o)
		var out []int32
		for range 30 {
			token := must.Get(s.Sample(row(3)))(t)
			out = append(out, token)
		}
		return out
	}
	for _, seed := range []uint32{0, 1, 42, math.MaxUint32} {
		if !slices.Equal(draw(seed), draw(seed)) {
			t.Errorf("seed %d drew differently the second time", seed)
		}
	}
	if slices.Equal(draw(1), draw(2)) {
		t.Error("seeds 1 and 2 draw the same")
	}
}

func TestSampler_Sample_BiasAndGreedy(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	r := row(4)
	best := int32(argmax(r))
	o := greedy()
	s := newSampler(t, m, o)
	if got, err := s.Sample(r); err != nil || got != best {
		t.Errorf("greedy drew %d (%v), want %d", got, err, best)
	}
	o.BiasTokens, o.BiasValues = []int32{best, 77}, []float32{-inf, 1000}
	if got, err := newSampler(t, m, o).Sample(r); err != nil || got != 77 {
		t.Errorf("with a bias of 1000 on token 77 drew %d (%v)", got, err)
	}
	cold := defaultSamplerOptions()
	cold.Chain, cold.Temperature = []SamplerKind{Temperature}, 1e-9
	if got, err := newSampler(t, m, cold).Sample(r); err != nil || got != best {
		t.Errorf("a temperature of nearly 0 drew %d (%v), want %d", got, err, best)
	}
}

func TestSampler_Rewind_ForgetsPenalties(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	o := greedy()
	o.Chain, o.RepeatLastN, o.PresencePenalty = []SamplerKind{Penalties}, 64, 900
	s := newSampler(t, m, o)
	r := row(5)
	first := must.Get(s.Sample(r))(t)
	must.Do(t, s.Accept(first))
	second, err := s.Sample(r)
	if err != nil || second == first {
		t.Errorf("a penalised token was drawn again (%d, %v)", second, err)
	}
	must.Do(t, s.Rewind(nil, 0))
	if again, err := s.Sample(r); err != nil || again != first {
		t.Errorf("after rewinding drew %d (%v), want %d", again, err, first)
	}
	must.Do(t, s.Rewind([]int32{9, first}, 2))
	if got, err := s.Sample(r); err != nil || got != second {
		t.Errorf("with %d in the prompt drew %d (%v), want %d", first, got, err, second)
	}
}

// A chain cut into two gives the same token as the whole.
func TestSampler_Apply_TwoLinksEqualOne(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	o := defaultSamplerOptions()
	o.TopK, o.TopP, o.MinP, o.Temperature, o.Seed = 40, 0.95, 0.05, 0.8, 11
	whole := o
	whole.Chain = []SamplerKind{TopK, TopP, MinP, Temperature}
	head, tail := o, o
	head.Chain, head.Select = whole.Chain[:2], SelectNone
	tail.Chain = whole.Chain[2:]
	one, first, last := newSampler(t, m, whole), newSampler(t, m, head), newSampler(t, m, tail)
	for seed := range uint64(20) {
		want := must.Get(one.Sample(row(seed)))(t)
		v := Candidates{Row: row(seed), N: -1, Chosen: -1}
		must.Do(t, first.Apply(&v))
		if v.N < 1 || v.N > 40 || v.Chosen != -1 {
			t.Fatalf("the first link left %d candidates and chose %d", v.N, v.Chosen)
		}
		must.Do(t, last.Apply(&v))
		if v.Chosen != want {
			t.Errorf("row %d: two links drew %d, one drew %d", seed, v.Chosen, want)
		}
	}
}

// A chain that narrows the row at once need not see it again.
func TestSampler_TakeRow_EqualsSeeingIt(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	for name, kinds := range map[string][]SamplerKind{"top-k": {Penalties, TopK, TopP, Temperature}, "min-p": {MinP, Temperature}} {
		for _, selects := range []Selector{SelectNone, SelectDist} {
			o := defaultSamplerOptions()
			o.Chain, o.Select, o.TopK, o.TopP, o.MinP, o.Seed = kinds, selects, 40, 0.95, 0.05, 11
			takes, sees := newSampler(t, m, o), newSampler(t, m, o)
			for seed := range uint64(20) {
				lent, got, want := row(seed), Candidates{N: -1, Chosen: -1}, Candidates{Row: row(seed), N: -1, Chosen: -1}
				if taken, err := takes.TakeRow(lent); err != nil || !taken {
					t.Fatalf("%s: taken: %v, %v", name, taken, err)
				}
				clear(lent) // the next pass writes to it
				must.Do(t, errors.Join(takes.Apply(&got), sees.Apply(&want)))
				want.Row = nil
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%s, row %d: %s", name, seed, diff)
				}
			}
		}
	}
}

func TestSampler_TakeRow_NotWhereAllOfItCounts(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	o := defaultSamplerOptions()
	o.Chain, o.TopK, o.Temperature = []SamplerKind{Temperature, TopK}, 40, 0.8
	s := newSampler(t, m, o)
	if taken, err := s.TakeRow(row(1)); err != nil || taken {
		t.Errorf("taken: %v, %v", taken, err)
	}
	o.Chain = []SamplerKind{TopK}
	s = newSampler(t, m, o)
	if taken, err := s.TakeRow(row(1)[:5]); err != nil || taken {
		t.Errorf("of another vocabulary: taken: %v, %v", taken, err)
	}
	if err := s.Apply(&Candidates{N: -1}); !errors.Is(err, ErrInvalid) {
		t.Errorf("without a row: got %v, want ErrInvalid", err)
	}
	if taken, err := s.TakeRow(row(1)); err != nil || !taken {
		t.Errorf("taken: %v, %v", taken, err)
	}
	must.Get(s.Sample(row(2)))(t)
	if err := s.Apply(&Candidates{N: -1}); !errors.Is(err, ErrInvalid) {
		t.Errorf("the row of an earlier token: got %v, want ErrInvalid", err)
	}
}

func TestSampler_Apply_WritesBackTheRow(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	o := defaultSamplerOptions()
	o.Select, o.BiasTokens, o.BiasValues = SelectNone, []int32{3}, []float32{5}
	s := newSampler(t, m, o)
	v := Candidates{Row: row(6), N: -1}
	must.Do(t, s.Apply(&v))
	if got, want := v.Row[3], row(6)[3]+5; v.N != -1 || got != want {
		t.Errorf("token 3 has %v with N %d, want %v in the row", got, v.N, want)
	}
	for name, bad := range map[string]Candidates{
		"token outside": {Row: row(6), ID: []int32{1536}, Logit: []float32{1}, N: 1},
		"negative":      {Row: row(6), ID: []int32{-1}, Logit: []float32{1}, N: 1},
		"short":         {Row: row(6), ID: []int32{1}, N: 2},
		"short row":     {Row: row(6)[:5], N: -1},
	} {
		if err := s.Apply(&bad); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
	none := Candidates{Row: row(6), ID: []int32{}, Logit: []float32{}, N: 0}
	if err := s.Apply(&none); !errors.Is(err, ErrFailed) {
		t.Errorf("no candidates: got %v, want ErrFailed", err)
	}
}

func TestSampler_Sample_NoAllocation(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	s := newSampler(t, m, greedy())
	r := row(8)
	if got := testing.AllocsPerRun(50, func() { _, _ = s.Sample(r); _ = s.Accept(5) }); got > 0 {
		t.Errorf("%v allocations a token", got)
	}
}

// Each number reaches C in a field of its own, and the floats are among those that
// TestNewSampler_AbsurdParameters tries.
func TestSamplerNumbers_ReachC(t *testing.T) {
	var o SamplerOptions
	all, floats := reflect.ValueOf(&o.SamplerNumbers).Elem(), 0
	for i := range all.NumField() {
		if f := all.Field(i); f.CanFloat() {
			f.SetFloat(float64(i + 1))
			floats++
		} else {
			f.SetInt(int64(i + 1))
		}
	}
	if floats != len(numbers) {
		t.Errorf("%d numbers are floats; the test of absurd ones has %d", floats, len(numbers))
	}
	c, reached := reflect.ValueOf(o.params()), map[float64]bool{}
	for _, f := range c.Fields() {
		switch {
		case f.CanFloat():
			reached[f.Float()] = true
		case f.CanInt():
			reached[float64(f.Int())] = true
		}
	}
	for i := range all.NumField() {
		if !reached[float64(i+1)] {
			t.Errorf("%s does not reach C", all.Type().Field(i).Name)
		}
	}
}
