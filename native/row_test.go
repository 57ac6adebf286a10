// SPDX-License-Identifier: MIT

package native

import (
	"cmp"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// sizes have whole words of a mask, parts of them, and both.
var sizes = []int{0, 1, 31, 32, 33, 64, 95, 1000, 4096, 5001}

func TestMaskRow_EqualsOneAtATime(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range sizes {
		for range 30 {
			row, mask := randomRow(rng, n+1, true)[:n], make([]uint32, (n+31)/32)
			for i := range mask {
				mask[i] = []uint32{0, math.MaxUint32, rng.Uint32(), 1 << rng.IntN(32)}[rng.IntN(4)]
			}
			want := make([]float32, n+3)
			for i := range want {
				want[i] = 77 // what stands behind the row stays
			}
			got := slices.Clone(want)
			for i, x := range row {
				if want[i] = x; mask[i/32]>>(i%32)&1 == 0 {
					want[i] = float32(math.Inf(-1))
				}
			}
			MaskRow(got, row, mask)
			for i := range want {
				if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
					t.Fatalf("%d of %d: %v, want %v", i, n, got[i], want[i])
				}
			}
		}
	}
}

func TestFirstInvalid_FindsEveryKind(t *testing.T) {
	for _, n := range sizes {
		row := make([]float32, n)
		for i := range row {
			row[i] = []float32{math.MaxFloat32, -math.MaxFloat32, float32(math.Inf(-1)), 0}[i%4]
		}
		if at := FirstInvalid(row); at != -1 {
			t.Fatalf("%d: found %d in a good row", n, at)
		}
		for at := 0; at < n; at += 1 + n/50 {
			for _, bits := range []uint32{0x7f800000, 0x7f800001, 0x7fffffff, 0xff800001, 0xffc00000, 0xffffffff} {
				bad := slices.Clone(row)
				bad[at], bad[n-1] = math.Float32frombits(bits), math.Float32frombits(bits)
				if got := FirstInvalid(bad); got != at {
					t.Fatalf("%d: %#x at %d: found %d", n, bits, at, got)
				}
			}
		}
	}
}

// BenchmarkRow is what each of these costs a plugin's token.
func BenchmarkRow(b *testing.B) {
	row, to := randomRow(rand.New(rand.NewPCG(1, 0)), 128_256, false), make([]float32, 128_256)
	mask := make([]uint32, len(row)/32)
	for i := range mask {
		mask[i] = 0x55555555
	}
	b.Run("mask", func(b *testing.B) {
		for b.Loop() {
			MaskRow(to, row, mask)
		}
	})
	b.Run("first invalid", func(b *testing.B) {
		for b.Loop() {
			FirstInvalid(row)
		}
	})
}

// randomRow makes logits of a random shape: smooth, with equals, with banned tokens, with values
// that no model should give.
func randomRow(rng *rand.Rand, n int, ties bool) []float32 {
	row := make([]float32, n)
	shape := rng.IntN(5)
	for i := range row {
		row[i] = float32(rng.NormFloat64() * 3)
		switch {
		case shape == 1 && rng.IntN(10) > 0:
			row[i] = float32(math.Inf(-1))
		case shape == 2 && ties:
			row[i] = float32(math.Round(float64(row[i])*64) / 64)
		case shape == 3 && rng.IntN(500) == 0:
			row[i] = float32(math.NaN())
		}
	}
	if shape == 4 {
		row[rng.IntN(n)] = float32(math.Inf(1))
	}
	return row
}

