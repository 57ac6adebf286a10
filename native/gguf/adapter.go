// SPDX-License-Identifier: MIT

package gguf

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Adapter is what the header of a LoRA adapter says.
type Adapter struct {
	TaskName     string  // adapter.lora.task_name
	PromptPrefix string  // adapter.lora.prompt_prefix
	Invocation   []int32 // tokens from which on an activated LoRA (aLoRA) counts; none: it counts everywhere
	Rank         int     // of its first pair of matrices
	Bytes        uint64  // of its tensors
}

// The parts of an adapter's tensor names.
const (
	loraA      = ".lora_a"
	loraB      = ".lora_b"
	normSuffix = "_norm.weight" // llama.cpp ignores those
	embedding  = "token_embd.weight"
)

// CheckAdapter reads the header of a LoRA adapter of size bytes and refuses what llama.cpp
// (v0.5.0) aborts on, loading it or computing with it and model, the header of the model with the
// tensors of all its parts. Errors are those of Check, and ErrAdapter.
func CheckAdapter(file io.ReaderAt, size int64, model *Header) (Adapter, error) {
	h, err := Read(file, size)
	if err != nil {
		return Adapter{}, err
	}
	a := Adapter{Bytes: h.TensorBytes()}
	if err := h.checkAdapterKeys(&a, model); err != nil {
		return Adapter{}, err
	}
	return a, h.checkPairs(&a, model)
}

func (h *Header) checkAdapterKeys(a *Adapter, model *Header) error {
	for _, want := range []struct{ key, value string }{
		{"general.type", "adapter"}, {"general.architecture", model.Architecture()}, {"adapter.type", "lora"},
	} {
		v, _, err := h.scalar(want.key, String)
		if err != nil {
			return err
		}
		if v.Text() != want.value {
			return fmt.Errorf("%w: %s is %q, not %q", ErrAdapter, want.key, v.Text(), want.value)
		}
	}
	alpha, ok, err := h.scalar("adapter.lora.alpha", Float32)
	if err != nil {
		return err
	}
	if ok && (math.IsNaN(alpha.Float(0)) || math.IsInf(alpha.Float(0), 0)) {
		return fmt.Errorf("%w: adapter.lora.alpha is %v", ErrMalformed, alpha.Float(0))
	}
	a.TaskName, a.PromptPrefix = h.Values["adapter.lora.task_name"].Text(), h.Values["adapter.lora.prompt_prefix"].Text()
	return h.readInvocation(a, len(model.Values[tokensKey].Strings()))
}

func (h *Header) readInvocation(a *Adapter, vocabulary int) error {
	const key = "adapter.alora.invocation_tokens"
	list, err := h.array(key, Uint32)
	if err != nil || list == nil {
		return err
	}
	for i := range list.Len() {
		t := list.Int(i)
		if t < 0 || t >= int64(vocabulary) {
			return fmt.Errorf("%w: %s has the token %d, the model has %d", ErrAdapter, key, t, vocabulary)
		}
		a.Invocation = append(a.Invocation, int32(t))
	}
	return nil
}

// pair is the two matrices that an adapter adds to one tensor.
type pair struct{ a, b *Tensor }

// checkPairs requires that each tensor of the adapter has its counterpart, and that both fit the
// tensor of the model.
func (h *Header) checkPairs(a *Adapter, model *Header) error {
	pairs, names := map[string]*pair{}, []string{}
	for i := range h.Tensors {
		t := &h.Tensors[i]
		name, isA := strings.CutSuffix(t.Name, loraA)
		name, isB := strings.CutSuffix(name, loraB)
		switch {
		case strings.Contains(name, loraA) || strings.Contains(name, loraB):
			return fmt.Errorf("%w: the name of tensor %q", ErrMalformed, t.Name)
		case !isA && !isB && strings.HasSuffix(name, normSuffix):
			continue
		case !isA && !isB:
			return fmt.Errorf("%w: tensor %q is neither %s nor %s of another", ErrAdapter, t.Name, loraA, loraB)
		case !tensorTypes[t.Type].weights:
			return fmt.Errorf("%w: tensor %q has the type %v, which is none for weights", ErrMalformed, t.Name, t.Type)
		}
		p := pairs[name]
		if p == nil {
			p = &pair{}
			pairs[name], names = p, append(names, name)
		}
		if isA {
			p.a = t
		} else {
			p.b = t
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("%w: it has no tensors", ErrAdapter)
	}
	for _, name := range names {
		if err := pairs[name].check(name, model); err != nil {
			return err
		}
	}
	first := pairs[names[0]]
	a.Rank = int(shape(first.b)[0])
	return nil
}

// check compares the shapes of a pair with that of the model's tensor: A leads from its input to
// rank numbers, B from those to its output.
func (p *pair) check(name string, model *Header) error {
	if p.a == nil || p.b == nil {
		return fmt.Errorf("%w: one of %q and %q is absent", ErrMalformed, name+loraA, name+loraB)
	}
	i := slices.IndexFunc(model.Tensors, func(t Tensor) bool { return t.Name == name })
	if i < 0 {
		return fmt.Errorf("%w: the model has no tensor %q", ErrAdapter, name)
	}
	weights, a, b := shape(&model.Tensors[i]), shape(p.a), shape(p.b)
	fits := a[0] == weights[0] && b[1] == weights[1] && a[1] == b[0]
	if strings.HasSuffix(name, embedding) { // B is not transposed there: A is looked up by token
		fits = a[0] == b[0] && a[1] == weights[1] && b[1] == weights[0]
	}
	if !fits || a[2] != weights[2] || b[2] != weights[2] || len(model.Tensors[i].Dims) < 2 || a[3] != 1 || b[3] != 1 || weights[3] != 1 {
		return fmt.Errorf("%w: %s and %s of tensor %q have the shapes %v and %v, which do not fit its %v", ErrAdapter, loraA, loraB, name,
			p.a.Dims, p.b.Dims, model.Tensors[i].Dims)
	}
	return nil
}

// shape is a tensor's dimensions with those that it leaves out, which are 1.
func shape(t *Tensor) [4]uint64 {
	s := [4]uint64{1, 1, 1, 1}
	copy(s[:], t.Dims)
	return s
}

// ReadControlVector reads a control vector as llama.cpp's cvector-generator writes it: F32 tensors
// direction.N for layers from 1 on. It returns a row of width numbers for each layer from 1 to
// layers-1, zero where the file has none, end to end.
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
