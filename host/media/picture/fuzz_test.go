// SPDX-License-Identifier: MIT

package picture

import (
	"context"
	"image"
	"testing"

	"github.com/penstock/penstock/host/media/mediatest"
	"github.com/penstock/penstock/tools/must"
)

// fuzz opens and decodes whatever comes: neither panics, no more memory is taken than is said, and
// the pixels are as many as the header says.
func fuzz(f *testing.F, format string, made ...[]byte) {
	entries := must.Get(testdata.ReadDir("testdata"))(f)
	for _, e := range entries {
		if data := stored(f, e.Name()); FormatOf(data) == format {
			f.Add(data)
		}
	}
	for _, h := range mediatest.Hostile() {
		if FormatOf(h.Data) == format && len(h.Data) < 1<<16 {
			f.Add(h.Data)
		}
	}
	for _, data := range made {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Open(data, 1<<18)
		if err != nil {
			return
		}
		if file.Width <= 0 || file.Height <= 0 || file.Width*file.Height > 1<<18 {
			t.Fatalf("%d×%d pixels were opened", file.Width, file.Height)
		}
		var p RGB
		if taken := allocated(func() { p, err = file.Decode(context.Background(), restless) }); taken > file.Memory+1<<20 {
			t.Errorf("%d bytes were taken; at most %d were said", taken, file.Memory)
		}
		if err == nil && len(p.Pixels) != 3*file.Width*file.Height {
			t.Errorf("%d bytes of pixels for %d×%d", len(p.Pixels), file.Width, file.Height)
		}
	})
}

func picture() *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, 32, 16))
	drawn(m)
	return m
}

func FuzzJPEG(f *testing.F) { fuzz(f, "JPEG", encoded(f, picture(), asJPEG), manyScans(f, 20)) }

func FuzzPNG(f *testing.F) { fuzz(f, "PNG", encoded(f, picture(), asPNG)) }

func FuzzGIF(f *testing.F) { fuzz(f, "GIF", encoded(f, picture(), asGIF)) }

func FuzzWebP(f *testing.F) { fuzz(f, "WebP") }

func FuzzBMP(f *testing.F) { fuzz(f, "BMP", encoded(f, picture(), asBMP)) }
