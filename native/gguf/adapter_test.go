// SPDX-License-Identifier: MIT

package gguf_test

import (
	"bytes"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
)

const builtInPath = "../../host/model/penstock-tiny.gguf"

func header(t testing.TB, path string) *gguf.Header {
	t.Helper()
	data := must.Get(os.ReadFile(path))(t)
	return must.Get(gguf.Read(bytes.NewReader(data), int64(len(data))))(t)
}

func adapterBytes(t testing.TB, a synth.Adapter) []byte {
	t.Helper()
	a.Model = builtInPath
	var b bytes.Buffer
	must.Do(t, a.Write(&b))
	return b.Bytes()
}

func TestCheckAdapter_GoodFile_IsDescribed(t *testing.T) {
	data := adapterBytes(t, synth.Adapter{Rank: 8, TaskName: "rhyme", Invocation: []uint32{7, 8}})
	a := must.Get(gguf.CheckAdapter(bytes.NewReader(data), int64(len(data)), header(t, builtInPath)))(t)
	if a.Rank != 8 || a.TaskName != "rhyme" || len(a.Invocation) != 2 || a.Invocation[1] != 8 || a.Bytes == 0 {
		t.Errorf("it is described as %+v", a)
	}
}

func TestCheckAdapter_WrongFile_IsRefused(t *testing.T) {
	set := func(key string, v gguf.Value) func(*gguf.Header) { return func(h *gguf.Header) { h.Set(key, v) } }
	model := header(t, builtInPath)
	for name, c := range map[string]struct {
		change func(*gguf.Header)
		want   error
		says   string
	}{
		"a model":               {set("general.type", gguf.NewString("model")), gguf.ErrAdapter, "general.type"},
		"type as a number":      {set("general.type", gguf.NewUint32(1)), gguf.ErrMalformed, "general.type"},
		"another architecture":  {set("general.architecture", gguf.NewString("qwen2")), gguf.ErrAdapter, "qwen2"},
		"architecture a number": {set("general.architecture", gguf.NewUint32(1)), gguf.ErrMalformed, "general.architecture"},
		"another kind":          {set("adapter.type", gguf.NewString("ia3")), gguf.ErrAdapter, "ia3"},
		"alpha not a number":    {set("adapter.lora.alpha", gguf.NewFloat32(float32(math.NaN()))), gguf.ErrMalformed, "alpha"},
		"alpha of another type": {set("adapter.lora.alpha", gguf.NewUint32(4)), gguf.ErrMalformed, "alpha"},
		"invocation as text":    {set("adapter.alora.invocation_tokens", gguf.NewStrings("a")), gguf.ErrMalformed, "invocation"},
		"an unknown token":      {set("adapter.alora.invocation_tokens", gguf.NewUint32s(1<<20)), gguf.ErrAdapter, "1048576"},
		"no tensors":            {func(h *gguf.Header) { h.Tensors = nil }, gguf.ErrAdapter, "no tensors"},
		"an unknown tensor":     {func(h *gguf.Header) { h.Tensors[0].Name, h.Tensors[1].Name = "x.weight.lora_a", "x.weight.lora_b" }, gguf.ErrAdapter, "x.weight"},
		"half a pair":           {func(h *gguf.Header) { h.Tensors = h.Tensors[:1] }, gguf.ErrMalformed, "absent"},
		"another suffix":        {func(h *gguf.Header) { h.Tensors[0].Name = "blk.0.attn_q.weight.lora_c" }, gguf.ErrAdapter, "neither"},
		"the suffix twice":      {func(h *gguf.Header) { h.Tensors[0].Name += ".lora_b" }, gguf.ErrMalformed, "name"},
		"integers":              {func(h *gguf.Header) { h.Tensors[0].Type = 26 }, gguf.ErrMalformed, "I32"},
		"swapped matrices": {func(h *gguf.Header) { a, b := &h.Tensors[0], &h.Tensors[1]; a.Dims, b.Dims = b.Dims, a.Dims },
			gguf.ErrAdapter, "shapes"},
		"a norm": {func(h *gguf.Header) {
			h.Tensors[0].Name, h.Tensors[1].Name = "blk.0.attn_norm.weight.lora_a", "blk.0.attn_norm.weight.lora_b"
		}, gguf.ErrAdapter, "shapes"},
	} {
		data := adapterBytes(t, synth.Adapter{Change: c.change})
		_, err := gguf.CheckAdapter(bytes.NewReader(data), int64(len(data)), model)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; wanted %v that names %q", name, err, c.want, c.says)
		}
	}
	data := adapterBytes(t, synth.Adapter{})
	for _, n := range []int{0, 3, 100, len(data) / 2, len(data) - 1} {
		if _, err := gguf.CheckAdapter(bytes.NewReader(data[:n]), int64(n), model); err == nil {
			t.Errorf("cut off after %d bytes of %d it passes", n, len(data))
		}
	}
}

