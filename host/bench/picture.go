// SPDX-License-Identifier: MIT

package bench

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"sync"
)

// picture is that of request n of class number class, if it has one: stripes in colours that no
// other request has. Only the palette is written again, so a picture of any size costs the machine
// that is measured next to nothing.
func (l Load) picture(class, n int) []byte {
	side := l.Classes[class].PictureSide
	if side == 0 {
		return nil
	}
	file := bytes.Clone(striped(side))
	at := bytes.Index(file, []byte("PLTE")) // the chunk's length is before it, its checksum behind it
	size := int(binary.BigEndian.Uint32(file[at-4:]))
	palette := file[at+4 : at+4+size]
	r := l.random(class, n)
	for i := range palette {
		palette[i] = byte(r.Uint32())
	}
	binary.BigEndian.PutUint32(file[at+4+size:], crc32.ChecksumIEEE(file[at:at+4+size]))
	return file
}

// pictures are the files that striped has made, by their side.
var pictures sync.Map

// striped is a PNG of stripes with a palette.
func striped(side int) []byte {
	if known, ok := pictures.Load(side); ok {
		return known.([]byte)
	}
	palette := make(color.Palette, 16)
	for i := range palette {
		palette[i] = color.Gray{Y: uint8(i)}
	}
	m := image.NewPaletted(image.Rect(0, 0, side, side), palette)
	for i := range m.Pix {
		m.Pix[i] = uint8((i%side/31 + i/side/47) % len(palette))
	}
	var file bytes.Buffer
	_ = png.Encode(&file, m) // a buffer takes everything
	known, _ := pictures.LoadOrStore(side, file.Bytes())
	return known.([]byte)
}
