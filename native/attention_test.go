// SPDX-License-Identifier: MIT

package native

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// attentionOf computes a case by the kernels in use, and plainly if wanted.
func attentionOf(t testing.TB, a AttentionCase, plainly bool) (got, want []float32) {
	t.Helper()
	trial, err := NewAttentionTrial(a)
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	if got, err = trial.Compute(); err == nil && plainly {
		want, err = trial.ComputePlainly()
	}
	if err != nil {
		t.Fatalf("%+v: %v", a, err)
	}
	return got, want
}

// attentionCases are cases of each thing that models ask of attention, and of some together: of up
// to 200 cells, and of several chunks.
func attentionCases(t testing.TB) map[string]AttentionCase {
	f16, bf16, f32, q8, q4 := operation(t, "f16"), operation(t, "bf16"), operation(t, "f32"), operation(t, "q8_0"), operation(t, "q4_0")
	plain := AttentionCase{HeadDimK: 64, HeadDimV: 64, Heads: 6, KVHeads: 2, Cells: 1200, KType: f16, VType: f16, Threads: 2}
	with := func(change func(a *AttentionCase)) AttentionCase {
		a := plain
		change(&a)
		return a
	}
	return map[string]AttentionCase{
		"plain":                    plain,
		"few cells":                with(func(a *AttentionCase) { a.Cells = 192 }),
		"soft cap":                 with(func(a *AttentionCase) { a.SoftCap = 2 }),
		"sinks":                    with(func(a *AttentionCase) { a.Sinks = true }),
		"ALiBi":                    with(func(a *AttentionCase) { a.MaxBias = 8 }),
		"ALiBi, 12 heads":          with(func(a *AttentionCase) { a.MaxBias, a.Heads = 8, 12 }),
		"window":                   with(func(a *AttentionCase) { a.Window = 100 }),
		"sinks, window":            with(func(a *AttentionCase) { a.Window, a.Sinks = 100, true }),
		"all":                      with(func(a *AttentionCase) { a.Window, a.Sinks, a.SoftCap, a.MaxBias = 300, true, 2, 4 }),
		"BF16":                     with(func(a *AttentionCase) { a.KType, a.VType = bf16, bf16 }),
		"F32":                      with(func(a *AttentionCase) { a.KType, a.VType = f32, f32 }),
		"Q8_0 keys":                with(func(a *AttentionCase) { a.KType = q8 }),
		"Q8_0 values, 96":          with(func(a *AttentionCase) { a.VType, a.HeadDimK, a.HeadDimV = q8, 96, 96 }),
		"Q4_0 values":              with(func(a *AttentionCase) { a.VType = q4 }),
		"Q8_0":                     with(func(a *AttentionCase) { a.KType, a.VType = q8, q8 }),
		"Q4_0":                     with(func(a *AttentionCase) { a.KType, a.VType = q4, q4 }),
		"Q4_0, all":                with(func(a *AttentionCase) { a.KType, a.VType, a.Sinks, a.SoftCap, a.MaxBias = q4, q4, true, 2, 4 }),
		"Q8_0, window":             with(func(a *AttentionCase) { a.KType, a.VType, a.Window = q8, q8, 300 }),
		"Q8_0, 96, one head a key": with(func(a *AttentionCase) { a.KType, a.VType, a.HeadDimK, a.HeadDimV, a.KVHeads = q8, q8, 96, 96, 6 }),
		"Q4_0, latent (MLA)": with(func(a *AttentionCase) {
			a.KType, a.VType, a.HeadDimK, a.HeadDimV, a.KVHeads, a.Heads = q4, q4, 192, 128, 1, 16
		}),
		"Q5_1 and Q4_1":               with(func(a *AttentionCase) { a.KType, a.VType = operation(t, "q5_1"), operation(t, "q4_1") }),
		"IQ4_NL and Q5_0":             with(func(a *AttentionCase) { a.KType, a.VType = operation(t, "iq4_nl"), operation(t, "q5_0") }),
		"one head a key, 80":          with(func(a *AttentionCase) { a.HeadDimK, a.HeadDimV, a.KVHeads = 80, 80, 6 }),
		"72, as towers of SigLIP":     with(func(a *AttentionCase) { a.HeadDimK, a.HeadDimV, a.KVHeads = 72, 72, 6 }),
		"72, F32":                     with(func(a *AttentionCase) { a.HeadDimK, a.HeadDimV, a.KType, a.VType = 72, 72, f32, f32 }),
		"odd sizes":                   with(func(a *AttentionCase) { a.HeadDimK, a.HeadDimV = 17, 9 }),
		"256":                         with(func(a *AttentionCase) { a.HeadDimK, a.HeadDimV, a.Heads = 256, 256, 4 }),
		"latent (MLA)":                with(func(a *AttentionCase) { a.HeadDimK, a.HeadDimV, a.KVHeads, a.Heads = 192, 128, 1, 16 }),
		"latent (MLA), as in a model": with(func(a *AttentionCase) { a.HeadDimK, a.HeadDimV, a.KVHeads, a.Heads, a.Cells = 576, 512, 1, 20, 128 }),
	}
}

