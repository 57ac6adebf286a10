// SPDX-License-Identifier: MIT

package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/image/webp"
)

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