// An adapter that passes is one of the model's, however its file was come by.
func FuzzCheckAdapter(f *testing.F) {
	good := adapterBytes(f, synth.Adapter{Invocation: []uint32{1}})
	h := must.Get(gguf.Read(bytes.NewReader(good), int64(len(good))))(f)
	f.Add(good[:h.DataOffset], int64(len(good)))
	f.Add(good[:2000], int64(2000))
	model := header(f, builtInPath)
	vocabulary := model.Values["tokenizer.ggml.tokens"].Len()
	f.Fuzz(func(t *testing.T, data []byte, size int64) {
		if size < 0 || size > 1<<32 {
			return
		}
		a, err := gguf.CheckAdapter(bytes.NewReader(data), size, model)
		if err != nil {
			return
		}
		if a.Rank < 1 || a.Bytes > uint64(size) {
			t.Errorf("an adapter of rank %d with %d bytes passes, of a file of %d", a.Rank, a.Bytes, size)
		}
		for _, token := range a.Invocation {
			if token < 0 || int(token) >= vocabulary {
				t.Errorf("an adapter that token %d invokes passes", token)
			}
		}
	})
}

// A control vector that passes has a finite number in each place.
func FuzzReadControlVector(f *testing.F) {
	var b bytes.Buffer
	must.Do(f, synth.ControlVector(&b, builtInPath, 1, 0.1))
	h := must.Get(gguf.Read(bytes.NewReader(b.Bytes()), int64(b.Len())))(f)
	width := h.Tensors[0].Dims[0]
	f.Add(b.Bytes(), uint8(3), uint8(min(width, 255)))
	f.Fuzz(func(t *testing.T, data []byte, layers, width uint8) {
		values, err := gguf.ReadControlVector(bytes.NewReader(data), int64(len(data)), int(layers), int(width))
		if err != nil {
			return
		}
		if len(values) != (int(layers)-1)*int(width) {
			t.Errorf("%d numbers for %d layers of %d", len(values), layers, width)
		}
		for i, v := range values {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				t.Errorf("number %d is %v", i, v)
			}
		}
	})
}

func TestReadControlVector_FileOfModel_HasARowForEachLayer(t *testing.T) {
	var b bytes.Buffer
	must.Do(t, synth.ControlVector(&b, builtInPath, 1, 0.1))
	model := header(t, builtInPath)
	layers, width := int(model.Values["llama.block_count"].Int(0)), int(model.Values["llama.embedding_length"].Int(0))
	read := func(layers, width int) ([]float32, error) {
		return gguf.ReadControlVector(bytes.NewReader(b.Bytes()), int64(b.Len()), layers, width)
	}
	values, err := read(layers, width)
	if err != nil || len(values) != (layers-1)*width {
		t.Fatalf("%d numbers for %d layers of %d: %v", len(values), layers, width, err)
	}
	for i, v := range values {
		if v == 0 {
			t.Fatalf("number %d is 0", i)
		}
	}
	for name, c := range map[string]struct{ layers, width int }{"fewer layers": {layers - 1, width}, "narrower": {layers, width - 1}} {
		if _, err := read(c.layers, c.width); !errors.Is(err, gguf.ErrControlVector) {
			t.Errorf("a model with %s: %v", name, err)
		}
	}
	data := adapterBytes(t, synth.Adapter{})
	if _, err := gguf.ReadControlVector(bytes.NewReader(data), int64(len(data)), layers, width); !errors.Is(err, gguf.ErrControlVector) {
		t.Errorf("a file of another kind: %v", err)
	}
}