// allowedError is how far a result may be off: what summing in 32 bits makes of it, and where
// queries are rounded to multiply them with quantised keys, what ggml, which does so too, is off.
func allowedError(t testing.TB, a AttentionCase) float64 {
	t.Helper()
	const rounding = 2e-5
	if !strings.Contains(a.KType.String(), "q") {
		return rounding
	}
	useOwnKernels(false)
	defer useOwnKernels(true)
	a.Guard, a.Spoiled = Unguarded, false
	got, want := attentionOf(t, a, true)
	return rounding + 1.02*relative(got, want)
}

func TestAttention_AsPlainSums(t *testing.T) {
	needKernels(t)
	cases, all := attentionCases(t), []int{1, 4, 16, 64}
	at := steadytest.Rand(t).IntN(len(all))
	for i, name := range slices.Sorted(maps.Keys(cases)) {
		a, some := cases[name], all
		if !steadytest.Long() {
			some = []int{all[(at+i)%len(all)]} // each case with other rows each day
		}
		for _, rows := range some {
			t.Run(fmt.Sprintf("%s/%d", name, rows), func(t *testing.T) {
				a.Rows, a.Sequences = rows, map[int]int{1: 1, 4: 4, 16: 1, 64: 2}[rows]
				got, want := attentionOf(t, a, true)
				if AttentionKernels() != "penstock" {
					t.Fatalf("computed by %s", AttentionKernels())
				}
				if off, most := relative(got, want), allowedError(t, a); !(off < most) {
					t.Errorf("off by %.2g of the length, and may be by %.2g", off, most)
				}
			})
		}
	}
}

// The last row of a sequence has the same bits whatever else is computed, in whatever cells, by
// however many threads.
func TestAttention_SameBits(t *testing.T) {
	needKernels(t)
	cases := attentionCases(t)
	// With a window, rows lose their oldest cells, so that others begin a chunk.
	maps.DeleteFunc(cases, func(_ string, a AttentionCase) bool { return a.Window > 0 })
	for _, name := range steadytest.Some(t, slices.Sorted(maps.Keys(cases)), 8) {
		a := cases[name]
		t.Run(name, func(t *testing.T) {
			var want []float32
			for _, threads := range []int{1, 2, 3, 8} {
				for i, shape := range [][2]int{{1, 1}, {16, 1}, {2, 2}, {24, 3}, {64, 1}} {
					if threads > 1 && (i+threads)%2 == 0 && !steadytest.Long() {
						continue // some threads have these shapes, the others the rest
					}
					b := a
					b.Rows, b.Sequences, b.Threads = shape[0], shape[1], threads
					b.Cells = a.Cells * b.Sequences
					got, _ := attentionOf(t, b, false)
					row := a.Heads * a.HeadDimV
					last := b.Rows/b.Sequences - 1 // of sequence 0
					got = got[last*row : (last+1)*row]
					if want == nil {
						want = got
					} else if !slices.Equal(got, want) {
						t.Fatalf("%d threads, %d rows of %d sequences: other bits than alone", threads, b.Rows, b.Sequences)
					}
				}
			}
		})
	}
}

// Scores far apart, which no sum of weights may overflow or lose.
func TestAttention_NoNaN(t *testing.T) {
	needKernels(t)
	a := attentionCases(t)["sinks"]
	a.Rows, a.Sequences, a.SoftCap = 4, 1, 1e6
	got, want := attentionOf(t, a, true)
	for _, x := range got {
		if math.IsNaN(float64(x)) {
			t.Fatal("NaN")
		}
	}
	if off := relative(got, want); off > 0.1 { // a cap that large leaves few digits
		t.Errorf("off by %.2g of the length", off)
	}
}

