// SPDX-License-Identifier: MIT

package native

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// productOf computes a case by the kernels in use, and plainly if wanted.
func productOf(t testing.TB, p ProductCase, plainly bool) (got, want []float32) {
	t.Helper()
	trial, err := NewProductTrial(p)
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close()
	if got, err = trial.Compute(); err == nil && plainly {
		want, err = trial.ComputePlainly()
	}
	if err != nil {
		t.Fatalf("%+v: %v", p, err)
	}
	return got, want
}

// ownProducts are the types of weights that Penstock's kernels know here.
func ownProducts(t testing.TB) []Operation {
	var all []Operation
	for o := range Attention {
		if (Kernel{PenstockKernels, o}).Known() {
			all = append(all, o)
		}
	}
	if len(all) == 0 {
		t.Skip("SKIPPED: Penstock has no kernels for products in this build or on this CPU")
	}
	return all
}

// A row's product has the same bits whatever other rows there are, for one matrix, and for a
// mixture of experts whoever has its experts too.
func TestProducts_SameBits(t *testing.T) {
	useOnly(t, PenstockKernels)
	for _, o := range ownProducts(t) {
		for _, experts := range []int{0, 7} {
			t.Run(fmt.Sprintf("%v/%d", o, experts), func(t *testing.T) {
				p := ProductCase{Kernel: Kernel{PenstockKernels, o}, Width: 256, Results: 88, Experts: experts, Used: min(experts, 3)}
				var want []float32
				for _, threads := range []int{1, 2, 3, 8} {
					for _, rows := range []int{1, 5, 70} {
						if rows == 5 != (threads == 3) {
							continue // not all of them with all: it takes long to quantise
						}
						p.Rows, p.Threads = rows, threads
						got, _ := productOf(t, p, false)
						got = got[:p.Results*max(1, p.Used)] // row 0
						if want == nil {
							want = got
						} else if !slices.Equal(got, want) {
							t.Fatalf("%d threads, %d rows: other bits than alone", threads, rows)
						}
					}
				}
			})
		}
	}
}

// Weights that stay as in the file give the same bits, whatever the results are a multiple of.
func TestProducts_AsInFile_SameBits(t *testing.T) {
	useOnly(t, PenstockKernels)
	for _, o := range ownProducts(t) {
		for _, results := range []int{1, 15, 16, 41} {
			for _, rows := range []int{1, 3} {
				p := ProductCase{Kernel: Kernel{PenstockKernels, o}, Width: 256, Results: results, Rows: rows, Experts: 3, Used: 2, Threads: 2}
				want, _ := productOf(t, p, false)
				p.AsInFile = true
				if got, _ := productOf(t, p, false); !slices.Equal(got, want) {
					t.Errorf("%v, %d results, %d rows: other bits than with weights laid out", o, results, rows)
				}
			}
		}
	}
}

// Parts of weights that are laid out are read and written as if they lay as in the file.
func TestProducts_CopyWeights_Parts(t *testing.T) {
	useOnly(t, PenstockKernels)
	for _, o := range ownProducts(t) {
		p := ProductCase{Kernel: Kernel{PenstockKernels, o}, Width: 512, Results: 41, Rows: 1, Experts: 2, Used: 2, Threads: 1}
		var trials [2]*ProductTrial
		for i := range trials {
			p.AsInFile = i == 1
			trial := must.Get(NewProductTrial(p))(t)
			defer trial.Close()
			trials[i] = trial
		}
		want := must.Get(trials[0].Compute())(t)
		for i, from := range trials {
			to := trials[1-i]
			for _, part := range [][2]int{{0, 1}, {1, 777}, {4242, 3333}} {
				must.Do(t, from.copyWeights(to, part[0], part[1]))
			}
			if got, err := to.Compute(); err != nil || !slices.Equal(got, want) {
				t.Errorf("%v, to weights as in the file %t: other results than before (%v)", o, i == 0, err)
			}
		}
		if err := trials[0].copyWeights(trials[1], 1<<20, 1); err == nil {
			t.Error("bytes were copied that are not there")
		}
	}
}

// Against sums in 64 bits.
func TestProducts_AsPlainSums(t *testing.T) {
	useOnly(t, PenstockKernels)
	for _, o := range ownProducts(t) {
		for _, experts := range []int{0, 7} {
			for _, rows := range []int{1, 4, 16, 64} {
				p := ProductCase{Kernel: Kernel{PenstockKernels, o}, Width: 512, Results: 40, Rows: rows, Experts: experts, Used: min(experts, 3), SharedInput: rows != 16, Threads: 2}
				got, want := productOf(t, p, true)
				if off := relative(got, want); !(off < 0.01) {
					t.Errorf("%v, %d experts, %d rows: off by %.2g of the length", o, experts, rows, off)
				}
			}
		}
	}
}

