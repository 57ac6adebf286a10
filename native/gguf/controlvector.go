// SPDX-License-Identifier: MIT

package gguf

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// ReadControlVector reads a control vector for a model of so many layers and numbers a layer, as
// llama.cpp's cvector-generator writes it: F32 tensors direction.N for layers from 1 on. It
// returns a row of width numbers for each layer from 1 to layers-1, zero where the file has none,
// end to end.
func ReadControlVector(file io.ReaderAt, size int64, layers, width int) ([]float32, error) {
	h, err := Read(file, size)
	if err != nil {
		return nil, err
	}
	out := make([]float32, max(layers-1, 0)*width)
	found := false
	for _, t := range h.Tensors {
		number, is := strings.CutPrefix(t.Name, "direction.")
		if !is {
			continue
		}
		layer, err := strconv.Atoi(number)
		switch {
		case err != nil || layer < 1 || layer >= layers:
			return nil, fmt.Errorf("%w: its tensor %q is of none of the layers 1 to %d", ErrControlVector, t.Name, layers-1)
		case t.Type != F32 || len(t.Dims) != 1 || t.Dims[0] != uint64(width):
			return nil, fmt.Errorf("%w: its tensor %q has the shape %v of %v; the model's layers give %d numbers of F32", ErrControlVector,
				t.Name, t.Dims, t.Type, width)
		}
		raw := make([]byte, t.Size())
		if _, err := file.ReadAt(raw, h.DataOffset+int64(t.Offset)); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrTruncated, err)
		}
		row := out[(layer-1)*width:][:width]
		for i := range row {
			row[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
			if x := float64(row[i]); math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, fmt.Errorf("%w: number %d of its tensor %q is %v", ErrControlVector, i, t.Name, x)
			}
		}
		found = true
	}
	if !found {
		return nil, fmt.Errorf("%w: it has no tensors direction.N", ErrControlVector)
	}
	return out, nil
}