// rowChains are chains in llama-server's order with each sampler switched on in turn, and with the
// truncating ones in other positions.
func rowChains() map[string]SamplerOptions {
	usual := []SamplerKind{Penalties, DRY, TopNSigma, TopK, Typical, TopP, MinP, XTC, Temperature}
	with := func(f func(*SamplerOptions)) SamplerOptions {
		o := defaultSamplerOptions()
		o.Chain, o.TopK, o.TopP, o.MinP, o.Temperature = usual, 40, 0.95, 0.05, 0.8
		o.RepeatLastN, o.DryPenaltyLastN, o.DryBreakers = 64, 64, []string{"\n"}
		f(&o)
		return o
	}
	return map[string]SamplerOptions{
		"default":     with(func(*SamplerOptions) {}),
		"top_k 1":     with(func(o *SamplerOptions) { o.TopK = 1 }),
		"cold":        with(func(o *SamplerOptions) { o.Temperature = 0 }),
		"penalties":   with(func(o *SamplerOptions) { o.RepeatPenalty, o.FrequencyPenalty, o.PresencePenalty = 1.3, 0.2, 0.1 }),
		"rewards":     with(func(o *SamplerOptions) { o.RepeatPenalty, o.FrequencyPenalty = 0.8, -0.5 }),
		"dry":         with(func(o *SamplerOptions) { o.DryMultiplier = 0.8 }),
		"sigma":       with(func(o *SamplerOptions) { o.TopNSigma = 1.5 }),
		"typical":     with(func(o *SamplerOptions) { o.TypicalP = 0.7 }),
		"top_p":       with(func(o *SamplerOptions) { o.TopP = 0.5 }),
		"min_p":       with(func(o *SamplerOptions) { o.MinP = 0.3 }),
		"min_p alone": with(func(o *SamplerOptions) { o.TopK, o.TopP, o.MinP = 0, 1, 0.2 }),
		"min_p, penalties": with(func(o *SamplerOptions) {
			o.TopK, o.TopP, o.MinP, o.RepeatPenalty = 0, 1, 0.2, 1.5
		}),
		"min_keep":   with(func(o *SamplerOptions) { o.TopK, o.TopP, o.MinP, o.MinKeep = 0, 1, 0.9, 5 }),
		"xtc":        with(func(o *SamplerOptions) { o.XTCProbability, o.XTCThreshold = 0.5, 0.05 }),
		"dynatemp":   with(func(o *SamplerOptions) { o.DynatempRange = 0.5 }),
		"mirostat":   with(func(o *SamplerOptions) { o.Select, o.Chain = SelectMirostat, []SamplerKind{Penalties, Temperature} }),
		"mirostat 2": with(func(o *SamplerOptions) { o.Select, o.Chain = SelectMirostatV2, []SamplerKind{Penalties, Temperature} }),
		"adaptive":   with(func(o *SamplerOptions) { o.Select, o.AdaptiveTarget = SelectAdaptive, 0.4 }),
		"bias": with(func(o *SamplerOptions) {
			o.BiasTokens, o.BiasValues = []int32{3, 900, 41}, []float32{8, float32(math.Inf(-1)), -4}
		}),
		"top_p first": with(func(o *SamplerOptions) { o.Chain = []SamplerKind{TopP, TopK, Temperature} }),
		"nothing":     with(func(o *SamplerOptions) { o.Chain = nil }),
	}
}

// TestSampler_Sample_ShortlistEqualsWholeRow: a shortlist of candidates gives the tokens of
// llama.cpp's own chain.
func TestSampler_Sample_ShortlistEqualsWholeRow(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	for name, o := range rowChains() {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			o.Seed = 42
			short, whole := newSampler(t, m, o), newSampler(t, m, o)
			must.Do(t, whole.useWholeRows())
			for i := range 300 {
				row := randomRow(rng, m.Info().Vocabulary, false) // among equals the order is llama.cpp's sort's
				a, errA := short.Sample(row)
				b, errB := whole.Sample(row)
				if (errA == nil) != (errB == nil) || (errA == nil && a != b) {
					t.Fatalf("row %d: %d (%v), on the whole row %d (%v)", i, a, errA, b, errB)
				}
				if errA != nil {
					continue
				}
				must.Do(t, cmp.Or(short.Accept(a), whole.Accept(a)))
			}
		})
	}
}

func TestTopLogits_EqualsSorting(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		row := randomRow(rng, 1+rng.IntN(5000), true)
		ids, logits := make([]int32, 1+rng.IntN(300)), make([]float32, 300)
		n := TopLogits(row, ids, logits[:len(ids)])
		var want []int32
		for i, l := range row {
			if l > float32(math.Inf(-1)) {
				want = append(want, int32(i))
			}
		}
		slices.SortStableFunc(want, func(a, b int32) int { return cmp.Compare(row[b], row[a]) })
		want = want[:min(len(want), len(ids))]
		if !slices.Equal(ids[:n], want) {
			t.Fatalf("%d of %d: %v, want %v", len(ids), len(row), ids[:n], want)
		}
	}
}