// Products alone, of one matrix and of a mixture of experts: ours against the best of ggml's.
// PENSTOCK_BENCH_THREADS is the number of threads.
func BenchmarkProduct(b *testing.B) {
	defer useOwnKernels(true)
	for _, o := range ownProducts(b) {
		for _, experts := range []int{0, 8} {
			for _, rows := range []int{1, 4, 8, 16, 64} {
				for _, own := range []bool{false, true} {
					useOwnKernels(own)
					choice := map[bool]KernelChoice{false: ChooseGGML, true: ChoosePenstock}[own]
					name := fmt.Sprintf("%v/experts=%d/rows=%d/%s", o, experts, rows, map[bool]string{false: "ggml", true: "own"}[own])
					b.Run(name, func(b *testing.B) {
						p := ProductCase{Kernel: choice.Order(o)[0], Width: 2048, Results: 2048, Rows: rows, Threads: max(1, benchNumber("THREADS"))}
						if experts > 0 {
							p.Width, p.Results, p.Experts, p.Used, p.SharedInput = 1024, 512, experts, 2, true
						}
						trial := must.Get(NewProductTrial(p))(b)
						defer trial.Close()
						best := time.Hour // on a machine with other work too, this says more than the mean
						for b.Loop() {
							start := time.Now()
							must.Get(trial.Compute())(b)
							best = min(best, time.Since(start))
						}
						b.ReportMetric(float64(best.Nanoseconds())/1000, "best-µs")
					})
				}
			}
		}
	}
}

// useOnly has a family compute whatever it can, measured to be faster or not, until the test ends.
func useOnly(t *testing.T, f Family) {
	needKernels(t)
	var set KernelSet
	set[f] = math.MaxUint64
	UseKernels(set)
	t.Cleanup(func() { useOwnKernels(true) })
}

// fileBlock is how a type of weights lies in a file.
type fileBlock struct {
	values, size int
	scales       []int // the bytes where floats of 16 bits are
	exponent     bool  // byte 0 is one
}

var fileBlocks = map[string]fileBlock{
	"q4_0": {32, 18, []int{0}, false}, "q4_1": {32, 20, []int{0, 2}, false}, "q5_0": {32, 22, []int{0}, false}, "q5_1": {32, 24, []int{0, 2}, false},
	"q8_0": {32, 34, []int{0}, false}, "iq4_nl": {32, 18, []int{0}, false}, "mxfp4": {32, 17, nil, true},
	"q4_K": {256, 144, []int{0, 2}, false}, "q5_K": {256, 176, []int{0, 2}, false}, "q6_K": {256, 210, []int{208}, false}, "iq4_xs": {256, 136, []int{0}, false},
}

func fileBlockOf(t *testing.T, o Operation) fileBlock {
	t.Helper()
	block, ok := fileBlocks[o.String()]
	if !ok {
		t.Fatalf("how %v lies in a file is not known here: add it to fileBlocks", o)
	}
	return block
}

// random is blocks of any bits, whose floats of 16 bits are some of those given.
func (b fileBlock) random(random *rand.Rand, blocks int, halves []uint16) []byte {
	all := make([]byte, blocks*b.size)
	for i := range all {
		all[i] = byte(random.IntN(256))
	}
	for i := range blocks {
		for _, at := range b.scales {
			binary.LittleEndian.PutUint16(all[i*b.size+at:], halves[random.IntN(len(halves))])
		}
		if b.exponent {
			all[i*b.size] = []byte{0, 1, 2, 100, 127, 150, 220}[random.IntN(7)]
		}
	}
	return all
}

// Floats of 16 bits: zeros, the smallest and the largest of either kind, one, a small one; and
// what is no number.
var (
	finiteHalves = []uint16{0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x7bff, 0xfbff, 0x3c00, 0xbc00, 0x1c01}
	wildHalves   = []uint16{0x7c00, 0xfc00, 0x7e00, 0xffff, 0x3c00}
)

// edgeTrial makes a case that is closed with the test.
func edgeTrial(t *testing.T, p ProductCase) *ProductTrial {
	t.Helper()
	trial, err := NewProductTrial(p)
	if err != nil {
		t.Fatalf("%+v: %v", p, err)
	}
	t.Cleanup(trial.Close)
	return trial
}

func computed(t *testing.T, trial interface{ Compute() ([]float32, error) }) []float32 {
	t.Helper()
	return must.Get(trial.Compute())(t)
}

func plainly(t *testing.T, trial interface{ ComputePlainly() ([]float32, error) }) []float32 {
	t.Helper()
	return must.Get(trial.ComputePlainly())(t)
}

// equalBits reports whether numbers are the same; any NaN is the same as any other.
func equalBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool {
		return math.Float32bits(x) == math.Float32bits(y) || x != x && y != y //nolint:gocritic // NaN
	})
}

