// SPDX-License-Identifier: MIT

package picture

import (
	"context"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/media/mediatest"
	"github.com/penstock/penstock/tools/must"
)

// scansOf is a progressive JPEG's headers: a picture whose scans have no bytes, each with the
// components that it is a pass over. Components after the first have the half of its rows and
// columns.
func scansOf(width, height, components int, scans ...string) []byte {
	data := []byte{0xff, 0xd8, 0xff, 0xc2, 0, byte(8 + 3*components), 8, byte(height >> 8), byte(height), byte(width >> 8), byte(width), byte(components)}
	for c := range components {
		sampling := byte(0x11)
		if c == 0 && components > 1 {
			sampling = 0x22
		}
		data = append(data, byte(c), sampling, 0)
	}
	for _, of := range scans {
		data = append(data, 0xff, 0xda, 0, byte(6+2*len(of)), byte(len(of)))
		for _, c := range of {
			data = append(data, byte(c-'0'), 0)
		}
		data = append(data, 1, 63, 0)
	}
	return append(append(data, make([]byte, width*height/256)...), 0xff, 0xd9)
}

// Many scans of a large picture are a pass over its pixels each, however few bytes they have. The
// scans that encoders write of the largest photo are few enough.
func TestOpen_JPEG_ScansAreBoundedByWhatTheyPass(t *testing.T) {
	grey := func(scans int) []string { return strings.Split(strings.Repeat("0", scans), "") }
	libjpeg := []string{"012", "0", "2", "1", "0", "0", "012", "2", "1", "0"}
	mozjpeg := []string{"0", "1", "2", "0", "0", "0", "0", "0", "1", "1", "1", "1", "2", "2", "2", "2"}
	for name, c := range map[string]struct {
		width, height, components int
		scans                     []string
		refused                   string
	}{
		"10 scans":           {7000, 7000, 1, grey(10), ""},
		"11 scans":           {7000, 7000, 1, grey(11), "its 11 scans pass over more than 500 million samples"},
		"64 scans":           {1000, 1000, 1, grey(64), ""},
		"65 scans":           {1000, 1000, 1, grey(65), "more than 64 scans"},
		"a photo by libjpeg": {8160, 6120, 3, libjpeg, ""},
		"a photo by mozjpeg": {8160, 6120, 3, mozjpeg, ""},
	} {
		_, err := Open(scansOf(c.width, c.height, c.components, c.scans...), 50_000_000)
		if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A few bytes can be a pass over all pixels, and others want to be decoded meanwhile: a picture of
// 4 million samples rests after 16 passes at the latest.
func TestDecode_JPEG_RestsBetweenScans(t *testing.T) {
	rests := func(scans int) (n int) {
		f := must.Get(Open(mediatest.Scans(2000, 2000, scans), manyPixels))(t)
		must.Get(f.Decode(context.Background(), func() { n++ }))(t)
		return n
	}
	if few, many := rests(4), rests(60); many-few < 56/16 {
		t.Errorf("%d rests in 4 scans, and %d in 60", few, many)
	}
}
