// SPDX-License-Identifier: MIT

package mediatest

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync"
)

const pngMagic = "\x89PNG\r\n\x1a\n"

// chunk is a chunk of a PNG.
func chunk(name string, data []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	out = append(append(out, name...), data...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
}

func ihdr(width, height uint32, depth, kind, compression, filter, interlace byte) []byte {
	out := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)
	return chunk("IHDR", append(out, depth, kind, compression, filter, interlace))
}

// bomb are the pixels of a grey PNG of 6000×6000: 36 MB, packed into 35 KB; no server of the tests
// may take as much.
var bomb = sync.OnceValue(func() []byte { return deflated(6000 * 6001) })

// deflated is so many zero bytes, packed. A buffer fails at nothing.
func deflated(n int) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	for block := make([]byte, 1<<16); n > 0; n -= len(block) {
		_, _ = w.Write(block[:min(n, len(block))])
	}
	_ = w.Close()
	return b.Bytes()
}

func (m *maker) pngs() {
	good, end := PNG(30, 20), chunk("IEND", nil)
	for _, size := range [][2]uint32{{6000, 6000}, {65535, 65535}, {1 << 20, 2}, {2, 1 << 20}, {1<<31 - 1, 1<<31 - 1}, {1 << 31, 1}, {1<<32 - 1, 1<<32 - 1}, {0, 0}, {0, 5}, {5, 0}} {
		m.picture(fmt.Sprintf("PNG of %d×%d", size[0], size[1]), pngMagic, ihdr(size[0], size[1], 8, 0, 0, 0, 0), chunk("IDAT", bomb()), end)
	}
	m.picture("PNG of 1000×1000 that takes 16 MB to decode, and 3 more", pngMagic, ihdr(1000, 1000, 16, 6, 0, 0, 1), chunk("IDAT", deflated(9_000_000)), end,
		bytes.Repeat([]byte{0}, 100))
	for _, c := range [][5]byte{{3, 0, 0, 0, 0}, {0, 0, 0, 0, 0}, {255, 0, 0, 0, 0}, {8, 1, 0, 0, 0}, {8, 5, 0, 0, 0}, {8, 255, 0, 0, 0}, {8, 0, 1, 0, 0}, {8, 0, 0, 9, 0},
		{8, 0, 0, 0, 7}, {4, 2, 0, 0, 0}, {16, 3, 0, 0, 0}} {
		m.picture(fmt.Sprintf("PNG with the header %v", c), pngMagic, ihdr(10, 10, c[0], c[1], c[2], c[3], c[4]), chunk("IDAT", deflated(1000)), end)
	}
	header := ihdr(30, 20, 8, 0, 0, 0, 0)
	m.picture("PNG with less than its pixels", pngMagic, header, chunk("IDAT", deflated(100)), end)
	m.picture("PNG with a filter that there is not", pngMagic, header, chunk("IDAT", joined([]any{"x\x01\x01", uint16(620), ^uint16(620), bytes.Repeat([]byte{9}, 620), "\x1f\x4a\x15\xcd"})), end)
	m.picture("PNG with pixels that are not packed", pngMagic, header, chunk("IDAT", bytes.Repeat([]byte{7}, 620)), end)
	m.picture("PNG without pixels", pngMagic, header, end)
	m.picture("PNG with pixels before its header", pngMagic, chunk("IDAT", deflated(620)), header, end)
	m.picture("PNG without a palette", pngMagic, ihdr(30, 20, 8, 3, 0, 0, 0), chunk("IDAT", deflated(620)), end)
	m.picture("PNG with a palette of 300", pngMagic, ihdr(30, 20, 8, 3, 0, 0, 0), chunk("PLTE", make([]byte, 900)), chunk("IDAT", deflated(620)), end)
	m.picture("PNG with two headers", pngMagic, header, header, chunk("IDAT", deflated(620)), end)
	m.picture("PNG with a chunk of 2 GB", pngMagic, header, "\x7f\xff\xff\xffIDAT", deflated(620))
	m.picture("PNG with a chunk of 4 GB", pngMagic, header, "\xff\xff\xff\xffeXIf", deflated(620))
	m.picture("PNG with 5000 texts and no pixels", pngMagic, header, bytes.Repeat(chunk("tEXt", []byte("a\x00b")), 5000), end)
	m.picture("PNG with 5000 empty parts of pixels", pngMagic, header, bytes.Repeat(chunk("IDAT", nil), 5000), end)
	m.picture("PNG with a huge EXIF and no pixels", pngMagic, header, chunk("eXIf", exifLoop(512<<10)), end)
	for _, i := range []int{8, 16, 20, 24, 29, 40, len(good) / 2, len(good) - 20} {
		bad := slices.Clone(good)
		bad[i] ^= 0x55
		m.picture(fmt.Sprintf("PNG with a wrong byte %d", i), bad)
	}
	m.picture("PNG's beginning on a JPEG", pngMagic, JPEG(20, 20))
}