var oddRows = []int{1, 2, 3, 5, 17, 63, 64, 65, 130}

// No byte is touched beyond weights, inputs and results, and each result is written, with any
// number of rows, of results and of threads. Whatever these are, a row's results have the same
// bits.
func TestProducts_Guarded(t *testing.T) {
	useOnly(t, PenstockKernels)
	for _, o := range ownProducts(t) {
		t.Run(o.String(), func(t *testing.T) {
			block := fileBlockOf(t, o)
			r := steadytest.Rand(t)
			for i, results := range []int{16, 17, 31, 63, 65, 129} { // registers have 4, 8 or 16 lanes, units of work 64 results
				if r.IntN(2) > 0 && !steadytest.Long() {
					continue
				}
				p := ProductCase{Kernel: Kernel{PenstockKernels, o}, Width: block.values * (1 + i%3), Results: results, Rows: slices.Max(oddRows), Threads: 1}
				trial := edgeTrial(t, p)
				want := computed(t, trial)
				if off := relative(want, plainly(t, trial)); !(off < 0.01) {
					t.Fatalf("%+v: off by %.2g of the length", p, off)
				}
				for j, rows := range oddRows {
					p.Rows, p.Threads, p.Guard, p.Spoiled = rows, 1+j%3, []Guard{GuardBehind, GuardBefore}[(i+j)%2], j%2 == 0
					p.AsInFile = j%4 >= 2
					if got := computed(t, edgeTrial(t, p)); !equalBits(got, want[:len(got)]) {
						t.Fatalf("%+v: other bits than with %d rows", p, slices.Max(oddRows))
					}
				}
			}
		})
	}
}

// So it is with a mixture of experts: with one that all rows have, and with such as nobody has.
func TestProducts_Experts_Guarded(t *testing.T) {
	useOnly(t, PenstockKernels)
	choices := map[string]func(row, i int) int32{
		"all have the last": func(int, int) int32 { return 4 },
		"few have any":      func(row, i int) int32 { return int32(1 + 2*((row+i)%2)) },
		"one has the first": func(row, i int) int32 { return int32((min(row, 1) + i) % 5) },
	}
	for _, o := range ownProducts(t) {
		t.Run(o.String(), func(t *testing.T) {
			block := fileBlockOf(t, o)
			r := steadytest.Rand(t)
			for name, choice := range choices {
				for used := 1; used <= 2 && (used == 1 || name != "all have the last"); used++ {
					for _, shared := range []bool{false, true} {
						p := ProductCase{Kernel: Kernel{PenstockKernels, o}, Width: block.values, Results: 31, Experts: 5, Used: used, SharedInput: shared}
						var want []float32
						for j, rows := range []int{130, 1, 2, 3, 17, 63, 65} { // the first says what the others are to be
							if j > 0 && r.IntN(3) > 0 && !steadytest.Long() {
								continue
							}
							p.Rows, p.Threads, p.Guard, p.Spoiled = rows, 1+j%3, Guard(j%3), j%2 == 1
							p.AsInFile = j%4 >= 2
							trial := edgeTrial(t, p)
							var experts []int32
							for i := range rows * used {
								experts = append(experts, choice(i/used, i%used))
							}
							must.Do(t, trial.PutExperts(experts))
							got := computed(t, trial)
							if want == nil {
								want = got
								if off := relative(got, plainly(t, trial)); !(off < 0.01) {
									t.Fatalf("%s: %+v: off by %.2g of the length", name, p, off)
								}
							}
							if !equalBits(got, want[:len(got)]) {
								t.Fatalf("%s: %+v: other bits than with 130 rows", name, p)
							}
						}
					}
				}
			}
		})
	}
}

// exactInputs are whole numbers times a power of two for each row, which 8 bits hold with no
// rounding.
func exactInputs(random *rand.Rand, width int, exponents []int) []float32 {
	var all []float32
	for _, e := range exponents {
		for i := range width {
			x := random.IntN(255) - 127
			if i%32 == 0 {
				x = 127 - 254*random.IntN(2)
			}
			all = append(all, float32(math.Ldexp(float64(x), e)))
		}
	}
	return all
}

func noNumber(x, _ float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }

// off tells whether a result differs from the plain one by more than the rounding of sums of 32
// bits, where the numbers of a row of weights and of one of inputs have these sizes.
func off(got, want float32, size float64) bool {
	switch {
	case noNumber(float64(want), 0):
		return !noNumber(float64(got), 0)
	case size > 1e37: // sums may be infinite on their way
		return false
	}
	return !(math.Abs(float64(got)-float64(want)) <= 1e-5*size+1e-36)
}

