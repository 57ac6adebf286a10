// SPDX-License-Identifier: MIT

package synth

import (
	"bytes"

	"github.com/penstock/penstock/native/gguf"
)

// Split divides a model's file into those of two parts, of which the first has the metadata and
// each every other tensor.
func Split(data []byte) (parts [2][]byte, err error) {
	whole, err := gguf.Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return parts, err
	}
	count := gguf.NewUint32(uint32(len(whole.Tensors)))
	count.Type = gguf.Int32
	for i := range parts {
		h := &gguf.Header{}
		if i == 0 {
			for _, key := range whole.Keys {
				h.Set(key, whole.Values[key])
			}
		}
		h.Set("split.no", gguf.NewUint16(uint16(i)))
		h.Set("split.count", gguf.NewUint16(2))
		h.Set("split.tensors.count", count)
		var body, out bytes.Buffer
		for j, tensor := range whole.Tensors {
			if j%2 == i {
				padded := h.Append(tensor.Name, tensor.Type, tensor.Dims...)
				from := uint64(whole.DataOffset) + tensor.Offset
				body.Write(data[from : from+tensor.Size()])
				body.Write(make([]byte, padded-tensor.Size()))
			}
		}
		if err := h.Write(&out); err != nil {
			return parts, err
		}
		parts[i] = append(out.Bytes(), body.Bytes()...)
	}
	return parts, nil
}
