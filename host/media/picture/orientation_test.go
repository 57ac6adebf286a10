// SPDX-License-Identifier: MIT

package picture

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"testing"
)

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
