// SPDX-License-Identifier: MIT

package embedding

import (
	"fmt"
	"math"
)

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
