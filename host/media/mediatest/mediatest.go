// SPDX-License-Identifier: MIT

// Package mediatest makes files that no server should trust, for tests.
package mediatest

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"slices"
	"strings"
	"sync"

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

// File is a file that a server must refuse.
type File struct {
	Name  string
	Sound bool // it is sent as a sound
	Data  []byte
}

// The bounds of the servers that the files are for: their bombs are just above these, or far.
const (
	Pixels  = 1 << 20
	Seconds = 20
	Memory  = 24 << 20 // bytes
)

// Hostile are some hundreds of files: cut off, with headers that lie, bombs, files of two kinds,
// and files that are neither picture nor sound. Nobody changes them.
var Hostile = sync.OnceValue(func() []File {
	m := maker{}
	m.cutOff()
	m.pngs()
	m.jpegs()
	m.gifs()
	m.webps()
	m.bmps()
	m.wavs()
	m.mp3s()
	m.strangers()
	return m.files
})

type maker struct{ files []File }

// picture adds a file that is sent as a picture.
func (m *maker) picture(name string, parts ...any) {
	m.files = append(m.files, File{Name: name, Data: joined(parts)})
}

func (m *maker) sound(name string, parts ...any) {
	m.files = append(m.files, File{Name: name, Sound: true, Data: joined(parts)})
}

// joined writes texts and bytes as they stand, and numbers in little endian by their size.
func joined(parts []any) (out []byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			out = append(out, p...)
		case []byte:
			out = append(out, p...)
		case uint8, uint16, uint32, uint64:
			var err error
			if out, err = binary.Append(out, binary.LittleEndian, p); err != nil {
				panic(err)
			}
		default:
			panic(fmt.Sprintf("a part of a file is %T", p))
		}
	}
	return out
}

// cutOff adds what is left of good files. An MP3 has no end that it could lack, so there is none.
func (m *maker) cutOff() {
	good := map[string][]byte{"PNG": PNG(60, 40), "JPEG": JPEG(60, 40), "GIF": GIF(60, 40), "BMP": BMP(60, 40), "lossy WebP": Lossy(),
		"lossless WebP": Lossless()}
	for name, data := range good {
		for tenths := range 10 {
			m.picture(fmt.Sprintf("%s cut off at %d/10", name, tenths), data[:len(data)*tenths/10])
		}
		for _, n := range []int{1, 2, 3, 7, 11, 12, 13, 20, 25, 29} {
			m.picture(fmt.Sprintf("%s of %d bytes", name, n), data[:n])
		}
	}
	wav := WAV(8000, 1, make([]byte, 2000))
	for tenths := range 10 {
		m.sound(fmt.Sprintf("WAV cut off at %d/10 of its header", tenths), wav[:44*tenths/10])
	}
	for _, n := range []int{1, 4, 8, 11, 12, 16, 20, 36, 43, 44, 45} {
		m.sound(fmt.Sprintf("WAV of %d bytes", n), wav[:n])
	}
}

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

// deflated packs n zero bytes. A buffer fails at nothing.
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

// exifLoop writes an EXIF of n bytes whose directories lead to one another.
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

// format is how a WAV describes its samples.
type format struct {
	kind, channels  uint16
	rate, bytesEach uint32
	align, bits     uint16
}

func (f format) wav(samples any) []byte {
	data := joined([]any{samples})
	return joined([]any{"RIFF", uint32(36 + len(data)), "WAVE", "fmt ", uint32(16), f.kind, f.channels, f.rate, f.bytesEach, f.align, f.bits, "data", uint32(len(data)), data})
}

