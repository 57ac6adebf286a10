// SPDX-License-Identifier: MIT

package picture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"image/png"
)

// mostDeflated is how many bytes one byte of deflate's can stand for.
const mostDeflated = 1032

// The kinds of PNG's pixels.
const (
	pngGray      = 0
	pngRGB       = 2
	pngPalette   = 3
	pngGrayAlpha = 4
	pngRGBA      = 6
)

func readPNG(data []byte) (header, error) {
	h := header{decode: png.Decode}
	chunks := data[8:]
	if len(chunks) < 8+13 || string(chunks[4:8]) != "IHDR" {
		return h, errors.New("it does not begin with its header")
	}
	ihdr := chunks[8:]
	width, height := binary.BigEndian.Uint32(ihdr), binary.BigEndian.Uint32(ihdr[4:])
	if width > 1<<31-1 || height > 1<<31-1 {
		return h, errors.New("its size is beyond what a PNG can have")
	}
	h.width, h.height = int(width), int(height)
	depth, kind, interlaced := int64(ihdr[8]), ihdr[9], ihdr[12] != 0
	channels := map[byte]int64{pngGray: 1, pngRGB: 3, pngPalette: 1, pngGrayAlpha: 2, pngRGBA: 4}[kind]
	if channels == 0 || depth == 0 || depth > 16 {
		return h, fmt.Errorf("it has pixels of kind %d with %d bits", kind, depth)
	}
	h.least = int64(width) * channels * depth / 8 / mostDeflated * int64(height)
	decoded := int64(4) // bytes a pixel
	switch {
	case kind == pngPalette:
		decoded = 1
	case depth == 16:
		decoded = 8
	}
	if interlaced {
		decoded *= 2 // its passes are pictures of their own first
	}
	h.work = int64(width)*int64(height)*decoded + 1<<20
	for len(chunks) >= 12 {
		n := binary.BigEndian.Uint32(chunks)
		if int64(n) > int64(len(chunks)-12) {
			break
		}
		if string(chunks[4:8]) == "eXIf" {
			h.orientation = orientationOf(chunks[8 : 8+n])
			break
		}
		chunks = chunks[12+n:]
	}
	return h, nil
}
