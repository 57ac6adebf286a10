// SPDX-License-Identifier: MIT

package peer

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock/penstock/native/gguf"
)

// Exact writes a copy of the built-in model whose weights have 32 bits in place of 8 and returns
// its path.
func Exact(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile(inRepository(t, BuiltIn))
	if err != nil {
		t.Fatal(err)
	}
	h, err := gguf.Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	tensors, weights := h.Tensors, data[h.DataOffset:]
	h.Tensors = nil
	for _, tensor := range tensors {
		h.Append(tensor.Name, gguf.F32, tensor.Dims...)
	}
	var out bytes.Buffer
	if err := h.Write(&out); err != nil {
		t.Fatal(err)
	}
	for i, tensor := range tensors {
		at := weights[tensor.Offset : tensor.Offset+tensor.Size()]
		switch tensor.Type {
		case gguf.F32:
			out.Write(at)
		case gguf.Q8_0:
			out.Write(widened(at))
		default:
			t.Fatalf("%s is %v", tensor.Name, tensor.Type)
		}
		out.Write(make([]byte, -h.Tensors[i].Size()&(h.Alignment-1)))
	}
	path := filepath.Join(t.TempDir(), "exact.gguf")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// widened are the numbers of blocks of Q8_0, each a half-precision scale and 32 signed bytes.
func widened(blocks []byte) []byte {
	const block = 34
	out := make([]byte, 0, len(blocks)/block*32*4)
	for ; len(blocks) > 0; blocks = blocks[block:] {
		bits := uint32(binary.LittleEndian.Uint16(blocks))
		scale := math.Ldexp(float64(bits&0x3ff), -24) // below 2^-14, a half is a multiple of 2^-24
		if exponent := int(bits >> 10 & 0x1f); exponent > 0 {
			scale = math.Ldexp(float64(bits&0x3ff|0x400), exponent-25)
		}
		if bits>>15 == 1 {
			scale = -scale
		}
		for _, b := range blocks[2:block] {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(scale*float64(int8(b)))))
		}
	}
	return out
}
