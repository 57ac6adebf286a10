// SPDX-License-Identifier: MIT

package embedding

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Pooling is how the vectors of a text's tokens become one.
type Pooling string

// The kinds of pooling, by llama.cpp's names.
const (
	PoolingNone Pooling = "none" // each token keeps its own
	PoolingMean Pooling = "mean"
	PoolingCLS  Pooling = "cls"  // that of the first token
	PoolingLast Pooling = "last" // that of the last token
	PoolingRank Pooling = "rank" // a classifier's scores, of which a backend gives only one vector
)

var poolings = []Pooling{PoolingNone, PoolingMean, PoolingCLS, PoolingLast, PoolingRank}

func (p Pooling) check() error {
	if slices.Contains(poolings, p) {
		return nil
	}
	var names []string
	for _, p := range poolings {
		names = append(names, string(p))
	}
	return fmt.Errorf("%w: pooling is %q; it must be one of %s", ErrInvalid, string(p), strings.Join(names, ", "))
}

// pool gathers the vectors of one text's tokens.
type pool struct {
	kind  Pooling
	width int
	n     int
	sum   []float64 // of a mean
	kept  [][]float32

	row  func([]float32) // is told of the vector of each token; nil: they are kept
	told *int            // tokens that it was told of, perhaps by a pass that failed
}

// add takes the vector of the next token.
func (p *pool) add(v []float32) {
	p.n++
	switch {
	case p.kind == PoolingMean:
		if p.sum == nil {
			p.sum = make([]float64, len(v))
		}
		for i, x := range v {
			p.sum[i] += float64(x)
		}
	case p.row != nil:
		if p.n > *p.told {
			*p.told = p.n
			p.row(slices.Clone(v))
		}
	case p.kind == PoolingNone || len(p.kept) == 0:
		p.kept = append(p.kept, slices.Clone(v))
	case p.kind == PoolingLast:
		copy(p.kept[0], v)
	}
}

// vectors are the result, normalised where they were pooled.
func (p *pool) vectors(normalize int) [][]float32 {
	if p.kind == PoolingMean && p.n > 0 {
		mean := make([]float32, len(p.sum))
		for i, x := range p.sum {
			mean[i] = float32(x / float64(p.n))
		}
		p.kept = [][]float32{mean}
	}
	if p.kind != PoolingNone && p.kind != PoolingRank {
		for _, v := range p.kept {
			Normalize(v, normalize)
		}
	}
	return p.kept
}

// Ways to normalise, as llama.cpp numbers them. Any other positive number p divides by the p-norm.
const (
	NormalizeNone      = -1
	NormalizeInt16     = 0 // the largest number becomes 32760 or -32760
	NormalizeEuclidean = 2
)

// maxNorm keeps the powers of a p-norm within float64.
const maxNorm = 64

// CheckNormalize refuses numbers that name no way to normalise.
func CheckNormalize(way int) error {
	if way < NormalizeNone || way > maxNorm {
		return fmt.Errorf("%w: normalisation %d is not known; -1: none, 0: to 16-bit integers, 1: taxicab, 2: Euclidean, up to %d: p-norm",
			ErrInvalid, way, maxNorm)
	}
	return nil
}

// Normalize scales a vector in place. A vector of zeros stays as it is.
func Normalize(v []float32, way int) {
	norm := 0.0
	switch way {
	case NormalizeNone:
		return
	case NormalizeInt16:
		for _, x := range v {
			norm = max(norm, math.Abs(float64(x)))
		}
		norm /= 32760
	case NormalizeEuclidean:
		for _, x := range v {
			norm += float64(x * x)
		}
		norm = math.Sqrt(norm)
	default:
		for _, x := range v {
			norm += math.Pow(math.Abs(float64(x)), float64(way))
		}
		norm = math.Pow(norm, 1/float64(way))
	}
	if norm == 0 {
		return
	}
	scale := float32(1 / norm)
	for i := range v {
		v[i] *= scale
	}
}
