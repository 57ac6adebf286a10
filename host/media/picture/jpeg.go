// SPDX-License-Identifier: MIT

package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"strings"
)

// maxScans is how many scans a JPEG may have. Each is a pass over all pixels of a progressive
// picture, however few bytes it has; programs that write pictures use up to about twenty.
const maxScans = 64

// maxPassed is how many samples the scans of a JPEG may pass over together. As phones write them,
// with half the rows and columns of colour, the usual ten scans of 50 million pixels have 400
// million, and those that mozjpeg chooses 425 million.
const maxPassed = 500_000_000

// JPEG's markers.
const (
	markSOF0  = 0xc0 // baseline
	markSOF2  = 0xc2 // progressive
	markDHT   = 0xc4
	markJPG   = 0xc8
	markDAC   = 0xcc
	markRST0  = 0xd0
	markRST7  = 0xd7
	markEOI   = 0xd9
	markSOS   = 0xda
	markSOFF  = 0xcf
	markAPP1  = 0xe1
	markAPP14 = 0xee // Adobe's
)

// jpegReader walks the segments of a JPEG as image/jpeg does, without decoding any.
type jpegReader struct {
	header
	progressive bool
	recoloured  bool // its components may be something else than YCbCr
	marked      bool // it says so by Adobe's marker
	components  int
	samples     int64 // of all components, padded to whole blocks
	scans       int
	ids         []byte  // of the components
	each        []int64 // their samples
	passed      int64   // samples that the scans pass over
}

func readJPEG(data []byte) (header, error) {
	j := &jpegReader{header: header{decode: jpeg.Decode}}
	rest := data[2:]
	for {
		marker, segment, after, ok := nextSegment(rest)
		if !ok || marker == markEOI {
			break
		}
		if err := j.segment(marker, segment); err != nil {
			return header{}, err
		}
		rest = after
	}
	if j.components == 0 || j.scans == 0 {
		return header{}, errors.New("it has no picture, or ends before it")
	}
	if j.components == 4 && !j.marked {
		j.decode = decodeUnmarked
	}
	j.least = j.samples / 64 / 8 // each block has a bit at least
	if j.progressive {
		j.spent = 4 * j.samples // the coefficients, which are kept until all scans are read
	}
	j.work = j.samples + j.spent
	if j.recoloured || j.components == 4 { // by a copy, to CMYK or RGB
		j.work += 4 * int64(j.width) * int64(j.height)
	}
	return j.header, nil
}

// adobe is the marker with which Adobe says that four components are inks, and inverted.
const adobe = "\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x00"

// decodeUnmarked decodes a picture of four inks without that marker, which image/jpeg refuses, as
// Pillow does: as if it had the marker.
func decodeUnmarked(r io.Reader) (image.Image, error) {
	var start [2]byte
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return nil, err
	}
	return jpeg.Decode(io.MultiReader(bytes.NewReader(start[:]), strings.NewReader(adobe), r))
}

// nextSegment finds the next marker of a JPEG and its segment; after is what follows. Bytes before
// the marker, as those of a scan, are skipped. Not ok: there is none, or it is cut off.
func nextSegment(data []byte) (marker byte, segment, after []byte, ok bool) {
	for {
		i := bytes.IndexByte(data, 0xff)
		if i < 0 || i+1 >= len(data) {
			return 0, nil, nil, false
		}
		marker, data = data[i+1], data[i+1:]
		switch {
		case marker == 0xff: // a fill byte
			continue
		case marker == 0, marker >= markRST0 && marker <= markRST7: // within a scan
			data = data[1:]
			continue
		case marker == markEOI:
			return marker, nil, nil, true
		}
		data = data[1:]
		if len(data) < 2 {
			return 0, nil, nil, false
		}
		n := int(data[0])<<8 | int(data[1])
		if n < 2 || n > len(data) {
			return 0, nil, nil, false
		}
		return marker, data[2:n], data[n:], true
	}
}

func (j *jpegReader) segment(marker byte, segment []byte) error {
	switch {
	case marker == markSOS:
		if j.scans++; j.scans > maxScans {
			return fmt.Errorf("it has more than %d scans, each of which is a pass over all pixels", maxScans)
		}
		if j.passed += j.passedBy(segment); j.passed > maxPassed {
			return fmt.Errorf("its %d scans pass over more than %d million samples", j.scans, maxPassed/1_000_000)
		}
	case marker == markAPP14:
		j.recoloured, j.marked = true, j.marked || bytes.HasPrefix(segment, []byte("Adobe"))
	case marker == markAPP1 && j.orientation == 0 && bytes.HasPrefix(segment, []byte("Exif\x00\x00")):
		j.orientation = orientationOf(segment)
	case marker >= markSOF0 && marker <= markSOFF && marker != markDHT && marker != markJPG && marker != markDAC:
		return j.frame(marker, segment)
	}
	return nil
}

