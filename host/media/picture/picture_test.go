// SPDX-License-Identifier: MIT

package picture

import (
	"bytes"
	"context"
	"embed"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"runtime"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/media/mediatest"
	"github.com/penstock/penstock/tools/must"
	"golang.org/x/image/bmp"
)

// The files of testdata were made by sharp (libvips) from one picture of 32×16 pixels with a
// colour in each quarter. In those with "alpha" the lower left quarter is transparent, those
// called "turned" and "progressive" say that they must be turned (orientation 6).
//
//go:embed testdata/*.*
var testdata embed.FS

var (
	red, green  = [3]byte{200, 30, 30}, [3]byte{30, 180, 40}
	blue, white = [3]byte{30, 60, 200}, [3]byte{240, 240, 240}
	empty       = [3]byte{255, 255, 255}
)

// quarters are the colours of a picture's quarters: upper left and right, lower left and right.
type quarters [4][3]byte

var (
	upright     = quarters{red, green, blue, white}
	transparent = quarters{red, green, empty, white}
	turned      = quarters{blue, red, white, green}
	printed     = quarters{{216, 1, 1}, {91, 255, 1}, {17, 68, 255}, {240, 240, 240}} // inks are mixed without a profile
)

func stored(t testing.TB, name string) []byte {
	t.Helper()
	return must.Get(testdata.ReadFile("testdata/" + name))(t)
}

const manyPixels = 1 << 24

func restless() {}

func decoded(t testing.TB, data []byte) RGB {
	t.Helper()
	f := must.Get(Open(data, manyPixels))(t)
	p := must.Get(f.Decode(context.Background(), restless))(t)
	if p.Width != f.Width || p.Height != f.Height || len(p.Pixels) != 3*p.Width*p.Height {
		t.Fatalf("%d bytes for %d×%d pixels; the header said %d×%d", len(p.Pixels), p.Width, p.Height, f.Width, f.Height)
	}
	return p
}

// compare looks at the middle of each quarter. Lossy formats are near.
func compare(t *testing.T, p RGB, want quarters) {
	t.Helper()
	for i, colour := range want {
		x, y := p.Width/4+i%2*p.Width/2, p.Height/4+i/2*p.Height/2
		got := p.Pixels[3*(y*p.Width+x):]
		for c := range 3 {
			if d := int(got[c]) - int(colour[c]); d < -24 || d > 24 {
				t.Errorf("quarter %d is %v; want %v", i, got[:3], colour)
				break
			}
		}
	}
}

func TestDecode_Formats(t *testing.T) {
	for name, want := range map[string]struct {
		format        string
		width, height int
		quarters
	}{
		"lossy.webp":          {"WebP", 32, 16, upright},
		"lossless.webp":       {"WebP", 32, 16, upright},
		"lossy-alpha.webp":    {"WebP", 32, 16, transparent},
		"lossless-alpha.webp": {"WebP", 32, 16, transparent},
		"turned.webp":         {"WebP", 16, 32, turned},
		"progressive.jpg":     {"JPEG", 16, 32, turned},
		"cmyk.jpg":            {"JPEG", 32, 16, printed},
		"interlaced.png":      {"PNG", 32, 16, upright},
		"alpha16.png":         {"PNG", 32, 16, transparent},
		"turned.png":          {"PNG", 16, 32, turned},
		"animated.gif":        {"GIF", 32, 16, upright},
	} {
		t.Run(name, func(t *testing.T) {
			data := stored(t, name)
			if got := FormatOf(data); got != want.format {
				t.Errorf("format %q; want %q", got, want.format)
			}
			p := decoded(t, data)
			if p.Width != want.width || p.Height != want.height {
				t.Errorf("%d×%d pixels; want %d×%d", p.Width, p.Height, want.width, want.height)
			}
			compare(t, p, want.quarters)
		})
	}
}

// drawn is the picture of the test files as Go has it.
func drawn(to interface {
	image.Image
	Set(x, y int, c color.Color)
}) image.Image {
	for y := range 16 {
		for x := range 32 {
			c := upright[x/16+2*(y/8)]
			to.Set(x, y, color.NRGBA{c[0], c[1], c[2], 255})
		}
	}
	return to
}

