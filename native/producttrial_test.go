// SPDX-License-Identifier: MIT

package native

import (
	"fmt"
	"slices"
	"testing"
	"time"
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
			trial, err := NewProductTrial(p)
			if err != nil {
				t.Fatal(err)
			}
			defer trial.Close()
			trials[i] = trial
		}
		want, err := trials[0].Compute()
		if err != nil {
			t.Fatal(err)
		}
		for i, from := range trials {
			to := trials[1-i]
			for _, part := range [][2]int{{0, 1}, {1, 777}, {4242, 3333}} {
				if err := from.copyWeights(to, part[0], part[1]); err != nil {
					t.Fatal(err)
				}
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
						trial, err := NewProductTrial(p)
						if err != nil {
							b.Fatal(err)
						}
						defer trial.Close()
						best := time.Hour // on a machine with other work too, this says more than the mean
						for b.Loop() {
							start := time.Now()
							if _, err := trial.Compute(); err != nil {
								b.Fatal(err)
							}
							best = min(best, time.Since(start))
						}
						b.ReportMetric(float64(best.Nanoseconds())/1000, "best-µs")
					})
				}
			}
		}
	}
}