func (m *maker) wavs() {
	samples := make([]byte, 800)
	for name, f := range map[string]format{
		"no channel": {1, 0, 8000, 16000, 0, 16}, "65535 channels": {1, 65535, 8000, 16000, 65534, 16}, "a rate of 0": {1, 1, 0, 0, 2, 16}, "a rate of 1": {1, 1, 1, 2, 2, 16},
		"a rate of 4 GHz": {1, 1, 1<<32 - 1, 1<<32 - 1, 2, 16}, "0 bits": {1, 1, 8000, 8000, 0, 0}, "1 bit": {1, 1, 8000, 1000, 1, 1}, "65535 bits": {1, 1, 8000, 8000, 8191, 65535},
		"12 bits": {1, 1, 8000, 12000, 2, 12}, "frames of 0 bytes": {1, 1, 8000, 16000, 0, 16}, "frames of 65535 bytes": {1, 1, 8000, 16000, 65535, 16},
		"ADPCM": {2, 1, 8000, 4000, 256, 4}, "µ-law of 16 bits": {7, 1, 8000, 16000, 2, 16}, "GSM": {49, 1, 8000, 1625, 65, 0}, "MP3 in it": {85, 2, 44100, 16000, 1, 0},
		"no kind": {0, 1, 8000, 16000, 2, 16}, "the extended kind and no more": {65534, 1, 8000, 16000, 2, 16}, "floats of 16 bits": {3, 1, 8000, 16000, 2, 16},
	} {
		m.sound("WAV with "+name, f.wav(samples))
	}
	fmtChunk := joined([]any{"fmt ", uint32(16), uint16(1), uint16(1), uint32(8000), uint32(16000), uint16(2), uint16(16)})
	floats := format{3, 1, 8000, 32000, 4, 32}
	m.sound("WAV of numbers that are none", floats.wav(bytes.Repeat([]byte("\x00\x00\xc0\x7f"), 200)))
	m.sound("WAV without samples", "RIFF", uint32(36), "WAVE", fmtChunk)
	m.sound("WAV with no samples", "RIFF", uint32(44), "WAVE", fmtChunk, "data", uint32(0))
	m.sound("WAV with half a sample", "RIFF", uint32(45), "WAVE", fmtChunk, "data", uint32(1), "x")
	m.sound("WAV with its format after its samples", "RIFF", uint32(100), "WAVE", "data", uint32(4), "abcd", fmtChunk)
	m.sound("WAV with a format of 4 GB", "RIFF", uint32(100), "WAVE", "fmt ", uint32(1<<32-1), samples)
	m.sound("WAV with a format of 4 bytes", "RIFF", uint32(100), "WAVE", "fmt ", uint32(4), "\x01\x00\x01\x00", "data", uint32(4), "abcd")
	m.sound("WAV with 10000 lists and no samples", "RIFF", uint32(100), "WAVE", fmtChunk, strings.Repeat("LIST\x00\x00\x00\x00", 10000))
	m.sound("WAV with a list of 4 GB", "RIFF", uint32(100), "WAVE", fmtChunk, "LIST", uint32(1<<32-1), samples)
	m.sound("WAV that lasts too long", format{1, 1, 1000, 1000, 1, 8}.wav(make([]byte, 1000*(Seconds+1))))
	m.sound("WAV of 64 bits", "RF64", uint32(1<<32-1), "WAVE", "ds64", uint32(28), make([]byte, 28), fmtChunk, "data", uint32(1<<32-1), samples)
	m.sound("WAV in another order of bytes", "RIFX", uint32(100), "WAVE", fmtChunk, "data", uint32(4), "abcd")
	m.sound("WAV with a picture in it", "RIFF", uint32(100), "WAVE", "VP8 ", uint32(16), make([]byte, 16))
}

func (m *maker) mp3s() {
	const header = "\xff\xfb\x90\x00"
	for name, data := range map[string]any{
		"a header and nothing else":     header,
		"headers and nothing else":      strings.Repeat("\xff\xfb\x90\x04", 3),
		"the first half of a frame":     header + strings.Repeat("\x00", 200),
		"a tag and nothing else":        "ID3\x04\x00\x00\x00\x00\x00\x00",
		"a tag of 256 MB":               "ID3\x04\x00\x00\x7f\x7f\x7f\x7f" + strings.Repeat("\x00", 100),
		"a tag of a wrong length":       "ID3\x04\x00\x00\xff\xff\xff\xff" + strings.Repeat("x", 100),
		"10000 tags":                    strings.Repeat("ID3\x04\x00\x00\x00\x00\x00\x00", 10000),
		"a tag and text":                "ID3\x04\x00\x00\x00\x00\x00\x00" + strings.Repeat("no sound here. ", 300),
		"a tag and a picture":           "ID3\x04\x00\x00\x00\x00\x00\x00" + string(PNG(20, 20)),
		"no bit rate, and no end of it": "\xff\xfb\x00\x00" + strings.Repeat("\x01", 3000),
		"MPEG 2.5":                      strings.Repeat("\xff\xe3\x18\xc4"+strings.Repeat("\x00", 68), 20),
		"layer II":                      strings.Repeat("\xff\xfd\x90\x00"+strings.Repeat("\x00", 413), 5),
	} {
		m.sound("MP3 with "+name, data)
	}
}

