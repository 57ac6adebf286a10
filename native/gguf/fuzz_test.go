// SPDX-License-Identifier: MIT

package gguf

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// FuzzCheck looks for a panic, and for a header that is accepted but does not survive writing and
// reading again. Its seeds are the built-in model's header cut off and with flipped bits; the
// weights are left out, so the size is claimed.
func FuzzCheck(f *testing.F) {
	data := builtIn(f)
	h := must.Get(readBytes(data))(f)
	size := int64(len(data))
	header := data[:h.DataOffset]
	f.Add(header, size)
	random := rand.New(rand.NewPCG(1, 1))
	for range 8 {
		cut := random.IntN(len(header))
		f.Add(header[:cut], int64(cut))
		flipped := bytes.Clone(header)
		flipped[random.IntN(len(flipped))] ^= 1 << random.IntN(8)
		f.Add(flipped, size)
	}
	f.Fuzz(func(t *testing.T, header []byte, size int64) {
		if size < 0 || size > 1<<32 {
			return
		}
		h, err := Check(bytes.NewReader(header), size)
		if err != nil {
			return
		}
		var b bytes.Buffer
		must.Do(t, h.Write(&b))
		if _, err := Check(bytes.NewReader(b.Bytes()), size); err != nil {
			t.Errorf("accepted, but not after writing it again: %v", err)
		}
	})
}
