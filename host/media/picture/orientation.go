// SPDX-License-Identifier: MIT

package picture

import (
	"bytes"
	"encoding/binary"
)

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
