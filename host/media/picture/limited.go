// SPDX-License-Identifier: MIT

package picture

import (
	"image"
	"image/color"
	"io"

	"golang.org/x/image/webp"
)

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

// limited is a picture of limited range by BT.601. Its numbers are those of libwebp (dec/yuv.h,
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
		R: clipped(light + v*26149>>8 - 14234),
		G: clipped(light - u*6419>>8 - v*13320>>8 + 8708),
		B: clipped(light + u*33050>>8 - 17685),
		A: 0xff,
	}
	if m.alpha != nil {
		c.A = m.alpha.A[m.alpha.AOffset(x, y)]
	}
	r, g, b, a := c.RGBA()
	return color.RGBA64{R: uint16(r), G: uint16(g), B: uint16(b), A: uint16(a)}
}

// clipped is a sum with 6 bits of fraction as a byte.
func clipped(sum int) uint8 { return uint8(min(max(sum>>6, 0), 255)) }

// colours are the two colours of a pixel: of the four samples around it, the nearest counts nine
// sixteenths, those beside it three, and the one across one.
func (m *limited) colours(x, y int) (u, v int) {
	beside, above := m.other(x, m.Rect.Dx()), m.other(y, m.Rect.Dy())
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

// other is the second nearest sample of a row or a column of so many pixels; at its ends there is
// none but the nearest.
func (*limited) other(at, pixels int) int {
	next := at/2 + at%2*2 - 1
	return min(max(next, 0), (pixels+1)/2-1)
}
