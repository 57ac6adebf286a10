// SPDX-License-Identifier: MIT

package gguf_test

import (
	"bytes"
	"fmt"

	"github.com/penstock/penstock/native/gguf"
)

// A model file is its header and then the data of its tensors, each padded.
func ExampleHeader_Write() {
	var h gguf.Header
	h.Set("general.architecture", gguf.NewString("llama"))
	h.Set("llama.block_count", gguf.NewUint32(1))
	data := h.Append("token_embd.weight", gguf.F32, 4, 3) // 3 rows of 4 numbers

	var file bytes.Buffer
	if err := h.Write(&file); err != nil {
		fmt.Println(err)
		return
	}
	file.Write(make([]byte, data))

	read, err := gguf.Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		fmt.Println(err)
		return
	}
	t := read.Tensors[0]
	fmt.Println(read.Architecture(), read.Values["llama.block_count"].Int(0), t.Name, t.Type, t.Elements(), t.Size())
	// Output: llama 1 token_embd.weight F32 12 48
}

// What Read calls well-formed may still be no model that llama.cpp can load: Check says what is
// missing.
func ExampleCheck() {
	var h gguf.Header
	h.Set("general.architecture", gguf.NewString("llama"))
	var file bytes.Buffer
	if err := h.Write(&file); err != nil {
		fmt.Println(err)
		return
	}
	_, err := gguf.Check(bytes.NewReader(file.Bytes()), int64(file.Len()))
	fmt.Println(err != nil)

	_, err = gguf.Read(bytes.NewReader(file.Bytes()[:10]), 10)
	fmt.Println(err)
	// Output:
	// true
	// the model file is cut off: the file's start at byte 8 needs 8 bytes, the file ends after 2
}