// exifLoop is an EXIF of so many bytes whose directories lead to one another.
func exifLoop(n int) []byte {
	out := joined([]any{"II*\x00", uint32(8), uint16(0xffff)})
	for len(out) < n {
		out = append(out, joined([]any{uint16(0x8769), uint16(4), uint32(1), uint32(8)})...)
	}
	return out
}

// segment is one of a JPEG.
func segment(marker byte, data []byte) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(len(data)+2)), data...)
}

// sof is the header of a JPEG of three colours.
func sof(marker byte, precision byte, width, height uint16, colours, sampling byte) []byte {
	data := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16([]byte{precision}, height), width)
	data = append(data, colours)
	for c := range colours {
		data = append(data, c+1, sampling, 0)
	}
	return segment(marker, data)
}

func (m *maker) jpegs() {
	good := JPEG(60, 40)
	start := bytes.Index(good, []byte{0xff, 0xc0})
	if start < 0 {
		panic("a JPEG without its header")
	}
	before, after := good[:start], good[start+19:]
	for _, c := range []struct {
		name string
		sof  []byte
	}{
		{"65535×65535", sof(0xc0, 8, 65535, 65535, 3, 0x11)}, {"0×0", sof(0xc0, 8, 0, 0, 3, 0x11)}, {"0×40", sof(0xc0, 8, 0, 40, 3, 0x11)}, {"60×0", sof(0xc0, 8, 60, 0, 3, 0x11)},
		{"1000×1000 in a kilobyte", sof(0xc0, 8, 1000, 1000, 3, 0x11)}, {"12 bits", sof(0xc1, 12, 60, 40, 3, 0x11)}, {"2 colours", sof(0xc0, 8, 60, 40, 2, 0x11)},
		{"255 colours", sof(0xc0, 8, 60, 40, 255, 0x11)}, {"no colour", sof(0xc0, 8, 60, 40, 0, 0)}, {"a sampling of 0", sof(0xc0, 8, 60, 40, 3, 0)},
		{"a sampling of 15", sof(0xc0, 8, 60, 40, 3, 0xff)}, {"arithmetic codes", sof(0xc9, 8, 60, 40, 3, 0x11)}, {"no loss", sof(0xc3, 8, 60, 40, 3, 0x11)},
		{"a hierarchy", sof(0xc5, 8, 60, 40, 3, 0x11)}, {"no header", nil}, {"two headers", append(sof(0xc0, 8, 60, 40, 3, 0x11), sof(0xc0, 8, 60, 40, 3, 0x11)...)},
	} {
		m.picture("JPEG with "+c.name, before, c.sof, after)
	}
	m.picture("JPEG with nothing but its beginning and end", "\xff\xd8\xff\xd9")
	m.picture("JPEG with a segment that says it has no length", "\xff\xd8\xff\xe1\x00\x00", after)
	m.picture("JPEG with a segment past its end", "\xff\xd8\xff\xe1\xff\xff", "Exif\x00\x00")
	m.picture("JPEG with a huge EXIF and no pixels", "\xff\xd8", bytes.Repeat(segment(0xe1, append([]byte("Exif\x00\x00"), exifLoop(60<<10)...)[:65533]), 8), "\xff\xd9")
	m.picture("JPEG with 20000 fills", "\xff\xd8", bytes.Repeat([]byte{0xff}, 20000))
	m.picture("JPEG with 20000 restarts", "\xff\xd8", bytes.Repeat([]byte{0xff, 0xd0}, 10000), "\xff\xd9")
	m.picture("JPEG with random codes", before, sof(0xc0, 8, 60, 40, 3, 0x11), segment(0xc4, bytes.Repeat([]byte{0xff}, 200)), after)
	m.picture("JPEG of 4000 scans", "\xff\xd8", sof(0xc2, 8, 900, 900, 3, 0x11), bytes.Repeat(append(segment(0xda, []byte{1, 1, 0, 0, 63, 0}), 0), 4000), "\xff\xd9")
}

