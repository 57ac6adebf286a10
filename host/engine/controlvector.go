// SPDX-License-Identifier: MIT

package engine

import (
	"errors"
	"fmt"
	"os"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf"
)

// ControlVector is a file with what is added to the output of layers, and how strongly.
type ControlVector struct {
	Path  string
	Scale float32
}

// ControlVectors are added up and count in all passes. llama.cpp copies all numbers and plans its
// graphs anew for each other scale, so a request cannot choose one.
type ControlVectors struct {
	Vectors     []ControlVector
	First, Last int // layers from 1 on that they change; 0: the first, the last
}

// use has a context compute with the vectors, if there are any.
func (v ControlVectors) use(c *native.Context, info native.ModelInfo) error {
	if len(v.Vectors) == 0 {
		return nil
	}
	last := info.Layers - 1
	if v.First == 0 {
		v.First = 1
	}
	if v.Last == 0 {
		v.Last = last
	}
	if v.First < 1 || v.First > v.Last || v.Last > last {
		return fmt.Errorf("%w: control vectors for the layers %d to %d; the model's are 1 to %d", native.ErrInvalid, v.First, v.Last, last)
	}
	sum := make([]float32, last*info.Embedding)
	for _, vector := range v.Vectors {
		values, err := vector.read(info)
		if err != nil {
			return fmt.Errorf("control vector %s: %w", vector.Path, err)
		}
		for i, x := range values {
			sum[i] += vector.Scale * x
		}
	}
	return c.SetControlVector(sum, v.First, v.Last)
}

func (v ControlVector) read(info native.ModelInfo) (_ []float32, err error) {
	stat, err := os.Stat(v.Path) // before Open, which waits on a pipe
	if err != nil {
		return nil, err
	}
	if !stat.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: it is no regular file", native.ErrNotFound)
	}
	file, err := os.Open(v.Path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return gguf.ReadControlVector(file, stat.Size(), info.Layers, info.Embedding)
}
