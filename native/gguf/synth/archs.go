// SPDX-License-Identifier: MIT

package synth

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/penstock/penstock/native/gguf"
)

// archHeaders are the headers of models that llama.cpp's program test-llama-archs writes, each of
// one architecture. The program takes minutes to build, and its random weights are large, so
// `make golden` keeps the headers here, and writeArch makes weights of its own.
//
//go:embed archs/*.gguf.gz
var archHeaders embed.FS

// archDeviation is that of archs' weights. With the 0.1 of llama.cpp's own tests most of these
// models answer the same whatever stands before.
const archDeviation = 0.3

// writeArch writes a model that has the header of one that llama.cpp's program has written.
func writeArch(w io.Writer, name string, seed uint64) error {
	h, err := archHeader(name)
	if err != nil {
		return err
	}
	if err := h.Write(w); err != nil {
		return err
	}
	for i, t := range h.Tensors {
		if t.Type != gguf.F32 {
			return fmt.Errorf("%w: %s of %s has %v", ErrShape, t.Name, name, t.Type)
		}
		random := smallTensor{fill: func(x float64) float64 { return archDeviation / smallDeviation * x }}
		if strings.Contains(t.Name, "ssm_a") { // above 0 a state would grow
			random.fill = func(x float64) float64 { return -archDeviation / smallDeviation * math.Abs(x) }
		}
		if _, err := w.Write(random.data(t.Elements(), h.Alignment, rand.New(rand.NewPCG(seed, uint64(i))))); err != nil {
			return err
		}
	}
	return nil
}

func archHeader(name string) (*gguf.Header, error) {
	zipped, err := archHeaders.ReadFile("archs/" + name + ".gguf.gz")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: no small model is a %q", ErrShape, name)
	} else if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil, err
	}
	header, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	const withWeights = 1 << 40 // larger than any file with such a header
	return gguf.Read(bytes.NewReader(header), withWeights)
}
