// SPDX-License-Identifier: MIT

package api

import (
	"bytes"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// A module whose size is known is read into its memory once; one that is shorter, longer or
// unknown is read all the same, and no more than the most is taken for it.
func TestAnnounced_TakesMemoryOnce(t *testing.T) {
	wasm := bytes.Repeat([]byte("module"), 1<<19)
	size := int64(len(wasm))
	for _, said := range []int64{-1, 0, 1, size - 1, size, 2 * size, 1 << 60} {
		if got, err := readAnnounced(said, 2*size)(bytes.NewReader(wasm)); err != nil || !bytes.Equal(got, wasm) {
			t.Errorf("announced %d: %d bytes, %v", said, len(got), err)
		}
	}
	times := testing.AllocsPerRun(5, func() {
		must.Get(readAnnounced(size, 2*size)(bytes.NewReader(wasm)))(t)
	})
	if times > 4 { // the reader, the buffer, its memory
		t.Errorf("memory was taken %v times", times)
	}
}