func encoded(t testing.TB, m image.Image, encode func(*bytes.Buffer, image.Image) error) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, encode(&b, m))
	return b.Bytes()
}

func asPNG(b *bytes.Buffer, m image.Image) error { return png.Encode(b, m) }

func asJPEG(b *bytes.Buffer, m image.Image) error {
	return jpeg.Encode(b, m, &jpeg.Options{Quality: 92})
}

func asBMP(b *bytes.Buffer, m image.Image) error { return bmp.Encode(b, m) }

func asGIF(b *bytes.Buffer, m image.Image) error { return gif.Encode(b, m, nil) }

func TestDecode_KindsOfPixels(t *testing.T) {
	bounds := image.Rect(0, 0, 32, 16)
	palette := color.Palette{}
	for _, c := range upright {
		palette = append(palette, color.NRGBA{c[0], c[1], c[2], 255})
	}
	for name, data := range map[string][]byte{
		"png of 16 bits":     encoded(t, drawn(image.NewNRGBA64(bounds)), asPNG),
		"png with a palette": encoded(t, drawn(image.NewPaletted(bounds, palette)), asPNG),
		"bmp":                encoded(t, drawn(image.NewRGBA(bounds)), asBMP),
		"bmp with a palette": encoded(t, drawn(image.NewPaletted(bounds, palette)), asBMP),
		"gif":                encoded(t, drawn(image.NewPaletted(bounds, palette)), asGIF),
		"jpeg":               encoded(t, drawn(image.NewRGBA(bounds)), asJPEG),
	} {
		t.Run(name, func(t *testing.T) { compare(t, decoded(t, data), upright) })
	}
	t.Run("gray", func(t *testing.T) {
		p := decoded(t, encoded(t, drawn(image.NewGray(bounds)), asPNG))
		if got := p.Pixels[:3]; got[0] != got[1] || got[1] != got[2] || got[0] < 60 || got[0] > 100 {
			t.Errorf("red became %v", got)
		}
	})
}

// Half transparent red over white is pink.
func TestDecode_Alpha_OverWhite(t *testing.T) {
	m := image.NewNRGBA(image.Rect(0, 0, 2, 1))
	m.SetNRGBA(0, 0, color.NRGBA{200, 0, 0, 128})
	p := decoded(t, encoded(t, m, asPNG))
	if want := []byte{228, 127, 127, 255, 255, 255}; !bytes.Equal(p.Pixels, want) {
		t.Errorf("%v; want %v", p.Pixels, want)
	}
}

// A frame of a GIF that does not fill the canvas has white around it.
func TestDecode_GIF_SmallFrame(t *testing.T) {
	frame := image.NewPaletted(image.Rect(2, 1, 4, 3), color.Palette{color.Black})
	var b bytes.Buffer
	must.Do(t, gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{frame}, Delay: []int{0}, Config: image.Config{Width: 5, Height: 4}}))
	p := decoded(t, b.Bytes())
	for y := range 4 {
		for x := range 5 {
			want := byte(255)
			if x >= 2 && x < 4 && y >= 1 && y < 3 {
				want = 0
			}
			if got := p.Pixels[3*(y*5+x)]; got != want {
				t.Errorf("pixel %d, %d is %d; want %d", x, y, got, want)
			}
		}
	}
}

// What Decode takes is no more than Open has said, whatever the format.
func TestDecode_Memory_IsWhatOpenSays(t *testing.T) {
	bounds := image.Rect(0, 0, 512, 384)
	big := image.NewNRGBA64(bounds)
	for i := range big.Pix {
		big.Pix[i] = byte(i * 7)
	}
	files := map[string][]byte{"png of 16 bits": encoded(t, big, asPNG), "jpeg": encoded(t, big, asJPEG),
		"bmp": encoded(t, big, asBMP), "gif": encoded(t, big, asGIF)}
	entries := must.Get(testdata.ReadDir("testdata"))(t)
	for _, e := range entries {
		files[e.Name()] = stored(t, e.Name())
	}
	for name, data := range files {
		f, err := Open(data, manyPixels)
		if err != nil {
			continue // such as the animated one
		}
		taken := allocated(func() { _, _ = f.Decode(context.Background(), restless) })
		if most := f.Memory + 256<<10; taken > most {
			t.Errorf("%s: %d bytes; at most %d were said", name, taken, most)
		}
	}
}

