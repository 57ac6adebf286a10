// SPDX-License-Identifier: MIT

// Package picture decodes pictures of untrusted files to upright RGB pixels, within bounds that
// are known before a pixel is read.
//
// # Notes
//
//   - JPEG, PNG, GIF, WebP and BMP are decoded by the standard library and golang.org/x/image, in
//     Go alone. Of an animated GIF or PNG it is the first picture.
//   - [Open] reads headers only. It refuses what has too many pixels, what would be decoded again
//     and again (a JPEG of thousands of scans), and what is too short for its size. Its work is in
//     proportion to the file.
//   - Transparency is shown over white, and the orientation that EXIF tells is applied.
//
// # Errors
//
// They say what is wrong with a file and what to do, in words that follow its name: "is a JPEG of
// …".
//
// # Why are headers read by code of ours before a decoder sees a file?
//
// Go's decoders allocate whatever a header says. They tell the size first, but not what else
// decoding takes: the coefficients of a progressive JPEG are five times its pixels, each of
// thousands of scans is a pass over all of them, and a WebP of 100 bytes may say that 2 GB
// follow. picture.Open walks the parts of a file as its decoder does, so that what decoding takes
// at most is known, and tests compare that with what it takes.
//
// # Why is EXIF not read by a library?
//
// One number of it is wanted, its orientation, from the first directory. That is thirty lines
// that look at each entry once. Libraries read all of it, with bounds in time.
package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"io"
	"runtime"

	"github.com/penstock/penstock/scheduler/panics"
	"golang.org/x/image/bmp"
	"golang.org/x/image/webp"
)

// RGB are the pixels of a picture, row by row from the top left: three bytes each, red, green,
// blue.
type RGB struct {
	Width, Height int
	Pixels        []byte // 3 × Width × Height
}

// File is a picture whose headers were read.
type File struct {
	Format        string // JPEG, PNG, GIF, WebP or BMP
	Width, Height int    // pixels, as the picture is shown
	Memory        int64  // bytes that Decode takes at most, its result included

	data []byte
	header
}

// header is what a format's reader finds.
type header struct {
	width, height int // as stored
	orientation   orientation
	least         int64 // bytes that a file of so many pixels has at least; 0: any
	work          int64 // bytes that decoding takes besides the result
	spent         int64 // bytes of work that are garbage once the format's decoder has ended
	decode        func(io.Reader) (image.Image, error)
}

// Garbage is how many bytes of garbage are collected at once. By itself the garbage collector lets
// as much pile up as is in use.
const Garbage = 64 << 20

// formats are the formats that are decoded, each with what it begins with. A ? stands for any byte.
var formats = []struct {
	name, magic string
	read        func(data []byte) (header, error)
}{
	{"JPEG", "\xff\xd8\xff", readJPEG},
	{"PNG", "\x89PNG\r\n\x1a\n", readPNG},
	{"GIF", "GIF8?a", readGIF},
	{"WebP", "RIFF????WEBP", readWebP},
	{"BMP", "BM????\x00\x00\x00\x00", readBMP},
}

// FormatOf is the format that a file has by its first bytes; "" if none that is decoded here.
func FormatOf(data []byte) string {
	for _, f := range formats {
		if begins(data, f.magic) {
			return f.name
		}
	}
	return ""
}

func begins(data []byte, magic string) bool {
	if len(data) < len(magic) {
		return false
	}
	for i := range len(magic) {
		if magic[i] != '?' && data[i] != magic[i] {
			return false
		}
	}
	return true
}