// Attention alone: rows of as many sequences or of one, heads of a 135M, a 1B and an 8B shape,
// ours against ggml's. PENSTOCK_BENCH_THREADS is the number of threads.
func BenchmarkAttention(b *testing.B) {
	f16 := operation(b, "f16")
	for _, heads := range [][3]int{{9, 3, 64}, {32, 8, 64}, {32, 8, 128}, {8, 8, 128}} {
		for _, cells := range []int{512, 4096, 16384} {
			for _, shape := range [][2]int{{1, 1}, {16, 1}, {16, 16}, {64, 1}} { // rows, sequences
				if shape[1] > 1 && cells > 4096 {
					continue
				}
				a := AttentionCase{
					HeadDimK: heads[2], HeadDimV: heads[2], Heads: heads[0], KVHeads: heads[1], Rows: shape[0], Sequences: shape[1],
					Cells: cells * shape[1], KType: f16, VType: f16,
				}
				benchAttention(b, fmt.Sprintf("heads=%dx%d/dim=%d/cells=%d/rows=%d/sequences=%d", heads[0], heads[1], heads[2], cells, shape[0], shape[1]), a)
			}
		}
	}
}

// Attention in long conversations, with keys and values of the types that one would choose there: a
// token, and a chunk of a prompt. "read" reads as many bytes and computes nothing.
func BenchmarkAttention_Long(b *testing.B) {
	for _, heads := range [][3]int{{9, 3, 64}, {32, 8, 64}, {32, 8, 128}} {
		for _, cells := range []int{16384, 65536, 131072} {
			for _, rows := range []int{1, 48} {
				for _, kind := range []string{"f16", "q8_0", "q4_0"} {
					if rows > 1 && cells > 65536 || heads[2] > 64 && cells > 65536 {
						continue // as 65,536, in twice the time
					}
					o := operation(b, kind)
					a := AttentionCase{
						HeadDimK: heads[2], HeadDimV: heads[2], Heads: heads[0], KVHeads: heads[1], Rows: rows, Sequences: 1, Cells: cells, KType: o, VType: o,
					}
					benchAttention(b, fmt.Sprintf("heads=%dx%d/dim=%d/cells=%d/rows=%d/%s", heads[0], heads[1], heads[2], cells, rows, kind), a)
				}
			}
		}
	}
}

// benchAttention times a case by ggml's kernels and ours, and the reading of its cells.
func benchAttention(b *testing.B, name string, a AttentionCase) {
	a.Threads = max(1, benchNumber("THREADS"))
	var trial *AttentionTrial // made when the first of them runs
	for _, by := range []string{"ggml", "own", "read"} {
		b.Run(name+"/"+by, func(b *testing.B) {
			useOwnKernels(by == "own")
			defer useOwnKernels(true)
			if trial == nil {
				var err error
				if trial, err = NewAttentionTrial(a); err != nil {
					b.Fatal(err)
				}
			}
			bytes, err := trial.read()
			if err != nil {
				b.Fatal(err)
			}
			best, least := time.Hour, time.Hour // on a machine with other work too, this says more than the mean
			for b.Loop() {
				start, used := time.Now(), processorTime(b)
				if by == "read" {
					_, err = trial.read()
				} else {
					_, err = trial.Compute()
				}
				if err != nil {
					b.Fatal(err)
				}
				best, least = min(best, time.Since(start)), min(least, processorTime(b)-used)
			}
			b.ReportMetric(float64(best.Nanoseconds())/1000, "best-µs")
			b.ReportMetric(float64(least.Nanoseconds())/1000, "cpu-µs")
			b.ReportMetric(float64(bytes)/float64(best.Nanoseconds()), "GB/s")
		})
	}
	if trial != nil {
		trial.Close()
	}
}

// processorTime is what all threads of this process have used.
func processorTime(b *testing.B) time.Duration {
	var now unix.Timespec
	must.Do(b, unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now))
	return time.Duration(now.Nano())
}

