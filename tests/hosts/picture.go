// SPDX-License-Identifier: MIT

package hosts

import (
	"bytes"
	"image"
	"image/png"
	"testing"
)

// StripedPNG is a small picture whose colours depend on a seed.
func StripedPNG(t *testing.T, seed int) []byte {
	t.Helper()
	picture := image.NewGray(image.Rect(0, 0, 90, 60))
	for i := range picture.Pix {
		picture.Pix[i] = byte(i * (seed + 3))
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
