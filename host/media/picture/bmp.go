// SPDX-License-Identifier: MIT

package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"golang.org/x/image/bmp"
)

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
