// SPDX-License-Identifier: MIT

package peer

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"math"
	"testing"

	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
)

// sense is a file with a picture or a sound.
type sense struct {
	file  []byte
	sound bool
}

func drawn(t *testing.T, width, height int, pixel func(x, y int) color.RGBA) sense {
	t.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			picture.Set(x, y, pixel(x, y))
		}
	}
	var file bytes.Buffer
	must.Do(t, png.Encode(&file, picture))
	return sense{file: file.Bytes()}
}

// hummed is a WAV file of 16 bits.
func hummed(seconds, hertz float64) sense {
	const rate = 16000
	n := int(seconds * rate)
	file := []byte("RIFF")
	file = binary.LittleEndian.AppendUint32(file, uint32(36+2*n))
	file = append(file, "WAVEfmt "...)
	for _, field := range []any{uint32(16), uint16(1), uint16(1), uint32(rate), uint32(2 * rate), uint16(2), uint16(16)} {
		file, _ = binary.Append(file, binary.LittleEndian, field) // fixed sizes
	}
	file = append(file, "data"...)
	file = binary.LittleEndian.AppendUint32(file, uint32(2*n))
	for i := range n {
		sample := int16(12000 * math.Sin(2*math.Pi*hertz*float64(i)/rate))
		file = binary.LittleEndian.AppendUint16(file, uint16(sample))
	}
	return sense{file: file, sound: true}
}

// senses are some that a pair takes.
func senses(t *testing.T, pair synth.MediaPair) []sense {
	t.Helper()
	var all []sense
	if pair.Sees() {
		all = append(all,
			drawn(t, 100, 80, func(x, y int) color.RGBA { return color.RGBA{byte(2 * x), byte(3 * y), byte(x + y), 255} }),
			drawn(t, 300, 60, func(x, y int) color.RGBA { return color.RGBA{byte(x), byte(4 * y), byte(x * y), 255} }),
			drawn(t, 2, 2, func(x, y int) color.RGBA { return color.RGBA{byte(x * 255), byte(y * 255), 0, 255} }))
	}
	if pair.Hears() {
		all = append(all, hummed(1, 440), hummed(2, 1000))
		if !pair.Sees() {
			all = append(all, hummed(31, 700)) // which is divided
		}
	}
	return all
}