// passedBy is how many samples a scan passes over: those of the components that it names.
func (j *jpegReader) passedBy(segment []byte) (n int64) {
	if len(segment) == 0 {
		return 0
	}
	for c := range min(int(segment[0]), (len(segment)-1)/2) {
		if i := bytes.IndexByte(j.ids, segment[1+2*c]); i >= 0 {
			n += j.each[i]
		}
	}
	return n
}

// frame reads the header of the picture.
func (j *jpegReader) frame(marker byte, segment []byte) error {
	switch {
	case j.components != 0:
		return errors.New("it has several pictures in one")
	case marker > markSOF2:
		return errors.New("its compression is lossless, arithmetic or differential; baseline and progressive are read here")
	case len(segment) < 6 || len(segment) != 6+3*int(segment[5]):
		return errors.New("its header is broken")
	case segment[0] != 8:
		return fmt.Errorf("it has %d bits a sample; 8 are read here", segment[0])
	}
	j.progressive = marker == markSOF2
	j.height, j.width = int(segment[1])<<8|int(segment[2]), int(segment[3])<<8|int(segment[4])
	j.components = int(segment[5])
	most, mostV := 1, 1
	for c := range j.components {
		most, mostV = max(most, int(segment[7+3*c]>>4)), max(mostV, int(segment[7+3*c]&15))
	}
	units := int64((j.width+8*most-1)/(8*most)) * int64((j.height+8*mostV-1)/(8*mostV))
	if j.components == 1 { // whatever it says of its sampling
		j.samples = int64((j.width+7)/8) * int64((j.height+7)/8) * 64
		j.ids, j.each = []byte{segment[6]}, []int64{j.samples}
		return nil
	}
	if j.components == 3 && segment[6] == 'R' && segment[9] == 'G' && segment[12] == 'B' {
		j.recoloured = true
	}
	for c := range j.components {
		h, v := int64(segment[7+3*c]>>4), int64(segment[7+3*c]&15)
		j.samples += units * h * v * 64
		j.ids, j.each = append(j.ids, segment[6+3*c]), append(j.each, units*h*v*64)
	}
	return nil
}

// orientation is how a stored picture must be turned to stand upright: EXIF's 1 to 8. 0 is 1.
type orientation uint16

// swaps reports whether the stored rows are columns of the picture.
func (o orientation) swaps() bool { return o >= 5 && o <= 8 }

// shown is the upright size of a picture by its stored size, and the stored one by the upright one.
func (o orientation) shown(width, height int) (int, int) {
	if o.swaps() {
		return height, width
	}
	return width, height
}

// steps tell where stored pixels are in an upright picture of a size: the first one at origin, the
// next in its row right pixels on, and the first of the next row down pixels on.
func (o orientation) steps(width, height int) (origin, right, down int) {
	last, bottom := width-1, (height-1)*width
	switch o {
	case 2: // mirrored
		return last, -1, width
	case 3: // upside down
		return bottom + last, -1, -width
	case 4: // upside down and mirrored
		return bottom, 1, -width
	case 5: // mirrored, and turned left
		return 0, width, 1
	case 6: // turned left
		return last, width, -1
	case 7: // mirrored, and turned right
		return bottom + last, -width, -1
	case 8: // turned right
		return bottom, -width, 1
	}
	return 0, 1, width
}

// The parts of EXIF, which is a TIFF file: a header of 8 bytes, and directories of entries of 12
// bytes.
const (
	tagOrientation = 0x0112
	typeShort      = 3
	entryBytes     = 12
)

// orientationOf finds the orientation in the first directory of EXIF; 1 where there is none. What
// is broken has none: a picture is not refused for its notes.
func orientationOf(exif []byte) orientation {
	exif = bytes.TrimPrefix(exif, []byte("Exif\x00\x00")) // which JPEG has before it, and some writers of WebP
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(exif, []byte("II*\x00")):
		order = binary.LittleEndian
	case bytes.HasPrefix(exif, []byte("MM\x00*")):
		order = binary.BigEndian
	default:
		return 1
	}
	if len(exif) < 8 {
		return 1
	}
	at := int64(order.Uint32(exif[4:]))
	if at+2 > int64(len(exif)) {
		return 1
	}
	entries := exif[at+2:]
	for range order.Uint16(exif[at:]) {
		if len(entries) < entryBytes {
			return 1
		}
		if order.Uint16(entries) == tagOrientation && order.Uint16(entries[2:]) == typeShort {
			if o := orientation(order.Uint16(entries[8:])); o >= 1 && o <= 8 {
				return o
			}
			return 1
		}
		entries = entries[entryBytes:]
	}
	return 1
}