// BenchmarkSampler_ShortWay is one token from a row over a 128,256-token vocabulary with
// llama-server's default chain.
func BenchmarkSampler_ShortWay(b *testing.B) {
	path := filepath.Join(llamaSource(b), "models", "ggml-vocab-llama-bpe.gguf")
	m := load(b, path, ModelOptions{VocabOnly: true})
	row := randomRow(rand.New(rand.NewPCG(1, 0)), m.Info().Vocabulary, false)
	for _, whole := range []bool{false, true} {
		name := map[bool]string{false: "short", true: "whole"}[whole]
		b.Run(name, func(b *testing.B) {
			s := newSampler(b, m, rowChains()["default"])
			if whole {
				must.Do(b, s.useWholeRows())
			}
			b.ReportAllocs()
			for range b.N {
				must.Get(s.Sample(row))(b)
			}
		})
	}
	for _, k := range []int{64, 256, 1024} {
		b.Run(map[int]string{64: "top 64", 256: "top 256", 1024: "top 1024"}[k], func(b *testing.B) {
			ids, logits := make([]int32, k), make([]float32, k)
			for range b.N {
				TopLogits(row, ids, logits)
			}
		})
	}
}

// distribution is Distribution step by step, in 64 bits.
func distribution(row []float32) (logSum, entropy float64) {
	highest := math.Inf(-1)
	for _, l := range row {
		if !math.IsNaN(float64(l)) {
			highest = max(highest, float64(l))
		}
	}
	sum, weighted := 0.0, 0.0
	for _, l := range row {
		if d := float64(l) - highest; !math.IsNaN(d) && !math.IsInf(d, -1) {
			sum += math.Exp(d)
			weighted += math.Exp(d) * d
		}
	}
	return highest + math.Log(sum), math.Log(sum) - weighted/sum
}

func TestDistribution_EqualsStepByStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	near := func(got float32, want float64) bool {
		return math.Abs(float64(got)-want) <= 2e-6*max(1, math.Abs(want))
	}
	for _, n := range append(sizes, 128_256) {
		for range 20 {
			row := make([]float32, n)
			spread := float32(math.Exp(rng.Float64()*8 - 3))
			for i := range row {
				switch row[i] = float32(rng.NormFloat64()) * spread; rng.IntN(40) {
				case 0:
					row[i] = float32(math.Inf(-1))
				case 1:
					row[i] = float32(math.NaN())
				}
			}
			logSum, entropy := Distribution(row)
			wantSum, wantEntropy := distribution(row)
			if math.IsInf(wantSum, -1) || math.IsNaN(wantSum) {
				if !math.IsInf(float64(logSum), -1) || entropy != 0 {
					t.Fatalf("of no token: %v, %v", logSum, entropy)
				}
				continue
			}
			if !near(logSum, wantSum) || !near(entropy, wantEntropy) {
				t.Fatalf("%d logits: %v and %v, want %v and %v", n, logSum, entropy, wantSum, wantEntropy)
			}
		}
	}
}

// What no sampler could compute with does no harm.
func TestDistribution_OfOddRows(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, row := range [][]float32{{inf, 0}, {math.MaxFloat32, -math.MaxFloat32}, {inf, inf}} {
		logSum, entropy := Distribution(row)
		if math.IsNaN(float64(logSum)) || math.IsInf(float64(logSum), 0) || math.IsNaN(float64(entropy)) {
			t.Errorf("%v: %v, %v", row, logSum, entropy)
		}
	}
}

func BenchmarkDistribution(b *testing.B) {
	row := randomRow(rand.New(rand.NewPCG(1, 2)), 128_256, false)
	b.SetBytes(int64(4 * len(row)))
	for b.Loop() {
		Distribution(row)
	}
}