// No byte is touched beyond what attention reads and writes, and none is read of cells that no row
// sees: NaN there changes no bit. Cells fill no tile, no vector of the mask, or one more than a
// chunk.
func TestAttention_Guarded(t *testing.T) {
	needKernels(t)
	useOwnKernels(true)
	for name, a := range attentionCases(t) {
		t.Run(name, func(t *testing.T) {
			r := steadytest.Rand(t)
			for i, cells := range []int{1, 5, 31, 63, 65, 129, 515} {
				for j, rows := range []int{1, 3, 65} {
					if rows > cells || r.IntN(3) > 0 && !steadytest.Long() {
						continue
					}
					a.Cells, a.Rows, a.Sequences, a.Threads, a.Guard, a.Spoiled = cells, rows, 1, 1+i%3, Unguarded, false
					if rows == 3 {
						a.Cells, a.Sequences = 3*cells, 3
					}
					trial := must.Get(NewAttentionTrial(a))(t)
					defer trial.Close()
					want := computed(t, trial)
					// A quarter more: in some row of few cells ggml happens to round well.
					if off, most := relative(want, plainly(t, trial)), 1.25*allowedError(t, a); !(off < most) {
						t.Fatalf("%+v: off by %.2g of the length, and may be by %.2g", a, off, most)
					}
					a.Guard, a.Spoiled, a.Threads = []Guard{GuardBehind, GuardBefore}[(i+j)%2], true, 1+j
					if got, _ := attentionOf(t, a, false); !equalBits(got, want) {
						t.Fatalf("%+v: other bits than without NaN around", a)
					}
				}
			}
		})
	}
}

// filled is n of a number.
func filled(n int, x float32) []float32 { return slices.Repeat([]float32{x}, n) }

// Queries, keys and values of one size, at the edges of their type. All scores of a row are the
// same then, so that a result is the value.
func TestAttention_AnyNumbers(t *testing.T) {
	needKernels(t)
	useOwnKernels(true)
	f16, f32 := operation(t, "f16"), operation(t, "f32")
	for _, c := range []struct {
		name              string
		kv                Operation
		query, key, value float32
		want              float32
	}{
		{"zeros", f16, 0, 0, 0, 0},
		{"denormal values", f16, 1, 1, 0x1p-24, 0x1p-24},
		{"denormal values of 32 bits", f32, 1, 1, 1e-39, 1e-39},
		{"largest scores of 16 bits", f16, 65504, 65504, 1, 1},
		{"lowest scores of 16 bits", f16, -65504, 65504, 1, 1},
		{"scores near the end of 32 bits", f32, 1e18, 1e18, 1, 1},
		{"scores as low", f32, 1e18, -1e18, 1, 1},
		{"largest values", f16, 1, 1, 65504, 65504},
		{"values near the end of 32 bits", f32, 1, 1, 1e35, 1e35},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := AttentionCase{HeadDimK: 64, HeadDimV: 64, Heads: 6, KVHeads: 2, Rows: 5, Cells: 130, Sequences: 1, KType: c.kv, VType: c.kv, Threads: 2}
			trial := must.Get(NewAttentionTrial(a))(t)
			defer trial.Close()
			n := a.Cells * a.KVHeads * a.HeadDimK
			must.Do(t, trial.PutCells(filled(n, c.key), filled(n, c.value)))
			must.Do(t, trial.PutQueries(filled(a.Rows*a.Heads*a.HeadDimK, c.query)))
			for _, got := range computed(t, trial) {
				if !(math.Abs(float64(got)-float64(c.want)) <= 1e-5*math.Abs(float64(c.want))) {
					t.Fatalf("%g, want %g", got, c.want)
				}
			}
		})
	}
}

// A row whose query is no number touches no other.
func TestAttention_OddQueries(t *testing.T) {
	needKernels(t)
	useOwnKernels(true)
	for name, a := range attentionCases(t) {
		t.Run(name, func(t *testing.T) {
			a.Rows, a.Sequences = 5, 1
			trial := must.Get(NewAttentionTrial(a))(t)
			defer trial.Close()
			row := a.Heads * a.HeadDimK
			queries := filled(a.Rows*row, 1)
			for i := range queries {
				queries[i] = float32(i%13)/4 - 1.5
			}
			put := func() []float32 {
				must.Do(t, trial.PutQueries(queries))
				return computed(t, trial)
			}
			usual := put()
			queries[row] = float32(math.NaN())
			queries[3*row] = float32(math.Inf(1))
			got := put()
			for j, x := range got {
				if i := j / (a.Heads * a.HeadDimV); i%2 == 0 && x != usual[j] {
					t.Fatalf("row %d beside odd ones: %g, alone %g", i, x, usual[j])
				}
			}
			if x := got[a.Heads*a.HeadDimV]; x == x { //nolint:gocritic // NaN
				t.Errorf("of NaN comes %g", x)
			}
		})
	}
}
