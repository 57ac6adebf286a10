// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/penstock/penstock/native"
)

// matrices is how many matrices of weights take turns for one row, so that no cache holds them: as
// in a model, they come from memory.
const matrices = 24

// bench is what is measured.
type bench struct {
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
func (b bench) measure(o native.Operation) (_ result, err error) {
	r := result{operation: o, rows: b.rows}
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
		p, err := native.NewProductBench(k, b.width, b.results, matrices, b.threads)
		if err != nil {
			return r, fmt.Errorf("%v: %w", k, err)
		}
		all = append(all, p)
		r.families = append(r.families, f)
		r.times = append(r.times, make([][]time.Duration, len(b.rows)))
	}
	for i, rows := range b.rows {
		for round := range b.rounds + 1 {
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
