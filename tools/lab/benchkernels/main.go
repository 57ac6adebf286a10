// SPDX-License-Identifier: MIT

// Command benchkernels compares products by Penstock's kernels with ggml's, for each type of
// weights.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/tools/lab/bench"
	"github.com/penstock/penstock/tools/section"
)

func main() {
	var s settings
	document := flag.String("document", "", "write the table into this file, between the markers of its instruction set")
	types := flag.String("types", "", "weights' types to measure, such as q4_K,q6_K; empty: all that Penstock has products for")
	flag.IntVar(&s.threads, "threads", runtime.NumCPU(), "threads of a product")
	flag.IntVar(&s.rounds, "rounds", 9, "rounds in which the kernels take turns")
	flag.IntVar(&s.width, "width", 2048, "columns of a matrix of weights; a multiple of 256")
	flag.IntVar(&s.results, "results", 2048, "rows of a matrix of weights")
	rows := flag.String("rows", "1,2,4,8,16,32,64", "rows of inputs to measure with")
	flag.Parse()
	err := json.Unmarshal([]byte("["+*rows+"]"), &s.rows)
	if err == nil {
		err = run(s, *types, *document)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchkernels:", err)
		os.Exit(1)
	}
}

func run(s settings, types, document string) error {
	instructions := native.ProductInstructions()
	if instructions == "" {
		return fmt.Errorf("this build has no products for this CPU: it needs AVX2 or NEON with dot products, and PENSTOCK_KERNELS=ON")
	}
	var all []result
	for o := native.Operation(0); o < native.Attention; o++ {
		if !(native.Kernel{Family: native.PenstockKernels, Operation: o}).Known() || types != "" && !listed(types, o.String()) {
			continue
		}
		r, err := s.measure(o)
		if err != nil {
			return fmt.Errorf("%v: %w", o, err)
		}
		fmt.Println(r)
		all = append(all, r)
	}
	text := s.markdown(instructions, all)
	if document == "" {
		fmt.Print(text)
		return nil
	}
	return section.Of("make bench-kernels", instructions).Replace(document, "\n"+text+"\n")
}

func listed(types, name string) bool {
	for t := range strings.SplitSeq(types, ",") {
		if strings.EqualFold(t, name) {
			return true
		}
	}
	return false
}

// matrices is how many matrices of weights take turns for one row, so that no cache holds them: as
// in a model, they come from memory.
const matrices = 24

// settings are what is measured.
type settings struct {
	threads, rounds, width, results int
	rows                            []int // of inputs, that is of tokens in a pass
}

// result is the times of one type of weights.
type result struct {
	operation native.Operation
	rows      []int
	families  []native.Family     // Penstock's first
	times     [][][]time.Duration // of each family, for each number of rows, in each round
}

// measure lets all families that have a kernel for products with these weights take turns.
func (s settings) measure(o native.Operation) (_ result, err error) {
	r := result{operation: o, rows: s.rows}
	var all []*native.ProductBench
	defer func() {
		for _, p := range all {
			err = errors.Join(err, p.Close())
		}
	}()
	for _, f := range []native.Family{native.PenstockKernels, native.AMXKernels, native.RepackKernels, native.PlainKernels} {
		k := native.Kernel{Family: f, Operation: o}
		if !k.Known() {
			continue
		}
		p, err := native.NewProductBench(k, s.width, s.results, matrices, s.threads)
		if err != nil {
			return r, fmt.Errorf("%v: %w", k, err)
		}
		all = append(all, p)
		r.families = append(r.families, f)
		r.times = append(r.times, make([][]time.Duration, len(s.rows)))
	}
	for i, rows := range s.rows {
		for round := range s.rounds + 1 {
			for f, p := range all {
				took, err := p.Run(rows, max(2, matrices/rows))
				if err != nil {
					return r, err
				}
				if round > 0 { // the first warms up
					r.times[f][i] = append(r.times[f][i], took)
				}
			}
		}
	}
	return r, nil
}

// quartiles are the lower quartile, the median and the upper quartile.
func quartiles(x []float64) [3]float64 {
	x = slices.Sorted(slices.Values(x))
	at := func(q int) float64 { return x[(len(x)-1)*q/4] }
	return [3]float64{at(1), at(2), at(3)}
}

// ratio is how many times as fast as another family's Penstock's kernel is, with a number of rows:
// quartiles over the rounds.
func (r result) ratio(family, rows int) [3]float64 {
	var all []float64
	for round, ours := range r.times[0][rows] {
		all = append(all, float64(r.times[family][rows][round])/float64(ours))
	}
	return quartiles(all)
}

// micros is the median of Penstock's times in microseconds, with a number of rows.
func (r result) micros(rows int) float64 {
	var all []float64
	for _, t := range r.times[0][rows] {
		all = append(all, float64(t)/1e3)
	}
	return quartiles(all)[1]
}

func (r result) String() string {
	var b strings.Builder
	for f, family := range r.families {
		for i, rows := range r.rows {
			if f == 0 {
				fmt.Fprintf(&b, "%s %d rows: %.0f µs\n", r.operation, rows, r.micros(i))
			} else {
				q := r.ratio(f, i)
				fmt.Fprintf(&b, "%s %d rows: %.2f × %s (%.2f to %.2f)\n", r.operation, rows, q[1], family, q[0], q[2])
			}
		}
	}
	return b.String()
}

// markdown is a table of the results: Penstock's times, then how many times as fast as each of
// ggml's families that is.
func (s settings) markdown(instructions string, all []result) string {
	var t strings.Builder
	fmt.Fprintf(&t, "%s, %s: matrices of %d × %d, %d thread(s), %d rounds, load %s when the run ended.\n\n", instructions,
		time.Now().UTC().Format("2006-01-02"), s.width, s.results, s.threads, s.rounds, bench.LoadAverage())
	t.WriteString("| weights | rows |")
	for _, rows := range s.rows {
		fmt.Fprintf(&t, " %d |", rows)
	}
	t.WriteString("\n|---|---|" + strings.Repeat("---|", len(s.rows)) + "\n")
	for _, r := range all {
		for f, family := range r.families {
			if f == 0 {
				fmt.Fprintf(&t, "| %s | µs |", r.operation)
			} else {
				fmt.Fprintf(&t, "| | × %s |", family)
			}
			for i := range s.rows {
				if f == 0 {
					fmt.Fprintf(&t, " %.0f |", r.micros(i))
				} else {
					q := r.ratio(f, i)
					fmt.Fprintf(&t, " **%.2f** (%.2f–%.2f) |", q[1], q[0], q[2])
				}
			}
			t.WriteString("\n")
		}
	}
	return t.String()
}
