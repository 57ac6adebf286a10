// SPDX-License-Identifier: MIT

package synth

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/penstock/penstock/native/gguf"
)

// Adapter is a LoRA adapter to write, as llama.cpp's convert_lora_to_gguf.py does.
type Adapter struct {
	Model      string   // path of the GGUF file that it is for
	Tensors    []string // parts of the names of the model's tensors that it changes; none: attn_q, attn_v and ffn_down
	Rank       int      // 0: 4
	Alpha      float32  // 0: as the rank, so that a scale of 1 counts the matrices once
	Seed       uint64
	Deviation  float64 // of its random numbers; 0: 0.3, which changes what a small model writes
	Invocation []uint32
	TaskName   string
	Change     func(*gguf.Header) // of the header before it is written, to damage it; may be nil
}

// Write writes the adapter. The same values give the same bytes.
func (a Adapter) Write(w io.Writer) error {
	model, err := readHeader(a.Model)
	if err != nil {
		return err
	}
	a.setDefaults()
	h := &gguf.Header{}
	h.Set("general.architecture", gguf.NewString(model.Architecture()))
	h.Set("general.type", gguf.NewString("adapter"))
	h.Set("adapter.type", gguf.NewString("lora"))
	h.Set("adapter.lora.alpha", gguf.NewFloat32(a.Alpha))
	if a.TaskName != "" {
		h.Set("adapter.lora.task_name", gguf.NewString(a.TaskName))
	}
	if len(a.Invocation) > 0 {
		h.Set("adapter.alora.invocation_tokens", gguf.NewUint32s(a.Invocation...))
	}
	for _, t := range model.Tensors {
		if !a.changes(t.Name) {
			continue
		}
		rank := uint64(a.Rank)
		h.Append(t.Name+".lora_a", gguf.F32, t.Dims[0], rank)
		h.Append(t.Name+".lora_b", gguf.F32, rank, t.Dims[1])
	}
	if a.Change != nil {
		a.Change(h)
	}
	return writeRandom(w, h, a.Seed, a.Deviation)
}

func (a *Adapter) setDefaults() {
	if len(a.Tensors) == 0 {
		a.Tensors = []string{"attn_q", "attn_v", "ffn_down"}
	}
	if a.Rank == 0 {
		a.Rank = 4
	}
	if a.Alpha == 0 {
		a.Alpha = float32(a.Rank)
	}
	if a.Deviation == 0 {
		a.Deviation = 0.3
	}
}

func (a *Adapter) changes(tensor string) bool {
	for _, part := range a.Tensors {
		if strings.Contains(tensor, part) && strings.HasSuffix(tensor, ".weight") {
			return true
		}
	}
	return false
}

// ControlVector writes a control vector for the model at path, with random numbers of a deviation.
func ControlVector(w io.Writer, path string, seed uint64, deviation float64) error {
	model, err := readHeader(path)
	if err != nil {
		return err
	}
	arch := model.Architecture()
	width, layers := model.Values[arch+".embedding_length"].Int(0), model.Values[arch+".block_count"].Int(0)
	h := &gguf.Header{}
	h.Set("general.architecture", gguf.NewString("controlvector"))
	h.Set("controlvector.model_hint", gguf.NewString(arch))
	h.Set("controlvector.layer_count", gguf.NewUint32(uint32(layers-1)))
	for layer := range layers - 1 {
		h.Append(fmt.Sprintf("direction.%d", layer+1), gguf.F32, uint64(width))
	}
	return writeRandom(w, h, seed, deviation)
}

// writeRandom writes a header and its F32 tensors with random numbers.
func writeRandom(w io.Writer, h *gguf.Header, seed uint64, deviation float64) error {
	if err := h.Write(w); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(seed, 1))
	scaled := smallTensor{fill: func(x float64) float64 { return x * deviation / smallDeviation }}
	for i, t := range h.Tensors {
		data := scaled.data(t.Elements(), 1, random)
		if i+1 < len(h.Tensors) {
			data = append(data, make([]byte, h.Tensors[i+1].Offset-t.Offset-uint64(len(data)))...)
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return nil
}

// readHeader reads the header of the file at path.
func readHeader(path string) (_ *gguf.Header, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return gguf.Read(file, info.Size())
}