// allocated is how many bytes f allocates.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

func TestDecode_Cancelled(t *testing.T) {
	for _, name := range []string{"lossy.webp", "progressive.jpg", "interlaced.png", "animated.gif"} {
		f := must.Get(Open(stored(t, name), manyPixels))(t)
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errGone)
		if _, err := f.Decode(ctx, restless); !errors.Is(err, errGone) {
			t.Errorf("%s: %v; want the cause", name, err)
		}
	}
}

var errGone = errors.New("gone")

func TestOpen_Refusals(t *testing.T) {
	bomb := encoded(t, image.NewGray(image.Rect(0, 0, 8, 8)), asPNG)
	binary.BigEndian.PutUint32(bomb[16:], 14000)
	binary.BigEndian.PutUint32(bomb[20:], 14000)
	thin := encoded(t, image.NewGray(image.Rect(0, 0, 8, 8)), asPNG)
	binary.BigEndian.PutUint32(thin[16:], 3000)
	binary.BigEndian.PutUint32(thin[20:], 3000)
	huge := encoded(t, drawn(image.NewRGBA(image.Rect(0, 0, 32, 16))), asJPEG)
	at := bytes.Index(huge, []byte{0xff, 0xc0})
	binary.BigEndian.PutUint16(huge[at+5:], 4000)
	binary.BigEndian.PutUint16(huge[at+7:], 4000)
	lossless := bytes.Clone(huge)
	lossless[at+1] = 0xc3
	wide := encoded(t, drawn(image.NewRGBA(image.Rect(0, 0, 32, 16))), asBMP)
	binary.LittleEndian.PutUint32(wide[18:], 4000)
	for name, c := range map[string]struct {
		data []byte
		says string
	}{
		"bomb of 14000²":      {bomb, "is a PNG of 14000×14000 pixels, 196000000 in all; at most 16777216 are taken (media.image_pixels): scale it down"},
		"thin PNG":            {thin, "of 3000×3000 pixels and has only"},
		"thin JPEG":           {huge, "of 4000×4000 pixels and has only"},
		"thin BMP":            {wide, "of 4000×16 pixels and has only"},
		"lossless JPEG":       {lossless, "its compression is lossless"},
		"WebP of 2 GB":        {[]byte("RIFF\x20\x00\x00\x80WEBPVP8 \x00\x00\x00\x7f00000000"), `its part "VP8 " says it has 2130706432 bytes, and 8 follow`},
		"animated WebP":       {stored(t, "animated.webp"), "it is animated; send one picture of it"},
		"JPEG of scans":       {manyScans(t, 65), "it has more than 64 scans"},
		"JPEG without a scan": {[]byte("\xff\xd8\xff\xd9"), "it has no picture"},
		"GIF of nothing":      {[]byte("GIF89a\x00\x00\x00\x00\x00\x00\x00"), "0×0 pixels"},
		"PNG cut off":         {[]byte("\x89PNG\r\n\x1a\n"), "it does not begin with its header"},
		"text":                {[]byte("hello"), "JPEG, PNG, GIF, WebP or BMP"},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			taken := allocated(func() { _, err = Open(c.data, manyPixels) })
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; want %q", err, c.says)
			}
			if taken > 64<<10 {
				t.Errorf("the refusal took %d bytes", taken)
			}
		})
	}
}

// manyScans is a progressive JPEG whose last scan is there again and again.
func manyScans(t testing.TB, scans int) []byte {
	data := stored(t, "progressive.jpg")
	last := bytes.LastIndex(data, []byte{0xff, 0xda})
	end := bytes.LastIndex(data, []byte{0xff, 0xd9})
	out := bytes.Clone(data[:end])
	for range scans {
		out = append(out, data[last:end]...)
	}
	return append(out, 0xff, 0xd9)
}

