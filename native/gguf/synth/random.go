// SPDX-License-Identifier: MIT

package synth

import (
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/penstock/penstock/native/gguf"
)

const (
	deviation = 0.02    // of the weights, as models are initialised
	chunkLen  = 1 << 20 // weights made at a time by one goroutine; a multiple of blockLen
)

// writeTensor writes one tensor's data and its padding: ones for a norm, normally distributed
// numbers for a matrix. The chunks of a matrix are made in parallel, each from its own seed, and
// written in order.
func writeTensor(w io.Writer, t gguf.Tensor, align, seed, index uint64) error {
	padding := make([]byte, -t.Size()&(align-1))
	if len(t.Dims) == 1 { // a norm
		_, err := w.Write(append(ones(t.Elements()), padding...))
		return err
	}
	workers := uint64(runtime.GOMAXPROCS(0))
	buffers := make([][]byte, workers)
	chunks := (t.Elements() + chunkLen - 1) / chunkLen
	for first := uint64(0); first < chunks; first += workers {
		batch := min(workers, chunks-first)
		var wait sync.WaitGroup
		for i := range batch {
			wait.Go(func() {
				chunk := first + i
				n := min(chunkLen, t.Elements()-chunk*chunkLen)
				buffers[i] = encode(buffers[i][:0], t.Type, normal(n, seed, index<<32|chunk))
			})
		}
		wait.Wait()
		for _, b := range buffers[:batch] {
			if _, err := w.Write(b); err != nil {
				return err
			}
		}
	}
	_, err := w.Write(padding)
	return err
}

// normal makes n random weights.
func normal(n, seed, stream uint64) []float32 {
	random := rand.New(rand.NewPCG(seed, stream))
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(random.NormFloat64() * deviation)
	}
	return out
}

func ones(n uint64) []byte {
	out := make([]byte, 0, 4*n)
	for range n {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(1))
	}
	return out
}
