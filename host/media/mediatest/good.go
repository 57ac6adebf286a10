// SPDX-License-Identifier: MIT

package mediatest

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
)

// drawing is a picture that no encoder makes tiny.
func drawing(width, height int) *image.Paletted {
	palette := make(color.Palette, 256)
	for i := range palette {
		palette[i] = color.RGBA{uint8(i), uint8(3 * i), uint8(7 * i), 255}
	}
	m := image.NewPaletted(image.Rect(0, 0, width, height), palette)
	noise := uint32(1)
	for i := range m.Pix {
		noise = noise*1664525 + 1013904223
		m.Pix[i] = uint8(noise >> 24)
	}
	return m
}

func encoded(width, height int, encode func(io.Writer, image.Image) error) []byte {
	var b bytes.Buffer
	if err := encode(&b, drawing(width, height)); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// PNG writes a good picture of that size, as the next functions do.
func PNG(width, height int) []byte { return encoded(width, height, png.Encode) }

// JPEG is one, too.
func JPEG(width, height int) []byte {
	return encoded(width, height, func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) })
}

// GIF is one, too.
func GIF(width, height int) []byte {
	return encoded(width, height, func(w io.Writer, m image.Image) error { return gif.Encode(w, m, nil) })
}

// BMP is one, too.
func BMP(width, height int) []byte { return encoded(width, height, bmp.Encode) }

// Lossy is a WebP of 32×16 pixels, made by libvips, as Lossless is.
func Lossy() []byte {
	return fromBase64("UklGRlIAAABXRUJQVlA4IEYAAACQAgCdASogABAAAMASJaACdMoR2j4B+AH7AARGMAD++oyP/57//piSZOhv+wz//3Pl4+v7rn/VqH//+RqZ3SfKRjPj+AAA")
}

// Lossless is a WebP of 32×16 pixels.
func Lossless() []byte {
	return fromBase64("UklGRkQAAABXRUJQVlA4TDcAAAAvH8ADAB8gECCOdCrQKUcgQKjULkOCkIDoxthsognzH39SQgKCbJtJTnKSB7hARP9Dteq3bQA/AA==")
}

func fromBase64(text string) []byte {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return data
}

// WAV is a sound of 16 bits at a rate in Hz, whose samples are given as they stand.
func WAV(rate, channels int, samples []byte) []byte {
	return joined([]any{"RIFF", uint32(36 + len(samples)), "WAVE", "fmt ", uint32(16), uint16(1), uint16(channels), uint32(rate), uint32(2 * channels * rate),
		uint16(2 * channels), uint16(16), "data", uint32(len(samples)), samples})
}

// Scans is a grey JPEG that is decoded in many passes over all its pixels, each of a few bytes: one
// passes over a million samples.
func Scans(width, height, scans int) []byte {
	blocks := (width + 7) / 8 * ((height + 7) / 8)
	scan := func(from, to, bits byte, data []byte) []byte {
		return append(segment(0xda, []byte{1, 1, 0, from, to, bits}), data...)
	}
	runs := make([]byte, (15*((blocks+16383)/16384)+7)/8) // of blocks that end at once: 16,384 in 15 bits
	return joined([]any{"\xff\xd8", segment(0xdb, append([]byte{0}, bytes.Repeat([]byte{1}, 64)...)), sof(0xc2, 8, uint16(width), uint16(height), 1, 0x11),
		segment(0xc4, append(append([]byte{0x00, 1}, make([]byte, 15)...), 0x00)),
		segment(0xc4, append(append([]byte{0x10, 1, 1}, make([]byte, 14)...), 0xe0, 0x01)),
		scan(0, 0, 0x00, make([]byte, (blocks+7)/8)), scan(1, 63, 0x01, runs), bytes.Repeat(scan(1, 63, 0x10, runs), scans-2), "\xff\xd9"})
}