// strangers adds files of other kinds, some of which end as a picture or begin nearly like one.
func (m *maker) strangers() {
	png := PNG(20, 20)
	entities := `<?xml version="1.0"?><!DOCTYPE s [<!ENTITY a0 "ha">`
	for i := 1; i < 30; i++ {
		entities += fmt.Sprintf(`<!ENTITY a%d "&a%d;&a%[2]d;">`, i, i-1)
	}
	for name, data := range map[string]any{
		"nothing": "", "one byte": "\x89", "spaces": strings.Repeat(" ", 5000), "zeros": make([]byte, 1<<16), "a text": "a picture of a cat", "JSON": `{"image":"cat.png"}`,
		"an SVG": "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "an SVG after spaces": " \r\n\t<svg/>", "an SVG that reads a file": `<?xml version="1.0"?><!DOCTYPE s [<!ENTITY f SYSTEM "file:///etc/passwd">]><svg><text>&f;</text></svg>`,
		"an SVG of a billion entities": entities + "]><svg>&a29;</svg>", "an SVG with a picture from elsewhere": "<svg><image href='http://169.254.169.254/latest/meta-data'/></svg>", "an SVG in another encoding": "\xff\xfe<\x00s\x00v\x00g\x00",
		"a packed SVG": "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", "a page": "<!DOCTYPE html><script>alert(1)</script>", "a page before a picture": "<html>" + string(png), "a line before a picture": "\n" + string(png),
		"a picture in base64": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==", "a data: URL": "data:image/png;base64,iVBORw0KGgo=",
		"a PDF": "%PDF-1.7\n1 0 obj<</Type/Catalog/OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj", "a PDF after some bytes": strings.Repeat("x", 900) + "%PDF-1.4", "a PDF before a JPEG": "%PDF-1.4\n" + string(JPEG(20, 20)),
		"an archive before a picture": "PK\x03\x04" + string(png), "a TIFF": "II*\x00\x08\x00\x00\x00\x00\x00", "a TIFF of the other order": "MM\x00*\x00\x00\x00\x08", "a large TIFF": "II+\x00\x08\x00\x00\x00", "an icon": "\x00\x00\x01\x00\x01\x00\x10\x10",
		"a HEIC": "\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic", "an AVIF": "\x00\x00\x00\x1cftypavif\x00\x00\x00\x00", "a JPEG XL": "\xff\x0a\x00\x00", "a JPEG XL in a box": "\x00\x00\x00\x0cJXL \x0d\x0a\x87\x0a", "a JPEG 2000": "\x00\x00\x00\x0cjP  \x0d\x0a\x87\x0a",
		"a Photoshop file": "8BPS\x00\x01", "a PostScript file": "%!PS-Adobe-3.0 EPSF-3.0", "a PNM": "P6\n100000 100000\n255\n", "an XPM": "/* XPM */\nstatic char *a[] = {", "ImageMagick's script": "push graphic-context\nviewbox 0 0 1 1\nfill 'url(https://127.0.0.1/|id)'\npop graphic-context",
		"a playlist": "#EXTM3U\n#EXTINF:10.0,\nfile:///etc/passwd\n", "a video": "\x00\x00\x00\x18ftypisom\x00\x00\x02\x00", "a video of Matroska's": "\x1aE\xdf\xa3\x01\x00\x00\x00", "an AVI": "RIFF\x24\x00\x00\x00AVI LIST", "an animated cursor": "RIFF\x24\x00\x00\x00ACONanih",
		"a program": "\x7fELF\x02\x01\x01\x00", "a program of Windows": "MZ\x90\x00\x03", "a WebAssembly module": "\x00asm\x01\x00\x00\x00", "a model": "GGUF\x03\x00\x00\x00", "a pickle": "\x80\x04\x95\x00\x00cos\nsystem\n", "a 7z": "7z\xbc\xaf\x27\x1c", "an office document": "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
	} {
		m.picture("what is "+name, data)
	}
	for name, data := range map[string]any{
		"Ogg": "OggS\x00\x02", "FLAC": "fLaC\x00\x00\x00\x22", "AAC": "\xff\xf1\x50\x80", "an M4A": "\x00\x00\x00\x20ftypM4A \x00\x00\x00\x00", "an AIFF": "FORM\x00\x00\x00\x2eAIFFCOMM", "AU": ".snd\x00\x00\x00\x18", "AMR": "#!AMR\n", "a MIDI": "MThd\x00\x00\x00\x06",
		"a WMA": "\x30\x26\xb2\x75\x8e\x66\xcf\x11", "a picture": png, "samples alone": make([]byte, 4000),
	} {
		m.sound("what is "+name, data)
	}
}