func (m *maker) gifs() {
	const frame = ",\x00\x00\x00\x00"
	canvas := func(width, height uint16) []byte {
		return joined([]any{"GIF89a", width, height, uint8(0x80), uint8(0), uint8(0), "\x00\x00\x00\xff\xff\xff"})
	}
	m.picture("GIF of 65535×65535", canvas(65535, 65535), frame, uint16(65535), uint16(65535), "\x00\x02\x02L\x01\x00;")
	m.picture("GIF of 0×0", canvas(0, 0), frame, uint16(1), uint16(1), "\x00\x02\x02L\x01\x00;")
	m.picture("GIF with a picture larger than itself", canvas(10, 10), frame, uint16(60000), uint16(60000), "\x00\x02\x02L\x01\x00;")
	m.picture("GIF with a picture beside itself", canvas(10, 10), ",\xff\x00\xff\x00", uint16(10), uint16(10), "\x00\x02\x02L\x01\x00;")
	m.picture("GIF with less than its pixels", canvas(500, 500), frame, uint16(500), uint16(500), "\x00\x02\x02L\x01\x00;")
	m.picture("GIF with codes of 15 bits", canvas(10, 10), frame, uint16(10), uint16(10), "\x00\x0f\x02L\x01\x00;")
	m.picture("GIF with codes of random bits", canvas(200, 200), frame, uint16(200), uint16(200), "\x00\x08", bytes.Repeat([]byte("\x08abcd\xff\xff\xff\xff"), 50), "\x00;")
	m.picture("GIF without a picture", canvas(10, 10), ";")
	m.picture("GIF with 20000 extensions and no picture", canvas(10, 10), strings.Repeat("!\xf9\x04\x00\x00\x00\x00\x00", 20000), ";")
	m.picture("GIF with a comment without an end", canvas(10, 10), "!\xfe", bytes.Repeat(append([]byte{255}, make([]byte, 255)...), 400))
	m.picture("GIF with 10000 pictures that are cut off", canvas(10, 10), strings.Repeat(frame+"\x0a\x00\x0a\x00\x00\x02\x00", 10000), ";")
	m.picture("GIF without a palette", "GIF89a", uint16(10), uint16(10), "\x00\x00\x00", frame, uint16(10), uint16(10), "\x00\x02\x02L\x01\x00;")
	m.picture("GIF of another year", "GIF99a", GIF(20, 20)[6:200])
}

