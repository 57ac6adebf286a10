// SPDX-License-Identifier: MIT

package picture

import (
	"bytes"
	"testing"
)

func TestRGB_Within(t *testing.T) {
	for _, c := range [][4]int{{512, 512, 512, 512}, {1024, 512, 512, 256}, {300, 20, 300, 20}, {5000, 50, 512, 6}, {1, 9000, 1, 512}} {
		if w, h := (RGB{Width: c[0], Height: c[1]}).Within(512); w != c[2] || h != c[3] {
			t.Errorf("%d×%d became %d×%d, want %d×%d", c[0], c[1], w, h, c[2], c[3])
		}
	}
}

// A pixel is the mean of those that it stands for, also where sizes do not divide one another.
func TestRGB_Scaled(t *testing.T) {
	p := RGB{Width: 5, Height: 2}
	for i := range byte(10) {
		p.Pixels = append(p.Pixels, 10*i, 100, 255-i)
	}
	got := p.Scaled(2, 1)
	// The first is that of columns 0 and 1 of both rows: 0, 10, 50, 60; the second of the others.
	if want := []byte{30, 100, 252, 55, 100, 250}; got.Width != 2 || got.Height != 1 || !bytes.Equal(got.Pixels, want) {
		t.Errorf("%v, want %v", got.Pixels, want)
	}
	if same := p.Scaled(5, 2); !bytes.Equal(same.Pixels, p.Pixels) {
		t.Errorf("%v", same.Pixels)
	}
}