// sumSizes are the largest weight of each result times the sum of the inputs' magnitudes of each
// row: [row][result]. The weights are told by computing plainly with inputs that have one number
// each.
func sumSizes(t *testing.T, p ProductCase, weights []byte, inputs []float32) []float64 {
	t.Helper()
	p.Rows, p.Guard, p.Spoiled = p.Width, Unguarded, false
	unit := make([]float32, p.Width*p.Width)
	for i := range p.Width {
		unit[i*p.Width+i] = 1
	}
	trial := edgeTrial(t, p)
	must.Do(t, trial.PutWeights(weights))
	must.Do(t, trial.PutInputs(unit))
	largest := make([]float64, p.Results)
	for i, w := range plainly(t, trial) {
		largest[i%p.Results] = max(largest[i%p.Results], math.Abs(float64(w)))
	}
	var all []float64
	for row := range slices.Chunk(inputs, p.Width) {
		var sum float64
		for _, x := range row {
			sum += math.Abs(float64(x))
		}
		for _, w := range largest {
			all = append(all, w*sum)
		}
	}
	return all
}

// Weights of any bits that a file may have: with the largest and the smallest scales, and with
// scales that are no numbers.
func TestProducts_AnyWeights(t *testing.T) {
	useOnly(t, PenstockKernels)
	random := rand.New(rand.NewPCG(1, 2))
	exponents := []int{0, -3, 7, -60, 40}
	for _, o := range ownProducts(t) {
		t.Run(o.String(), func(t *testing.T) {
			block := fileBlockOf(t, o)
			for i, halves := range [][]uint16{{0x3c00, 0xb800}, finiteHalves, finiteHalves, append(wildHalves, finiteHalves...)} {
				blocks := 1 + i%2
				p := ProductCase{Kernel: Kernel{PenstockKernels, o}, Width: block.values * blocks, Results: 39, Rows: len(exponents), Threads: 2}
				weights, inputs := block.random(random, blocks*p.Results, halves), exactInputs(random, p.Width, exponents)
				trial := edgeTrial(t, p)
				must.Do(t, trial.PutWeights(weights))
				must.Do(t, trial.PutInputs(inputs))
				size := sumSizes(t, p, weights, inputs)
				got, want := computed(t, trial), plainly(t, trial)
				for j := range got {
					if off(got[j], want[j], size[j]) {
						t.Fatalf("halves %x, row %d, result %d: %g, want %g", halves, j/p.Results, j%p.Results, got[j], want[j])
					}
				}
			}
		})
	}
}

// Rows of inputs with numbers at the edges of their type, or with what is none: they do not touch
// the others.
func TestProducts_AnyInputs(t *testing.T) {
	useOnly(t, PenstockKernels)
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	odd := []struct {
		name   string
		number float32 // in an else usual row; 0: all are 0
		want   func(got, plain float64) bool
	}{
		{"zeros", 0, func(got, _ float64) bool { return got == 0 }},
		{"denormal", 1e-40, func(got, _ float64) bool { return math.Abs(got) < 1e-30 }},
		{"NaN", nan, func(got, _ float64) bool { return math.IsNaN(got) }},
		{"infinity", inf, noNumber},
		{"minus infinity", -inf, noNumber},
		{"largest", math.MaxFloat32 / 64, func(got, plain float64) bool { return math.Abs(got-plain) < 1e-3*math.Abs(plain)+100 }}, // the rest of its block is rounded away
	}
	for _, o := range ownProducts(t) {
		t.Run(o.String(), func(t *testing.T) {
			p := ProductCase{Kernel: Kernel{PenstockKernels, o}, Width: 512, Results: 33, Rows: 2*len(odd) + 1, Threads: 2}
			trial := edgeTrial(t, p)
			inputs := make([]float32, p.Rows*p.Width)
			random := rand.New(rand.NewPCG(3, 4))
			for i := range inputs {
				inputs[i] = random.Float32()*2 - 1
			}
			must.Do(t, trial.PutInputs(inputs))
			usual := computed(t, trial)
			for i, c := range odd {
				row := inputs[(2*i+1)*p.Width:][:p.Width]
				if c.number == 0 || c.name == "denormal" {
					for j := range row {
						row[j] = c.number
					}
				}
				row[77] = c.number
			}
			must.Do(t, trial.PutInputs(inputs))
			got, want := computed(t, trial), plainly(t, trial)
			for j := range got {
				row := j / p.Results
				if row%2 == 0 && got[j] != usual[j] {
					t.Fatalf("row %d beside odd ones: %g, alone %g", row, got[j], usual[j])
				}
				if c := odd[min(row/2, len(odd)-1)]; row%2 == 1 && !c.want(float64(got[j]), float64(want[j])) {
					t.Fatalf("%s: result %d is %g, in plain steps %g", c.name, j%p.Results, got[j], want[j])
				}
			}
		})
	}
}