// Open reads the headers of a picture that may have at most that many pixels. data must not change
// afterwards.
func Open(data []byte, pixels int) (*File, error) {
	for _, f := range formats {
		if !begins(data, f.magic) {
			continue
		}
		var h header
		err := panics.Try(func() (err error) {
			h, err = f.read(data)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("is a %s that cannot be read: %w; save it again with another program", f.name, err)
		}
		if h.width <= 0 || h.height <= 0 {
			return nil, fmt.Errorf("is a %s of %d×%d pixels; a picture has at least one", f.name, h.width, h.height)
		}
		if n := int64(h.width) * int64(h.height); n > int64(pixels) {
			return nil, fmt.Errorf("is a %s of %d×%d pixels, %d in all; at most %d are taken (media.image_pixels): scale it down",
				f.name, h.width, h.height, n, pixels)
		}
		if int64(len(data)) < h.least {
			return nil, fmt.Errorf("is a %s of %d×%d pixels and has only %d bytes: it is cut off; send it again", f.name, h.width, h.height, len(data))
		}
		width, height := h.orientation.shown(h.width, h.height)
		file := &File{Format: f.name, Width: width, Height: height, data: data, header: h}
		result := 3 * int64(width) * int64(height)
		if file.Memory = h.work + result; h.spent >= Garbage {
			file.Memory = max(h.work, h.work-h.spent+result)
		}
		return file, nil
	}
	return nil, fmt.Errorf("is no picture of a format that is read here: JPEG, PNG, GIF, WebP or BMP")
}

// Decode decodes the pixels. It calls rest every now and then, which may wait. When ctx is done it
// ends soon, with its cause.
func (f *File) Decode(ctx context.Context, rest func()) (RGB, error) {
	var out RGB
	err := panics.Try(func() error {
		decoded, err := f.decode(&heedful{ctx, rest, bytes.NewReader(f.data)})
		if err != nil {
			return err
		}
		if f.spent >= Garbage {
			runtime.GC()
		}
		out, err = f.flatten(ctx, rest, decoded)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return RGB{}, context.Cause(ctx)
	case err != nil:
		return RGB{}, fmt.Errorf("is a %s that cannot be decoded: %w; it is damaged, cut off or of a rare kind: save it again with another program", f.Format, err)
	}
	return out, nil
}

// heedful is a reader that fails when its context is done, which ends the decoder that reads.
type heedful struct {
	ctx  context.Context
	rest func()
	r    *bytes.Reader
}

// heedfulRead is how many bytes are read at once: a decoder rests after as many. In two bytes a
// JPEG passes over two million samples.
const heedfulRead = 64

// Read implements io.Reader.
func (h *heedful) Read(p []byte) (int, error) {
	h.rest()
	if h.ctx.Err() != nil {
		return 0, context.Cause(h.ctx)
	}
	return h.r.Read(p[:min(len(p), heedfulRead)])
}

// flatten writes what was decoded as upright RGB over white. A picture that does not fill its
// canvas, as a frame of a GIF, has white around it.
func (f *File) flatten(ctx context.Context, rest func(), from image.Image) (RGB, error) {
	at, ok := from.(image.RGBA64Image)
	if !ok {
		return RGB{}, fmt.Errorf("its pixels are %T, which are not known here", from)
	}
	out := RGB{Width: f.Width, Height: f.Height, Pixels: make([]byte, 3*f.Width*f.Height)}
	width, height := f.orientation.shown(f.Width, f.Height) // as stored: turning twice is none
	origin, right, down := f.orientation.steps(f.Width, f.Height)
	bounds := from.Bounds()
	if bounds.Dx() != width || bounds.Dy() != height {
		for i := range out.Pixels {
			out.Pixels[i] = 0xff
		}
	}
	bounds = bounds.Intersect(image.Rect(0, 0, width, height))
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		rest()
		if ctx.Err() != nil {
			return RGB{}, context.Cause(ctx)
		}
		to := 3 * (origin + y*down + bounds.Min.X*right)
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := at.RGBA64At(x, y) // premultiplied, so white fills up what alpha leaves
			white := 0xffff - uint32(c.A)
			p := out.Pixels[to : to+3 : to+3]
			p[0], p[1], p[2] = byte((uint32(c.R)+white)>>8), byte((uint32(c.G)+white)>>8), byte((uint32(c.B)+white)>>8)
			to += 3 * right
		}
	}
	return out, nil
}

// Within computes the size of the picture when its longer side is scaled down to at most side
// pixels. It never grows.
func (p RGB) Within(side int) (width, height int) {
	longer := max(p.Width, p.Height)
	if longer <= side {
		return p.Width, p.Height
	}
	scale := func(n int) int { return (n*side + longer - 1) / longer } // rounded up, so that a strip does not become longer in proportion
	return scale(p.Width), scale(p.Height)
}

// Scaled is the picture with fewer pixels: each is the mean of those that it stands for. Neither
// size may be larger than before.
func (p RGB) Scaled(width, height int) RGB {
	out := RGB{Width: width, Height: height, Pixels: make([]byte, 3*width*height)}
	for y := range height {
		top, bottom := y*p.Height/height, (y+1)*p.Height/height
		for x := range width {
			left, right := x*p.Width/width, (x+1)*p.Width/width
			var sum [3]uint64
			for row := top; row < bottom; row++ {
				for _, at := range [3]int{0, 1, 2} {
					for i := 3*(row*p.Width+left) + at; i < 3*(row*p.Width+right); i += 3 {
						sum[at] += uint64(p.Pixels[i])
					}
				}
			}
			n := uint64((bottom - top) * (right - left))
			for at, s := range sum {
				out.Pixels[3*(y*width+x)+at] = byte((s + n/2) / n)
			}
		}
	}
	return out
}

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