func (m *maker) webps() {
	lossy, lossless := Lossy(), Lossless()
	riff := func(parts ...any) []byte {
		inner := joined(parts)
		return joined([]any{"RIFF", uint32(len(inner) + 4), "WEBP", inner})
	}
	for name, data := range map[string][]byte{"lossy": lossy, "lossless": lossless} {
		for _, i := range []int{12, 15, 16, 19, 20, 23} {
			bad := slices.Clone(data)
			bad[i] ^= 0xff
			m.picture(fmt.Sprintf("%s WebP with a wrong byte %d", name, i), bad)
		}
	}
	m.picture("WebP of 16384×16384 without loss", riff("VP8L", uint32(8), "\x2f\xff\xff\xff\x0f\x00\x00\x00"))
	m.picture("WebP of 16383×16383", riff("VP8 ", uint32(16), "\x00\x00\x00\x9d\x01\x2a\xff\x3f\xff\x3f", "\x00\x00\x00\x00\x00\x00"))
	m.picture("WebP of 0×0", riff("VP8 ", uint32(16), "\x00\x00\x00\x9d\x01\x2a\x00\x00\x00\x00", "\x00\x00\x00\x00\x00\x00"))
	m.picture("WebP that moves", riff("VP8X", uint32(10), "\x02\x00\x00\x00\x0f\x00\x00\x0f\x00\x00", "ANIM", uint32(6), make([]byte, 6)))
	m.picture("WebP of 16777216×16777216", riff("VP8X", uint32(10), "\x10\x00\x00\x00\xff\xff\xff\xff\xff\xff", "ALPH", uint32(4), "\x00\x00\x00\x00"))
	m.picture("WebP with an extended header and nothing else", riff("VP8X", uint32(10), make([]byte, 10)))
	m.picture("WebP with a part of 4 GB", riff("VP8 ", uint32(1<<32-1), make([]byte, 100)))
	m.picture("WebP with a header of 4 GB", "RIFF", uint32(1<<32-1), "WEBP", "VP8X", uint32(1<<32-1), make([]byte, 64))
	m.picture("WebP with 10000 parts and no picture", riff(strings.Repeat("JUNK\x00\x00\x00\x00", 10000)))
	m.picture("WebP with a sound in it", riff("fmt ", uint32(16), make([]byte, 16), "data", uint32(4), "abcd"))
	m.picture("WebP with bits at random", riff("VP8L", uint32(204), "\x2f\x3f\xc0\x0f\x00", bytes.Repeat([]byte("\xa5\x5a\x33"), 66), "\x00"))
}

func (m *maker) bmps() {
	bmp := func(width, height uint32, planes, bits uint16, compression, used uint32, rest ...any) []byte {
		return joined(append([]any{"BM", uint32(0), uint32(0), uint32(54), uint32(40), width, height, planes, bits, compression, uint32(0), uint32(0), uint32(0), used, uint32(0)}, rest...))
	}
	pixels := make([]byte, 400)
	m.picture("BMP of 65535×65535", bmp(65535, 65535, 1, 24, 0, 0, pixels))
	m.picture("BMP of -10×10", bmp(1<<32-10, 10, 1, 24, 0, 0, pixels))
	m.picture("BMP of 10×-2147483648", bmp(10, 1<<31, 1, 24, 0, 0, pixels))
	m.picture("BMP of 2147483647×2147483647", bmp(1<<31-1, 1<<31-1, 1, 32, 0, 0, pixels))
	m.picture("BMP of 0×0", bmp(0, 0, 1, 24, 0, 0, pixels))
	m.picture("BMP of 1000×1000 in 400 bytes", bmp(1000, 1000, 1, 24, 0, 0, pixels))
	for _, bits := range []uint16{0, 1, 2, 7, 16, 64, 65535} {
		m.picture(fmt.Sprintf("BMP of %d bits", bits), bmp(10, 10, 1, bits, 0, 0, pixels))
	}
	m.picture("BMP with no plane", bmp(10, 10, 0, 24, 0, 0, pixels))
	m.picture("BMP that is packed", bmp(10, 10, 1, 8, 1, 0, pixels))
	m.picture("BMP with a JPEG in it", bmp(20, 20, 1, 0, 4, 0, JPEG(20, 20)))
	m.picture("BMP with a palette of 4 billion", bmp(10, 10, 1, 8, 0, 1<<32-1, pixels))
	m.picture("BMP with pixels past its end", "BM", uint32(0), uint32(0), uint32(1<<32-1), uint32(40), uint32(10), uint32(10), uint16(1), uint16(24), make([]byte, 24+400))
	m.picture("BMP with a header of 4 GB", "BM", uint32(0), uint32(0), uint32(54), uint32(1<<32-1), make([]byte, 500))
}
