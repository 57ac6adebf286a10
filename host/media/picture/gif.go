// SPDX-License-Identifier: MIT

package picture

import (
	"encoding/binary"
	"errors"
	"image/gif"
)

// readGIF reads a GIF's header. image/gif stops after the first of several pictures.
func readGIF(data []byte) (header, error) {
	if len(data) < 13 {
		return header{}, errors.New("it ends within its header")
	}
	h := header{decode: gif.Decode, width: int(binary.LittleEndian.Uint16(data[6:])), height: int(binary.LittleEndian.Uint16(data[8:]))}
	h.work = 2*int64(h.width)*int64(h.height) + 1<<20 // twice: an interlaced picture is put in order by a copy
	return h, nil
}
