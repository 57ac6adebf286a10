// SPDX-License-Identifier: MIT

package fuel

import "encoding/binary"

// sections writes the table as DWARF 4, as little of it as wazero needs to find lines: a unit for
// the whole module, and its line program. A column of 1 says that the line is only near; see row.
func (t *lineTable) sections() []byte {
	end := t.rows[len(t.rows)-1].address
	abbreviations := []byte{1, 0x11, 0, 0x10, 0x17, 0x11, 0x01, 0x12, 0x06, 0, 0, 0} // a unit: line program, first address, bytes of code
	unit := []byte{4, 0, 0, 0, 0, 0, 4, 1}                                           // version, abbreviations, bytes of an address, the unit
	unit = binary.LittleEndian.AppendUint32(unit, 0)
	unit = binary.LittleEndian.AppendUint32(unit, 1) // 0 would mean that the linker left it out
	unit = binary.LittleEndian.AppendUint32(unit, end)
	var b []byte
	for _, s := range []struct {
		name string
		body []byte
	}{{".debug_abbrev", abbreviations}, {".debug_info", sized(unit)}, {".debug_line", sized(t.unit())}} {
		b = appendSection(b, secCustom, append(appendName(nil, s.name), s.body...))
	}
	return b
}

// sized puts the length before.
func sized(body []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// unit is the line table without its length.
func (t *lineTable) unit() []byte {
	header := []byte{1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0} // as everybody has them; no folders
	for _, path := range append([]string{"?"}, t.files...) {
		header = append(append(header, path...), 0, 0, 0, 0)
	}
	header = append(header, 0)
	b := append([]byte{4, 0}, sized(header)...)
	b = append(b, lineExtended, 5, lineAddress, 0, 0, 0, 0)
	now, column := row{line: 1, file: noFile}, uint32(0)
	for _, next := range t.rows {
		b = op(b, lineAdvance, next.address-now.address)
		if next.file != now.file {
			b = op(b, lineFile, uint32(next.file+2)) // 1 is the unknown one
		}
		if next.line != now.line {
			b = appendSigned(append(b, lineLine), int64(next.line)-int64(now.line))
		}
		if c := near(next); c != column {
			b, column = op(b, lineColumn, c), c
		}
		b, now = append(b, lineCopy), next
	}
	return append(b, lineExtended, 1, lineEnd)
}

func near(r row) uint32 {
	if r.near {
		return 1
	}
	return 0
}