// Each picture that is cut off anywhere is refused or decoded, and none panics or takes more than
// it may.
func TestOpen_CutOff(t *testing.T) {
	for _, name := range []string{"lossy.webp", "lossless-alpha.webp", "lossy-alpha.webp", "cmyk.jpg", "interlaced.png", "animated.gif"} {
		data := stored(t, name)
		for n := range data {
			if f, err := Open(data[:n], manyPixels); err == nil {
				if _, err := f.Decode(context.Background(), restless); err != nil && !strings.Contains(err.Error(), "save it again") {
					t.Fatalf("%s, %d bytes: %v", name, n, err)
				}
			}
		}
	}
}

// What follows a picture, as a file that is also an archive or a page has it, is not read.
func TestDecode_Polyglots(t *testing.T) {
	for _, name := range []string{"lossy.webp", "lossless.webp", "interlaced.png", "animated.gif"} {
		compare(t, decoded(t, append(stored(t, name), "<script>alert(1)</script>PK\x03\x04%PDF-1.7"...)), upright)
	}
}

// exifOf is EXIF that says an orientation, in either order of bytes, after some other entries.
func exifOf(order binary.AppendByteOrder, o uint16) []byte {
	out := []byte("II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		out = []byte("MM\x00*")
	}
	out = order.AppendUint32(out, 8)
	out = order.AppendUint16(out, 2)
	for _, entry := range [][2]uint16{{0x0100, 16}, {tagOrientation, o}} {
		out = order.AppendUint16(out, entry[0])
		out = order.AppendUint16(out, typeShort)
		out = order.AppendUint32(out, 1)
		out = order.AppendUint16(out, entry[1])
		out = append(out, 0, 0)
	}
	return order.AppendUint32(out, 0)
}

func jpegWith(data, exif []byte) []byte {
	segment := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(exif)+8))
	return bytes.Join([][]byte{data[:2], segment, []byte("Exif\x00\x00"), exif, data[2:]}, nil)
}

func pngWith(data, exif []byte) []byte {
	const end = 8 + 25 // of the header
	chunk := append([]byte("eXIf"), exif...)
	return bytes.Join([][]byte{data[:end], binary.BigEndian.AppendUint32(nil, uint32(len(exif))), chunk,
		binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(chunk)), data[end:]}, nil)
}

func webpWith(data, exif []byte) []byte {
	header := append([]byte("VP8X\x0a\x00\x00\x00\x08\x00\x00\x00"), 31, 0, 0, 15, 0, 0)
	notes := append(binary.LittleEndian.AppendUint32([]byte("EXIF"), uint32(len(exif))), exif...)
	body := bytes.Join([][]byte{[]byte("WEBP"), header, data[12:], notes}, nil)
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}

// A picture that is stored in any of the eight ways stands upright, as EXIF's specification says
// where the stored first row and column are.
func TestDecode_Orientation_AllEight(t *testing.T) {
	wants := map[uint16]quarters{
		1: {red, green, blue, white}, 2: {green, red, white, blue}, 3: {white, blue, green, red}, 4: {blue, white, red, green},
		5: {red, blue, green, white}, 6: {blue, red, white, green}, 7: {white, green, blue, red}, 8: {green, white, red, blue},
		0: {red, green, blue, white}, 9: {red, green, blue, white},
	}
	bounds := image.Rect(0, 0, 32, 16)
	pngData, jpegData := encoded(t, drawn(image.NewRGBA(bounds)), asPNG), encoded(t, drawn(image.NewRGBA(bounds)), asJPEG)
	for o, want := range wants {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			exif := exifOf(order, o)
			for format, data := range map[string][]byte{"JPEG": jpegWith(jpegData, exif), "PNG": pngWith(pngData, exif),
				"WebP": webpWith(stored(t, "lossless.webp"), exif)} {
				p := decoded(t, data)
				if swapped := o >= 5 && o <= 8; (p.Width < p.Height) != swapped {
					t.Errorf("%s, orientation %d: %d×%d pixels", format, o, p.Width, p.Height)
				}
				compare(t, p, want)
				if t.Failed() {
					t.Fatalf("%s, orientation %d, %v", format, o, order)
				}
			}
		}
	}
}

