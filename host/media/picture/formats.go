// SPDX-License-Identifier: MIT

package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/webp"
)

// readGIF reads a GIF's header. image/gif stops after the first of several pictures.
func readGIF(data []byte) (header, error) {
	if len(data) < 13 {
		return header{}, errors.New("it ends within its header")
	}
	h := header{decode: gif.Decode, width: int(binary.LittleEndian.Uint16(data[6:])), height: int(binary.LittleEndian.Uint16(data[8:]))}
	h.work = 2*int64(h.width)*int64(h.height) + 1<<20 // twice: an interlaced picture is put in order by a copy
	return h, nil
}

// readBMP reads a BMP's header.
func readBMP(data []byte) (header, error) {
	h := header{decode: bmp.Decode}
	config, err := bmp.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return h, fmt.Errorf("%w; 8, 24 and 32 bits a pixel without compression are read here, or send a PNG", err)
	}
	h.width, h.height = config.Width, config.Height
	bits := int64(binary.LittleEndian.Uint16(data[28:])) // DecodeConfig has read more than that
	h.least = (int64(h.width)*bits + 31) / 32 * 4 * int64(h.height)
	h.work = 4 * int64(h.width) * int64(h.height)
	return h, nil
}

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

// animated is the bit of a WebP's extended header that says it has several pictures.
const animated = 1 << 1

// readWebP reads a WebP's header.
func readWebP(data []byte) (header, error) {
	h := header{decode: decodeWebP}
	whole := 8 + int64(binary.LittleEndian.Uint32(data[4:])) // what follows is not read
	for chunks := data[12:max(12, min(whole, int64(len(data))))]; len(chunks) >= 8; {
		n := int64(binary.LittleEndian.Uint32(chunks[4:]))
		if n > int64(len(chunks)-8) { // the decoder would take memory for whatever length it says
			return h, fmt.Errorf("its part %q says it has %d bytes, and %d follow", chunks[:4], n, len(chunks)-8)
		}
		content := chunks[8 : 8+n]
		switch string(chunks[:4]) {
		case "VP8X":
			if n > 0 && content[0]&animated != 0 {
				return h, errors.New("it is animated; send one picture of it")
			}
		case "EXIF":
			h.orientation = orientationOf(content)
		}
		chunks = chunks[min(8+n+n%2, int64(len(chunks))):]
	}
	config, err := webp.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return h, err
	}
	h.width, h.height = config.Width, config.Height
	// The largest are a lossy picture with compressed alpha, and a lossless one with its
	// transforms. Trees of Huffman codes take some times the bytes that they are read from.
	h.work = 10*int64(h.width)*int64(h.height) + 16*int64(len(data)) + 4<<20
	h.spent = 6 * int64(h.width) * int64(h.height) // a lossless picture has four bytes a pixel
	return h, nil
}

// decodeWebP decodes a WebP. The brightness of a lossy one is from 16 to 235, as of video, and
// golang.org/x/image says it is from 0 to 255, as of JPEG.
func decodeWebP(r io.Reader) (image.Image, error) {
	decoded, err := webp.Decode(r)
	switch m := decoded.(type) {
	case *image.YCbCr:
		return &limited{YCbCr: m}, err
	case *image.NYCbCrA:
		return &limited{YCbCr: &m.YCbCr, alpha: m}, err
	}
	return decoded, err
}

// limited is a picture of limited range by BT.601. Its numbers are libwebp's (dec/yuv.h,
// dec/upsampling.c), so that a model sees the same pixels as in other programs.
type limited struct {
	*image.YCbCr
	alpha *image.NYCbCrA // nil: it is opaque
}

// ColorModel implements image.Image.
func (*limited) ColorModel() color.Model { return color.NRGBAModel }

// At implements image.Image.
func (m *limited) At(x, y int) color.Color { return m.RGBA64At(x, y) }

// RGBA64At implements image.RGBA64Image.
func (m *limited) RGBA64At(x, y int) color.RGBA64 {
	if !(image.Point{X: x, Y: y}).In(m.Rect) {
		return color.RGBA64{}
	}
	light := int(m.Y[m.YOffset(x, y)]) * 19077 >> 8
	u, v := m.colours(x-m.Rect.Min.X, y-m.Rect.Min.Y)
	c := color.NRGBA{
		R: clip(light + v*26149>>8 - 14234),
		G: clip(light - u*6419>>8 - v*13320>>8 + 8708),
		B: clip(light + u*33050>>8 - 17685),
		A: 0xff,
	}
	if m.alpha != nil {
		c.A = m.alpha.A[m.alpha.AOffset(x, y)]
	}
	r, g, b, a := c.RGBA()
	return color.RGBA64{R: uint16(r), G: uint16(g), B: uint16(b), A: uint16(a)}
}

// clip makes a byte of a sum with 6 bits of fraction.
func clip(sum int) uint8 { return uint8(min(max(sum>>6, 0), 255)) }

// colours are the two colours of a pixel: of the four samples around it, the nearest counts nine
// sixteenths, those beside it three, and the one across one.
func (m *limited) colours(x, y int) (u, v int) {
	beside, above := m.otherSample(x, m.Rect.Dx()), m.otherSample(y, m.Rect.Dy())
	row, otherRow := y/2*m.CStride, above*m.CStride
	near, side, over, across := row+x/2, row+beside, otherRow+x/2, otherRow+beside
	mix := func(c []uint8) int {
		n, s, o, a := int(c[near]), int(c[side]), int(c[over]), int(c[across])
		if beside == x/2 {
			return (3*n + o + 2) >> 2
		}
		return ((n+3*s+3*o+a+8)>>3 + n) >> 1
	}
	return mix(m.Cb), mix(m.Cr)
}

// otherSample finds the second nearest sample of a row or a column with that many pixels. At its
// ends there is none but the nearest.
func (*limited) otherSample(at, pixels int) int {
	next := at/2 + at%2*2 - 1
	return min(max(next, 0), (pixels+1)/2-1)
}
