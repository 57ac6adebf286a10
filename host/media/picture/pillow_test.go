// SPDX-License-Identifier: MIT

package picture

import (
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// TestDecode_AsPillow: the pixels are those that Pillow decodes, which testdata/record.py has
// recorded. Those of lossy WebP are the same to the bit; the transforms of JPEG decoders and the
// sums of alpha round otherwise.
func TestDecode_AsPillow(t *testing.T) {
	var golden map[string]struct {
		Width, Height int
		Pixels        string
	}
	must.Do(t, json.Unmarshal(stored(t, "pillow.json"), &golden))
	for name, want := range golden {
		most := map[string]int{"cmyk-unmarked.jpg": 4, "odd-lossy-alpha.webp": 1}[name]
		got := decoded(t, stored(t, name))
		pixels, err := hex.DecodeString(want.Pixels)
		if err != nil || got.Width != want.Width || got.Height != want.Height || len(got.Pixels) != len(pixels) {
			t.Errorf("%s: %d×%d pixels, %v; want %d×%d", name, got.Width, got.Height, err, want.Width, want.Height)
			continue
		}
		for i, p := range pixels {
			if d := int(got.Pixels[i]) - int(p); d > most || d < -most {
				t.Errorf("%s: colour %d of pixel (%d, %d) is %d, Pillow's %d", name, i%3, i/3%want.Width, i/3/want.Width, got.Pixels[i], p)
				break
			}
		}
	}
}