func TestOrientationOf_Broken(t *testing.T) {
	whole := exifOf(binary.LittleEndian, 6)
	if got := orientationOf(whole); got != 6 {
		t.Fatalf("whole: %d", got)
	}
	for n := range len(whole) - 14 {
		if got := orientationOf(whole[:n]); got != 1 && n < 30 {
			t.Errorf("%d bytes: %d", n, got)
		}
	}
	far := bytes.Clone(whole)
	binary.LittleEndian.PutUint32(far[4:], 1<<32-1)
	if got := orientationOf(far); got != 1 {
		t.Errorf("a directory far away: %d", got)
	}
}

// Notes of any size are passed over.
func TestOpen_HugeEXIF(t *testing.T) {
	data := encoded(t, drawn(image.NewRGBA(image.Rect(0, 0, 32, 16))), asJPEG)
	for range 200 {
		data = jpegWith(data, append(exifOf(binary.LittleEndian, 6), make([]byte, 65000)...))
	}
	if taken := allocated(func() { compare(t, decoded(t, data), turned) }); taken > 1<<20 {
		t.Errorf("%d bytes were taken", taken)
	}
}

func TestRGB_Within(t *testing.T) {
	for _, c := range [][4]int{{512, 512, 512, 512}, {1024, 512, 512, 256}, {300, 20, 300, 20}, {5000, 50, 512, 6}, {1, 9000, 1, 512}} {
		if w, h := (RGB{Width: c[0], Height: c[1]}).Within(512); w != c[2] || h != c[3] {
			t.Errorf("%d×%d became %d×%d, want %d×%d", c[0], c[1], w, h, c[2], c[3])
		}
	}
}

// A pixel is the mean of those that it stands for, also where sizes do not divide one another.
func TestRGB_Scaled(t *testing.T) {
	p := RGB{Width: 5, Height: 2}
	for i := range byte(10) {
		p.Pixels = append(p.Pixels, 10*i, 100, 255-i)
	}
	got := p.Scaled(2, 1)
	// The first is that of columns 0 and 1 of both rows: 0, 10, 50, 60; the second of the others.
	if want := []byte{30, 100, 252, 55, 100, 250}; got.Width != 2 || got.Height != 1 || !bytes.Equal(got.Pixels, want) {
		t.Errorf("%v, want %v", got.Pixels, want)
	}
	if same := p.Scaled(5, 2); !bytes.Equal(same.Pixels, p.Pixels) {
		t.Errorf("%v", same.Pixels)
	}
}

// TestDecode_AsPillow: the pixels are those that Pillow decodes, which testdata/record.py has
// recorded. Those of lossy WebP are the same to the bit; the transforms of JPEG decoders and the
// sums of alpha round otherwise.
func TestDecode_AsPillow(t *testing.T) {
	var golden map[string]struct {
		Width, Height int
		Pixels        string
	}
	must.Do(t, json.Unmarshal(stored(t, "pillow.json"), &golden))
	for name, want := range golden {
		most := map[string]int{"cmyk-unmarked.jpg": 4, "odd-lossy-alpha.webp": 1}[name]
		got := decoded(t, stored(t, name))
		pixels, err := hex.DecodeString(want.Pixels)
		if err != nil || got.Width != want.Width || got.Height != want.Height || len(got.Pixels) != len(pixels) {
			t.Errorf("%s: %d×%d pixels, %v; want %d×%d", name, got.Width, got.Height, err, want.Width, want.Height)
			continue
		}
		for i, p := range pixels {
			if d := int(got.Pixels[i]) - int(p); d > most || d < -most {
				t.Errorf("%s: colour %d of pixel (%d, %d) is %d, Pillow's %d", name, i%3, i/3%want.Width, i/3/want.Width, got.Pixels[i], p)
				break
			}
		}
	}
}

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
