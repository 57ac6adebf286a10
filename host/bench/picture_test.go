// SPDX-License-Identifier: MIT

package bench

import (
	"bytes"
	"image/png"
	"testing"
)

// Each request has a picture of its own, that any decoder reads, and the same seed gives the same
// ones.
func TestLoad_Picture(t *testing.T) {
	const side = 300
	load := Load{Seed: 1, Classes: []Class{{}, {PictureSide: side}, {PictureSide: side}}}
	if load.picture(0, 0) != nil {
		t.Error("a class without pictures has one")
	}
	one := load.picture(1, 0)
	decoded, err := png.Decode(bytes.NewReader(one))
	if err != nil {
		t.Fatal(err)
	}
	if size := decoded.Bounds().Size(); size.X != side || size.Y != side {
		t.Errorf("it has %v pixels, not %d", size, side)
	}
	for name, other := range map[string][]byte{"request": load.picture(1, 1), "class": load.picture(2, 0)} {
		second, err := png.Decode(bytes.NewReader(other))
		if err != nil {
			t.Fatal(err)
		}
		if second.At(0, 0) == decoded.At(0, 0) && second.At(100, 0) == decoded.At(100, 0) {
			t.Errorf("another %s has the same picture", name)
		}
	}
	if !bytes.Equal(load.picture(1, 0), one) {
		t.Error("the same request has another picture")
	}
}
