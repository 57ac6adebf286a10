// SPDX-License-Identifier: MIT

package fuel

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// What of a line table is read at most. It may be made to cost much; those of real modules stay
// far below.
const (
	mostLineBytes = 8 << 20
	mostRows      = 1 << 19
	mostFiles     = 1 << 14
	longestPath   = 1024 // bytes of a folder's name, and of a file's
)

// Opcodes of line programs.
const (
	lineExtended = 0
	lineCopy     = 1
	lineAdvance  = 2
	lineLine     = 3
	lineFile     = 4
	lineColumn   = 5
	lineConstAdd = 8
	lineFixedAdd = 9
	lineEnd      = 1 // extended
	lineAddress  = 2 // extended
)

// lineReader reads one unit of .debug_line after another, of DWARF 2 to 4.
type lineReader struct {
	lineTable
	bodies []body

	in       *reader
	folders  []string
	names    []lineFileName
	authors  []bool         // whether a file is the author's own, by its index in files
	known    map[uint32]int // index in files, by the unit's number of a file
	index    map[string]int // the same by path
	sequence []row
	lengths  []byte // operands of the standard opcodes
	step     uint32
	base     int32
	span     uint32
}

type lineFileName struct {
	folder uint32
	name   string
}

// readLines reads what it can of a section .debug_line.
func readLines(data []byte, bodies []body) lineTable {
	l := &lineReader{bodies: bodies, known: map[uint32]int{}, index: map[string]int{}}
	if len(data) > mostLineBytes {
		return l.lineTable
	}
	for all := (&reader{data: data}); all.more() && len(l.rows) < mostRows && len(l.files) < mostFiles; {
		size := little(all, 4)
		l.in = all.sub(int(size))
		version := little(l.in, 2)
		if l.in.err == nil && (version < 2 || version > 4) {
			continue
		}
		if l.header(version); l.in.err != nil {
			break
		}
		clear(l.known)
		l.sequence = l.sequence[:0]
		l.program()
	}
	return l.lineTable
}

// little reads a little-endian number of n bytes.
func little(r *reader, n int) uint32 {
	var b [8]byte
	copy(b[:], r.bytes(n))
	return uint32(binary.LittleEndian.Uint64(b[:]))
}

// zeroEnded reads up to a zero byte.
func zeroEnded(r *reader) string {
	from := r.pos
	for r.byte() != 0 {
		if r.err != nil {
			return ""
		}
	}
	if r.err != nil {
		return ""
	}
	return string(r.data[from:min(r.pos-1, from+longestPath)])
}

// header reads a unit's header after the version, up to its program.
func (l *lineReader) header(version uint32) {
	r := l.in
	length := little(r, 4)
	program := r.pos + int(length)
	l.step = uint32(r.byte())
	if version == 4 {
		r.byte() // operations in an instruction
	}
	r.byte() // whether rows begin as statements
	l.base, l.span = int32(int8(r.byte())), uint32(r.byte())
	l.lengths = r.bytes(int(r.byte()) - 1)
	l.folders = append(l.folders[:0], "")
	for s := zeroEnded(r); s != ""; s = zeroEnded(r) {
		l.folders = append(l.folders, s)
	}
	l.names = l.names[:0]
	for s := zeroEnded(r); s != ""; s = zeroEnded(r) {
		l.names = append(l.names, lineFileName{r.u32(), s})
		r.u32() // when it was changed
		r.u32() // its size
	}
	if l.span == 0 || program < r.pos || program > len(r.data) {
		r.fail(ErrMalformed, "header of a line table")
		return
	}
	r.pos = program
}

// program runs a unit's line program.
func (l *lineReader) program() {
	r, now := l.in, row{line: 1}
	file := uint32(1)
	for r.more() && len(l.rows)+len(l.sequence) < mostRows {
		opcode := uint32(r.byte())
		switch last := uint32(len(l.lengths)); {
		case opcode > last: // special: address and line at once
			n := opcode - last - 1
			now.address += n / l.span * l.step
			now.line += uint32(l.base + int32(n%l.span))
			l.add(now, file)
		case opcode == lineExtended:
			operand := r.sub(int(r.u32()))
			switch operand.byte() {
			case lineEnd:
				l.end(now.address)
				now, file = row{line: 1}, 1
			case lineAddress:
				now.address = little(operand, min(8, operand.left()))
			}
		case opcode == lineCopy:
			l.add(now, file)
		case opcode == lineAdvance:
			now.address += r.u32() * l.step
		case opcode == lineLine:
			now.line += uint32(r.signed(33))
		case opcode == lineFile:
			file = r.u32()
		case opcode == lineConstAdd:
			now.address += (255 - last - 1) / l.span * l.step
		case opcode == lineFixedAdd:
			now.address += little(r, 2)
		default:
			for range l.lengths[opcode-1] {
				r.u32()
			}
		}
	}
}

// add adds a row to the sequence. Line 0 is none.
func (l *lineReader) add(next row, file uint32) {
	if next.file = l.file(file); next.line == 0 {
		next.file = noFile
	}
	if n := len(l.sequence); n > 0 && !l.own(next) && l.own(l.sequence[n-1]) {
		before := l.sequence[n-1]
		next.file, next.line, next.near = before.file, before.line, true
	}
	l.sequence = append(l.sequence, next)
}

// own reports whether a row names a line of the author's.
func (l *lineReader) own(r row) bool { return r.file != noFile && l.authors[r.file] }

// end takes the sequence over, unless the linker left its code out: then it does not begin and end
// with functions.
func (l *lineReader) end(address uint32) {
	if len(l.sequence) > 0 && l.covers(l.sequence[0].address, address) {
		l.rows = append(append(l.rows, l.sequence...), row{address: address, file: noFile})
	}
	l.sequence = l.sequence[:0]
}

// covers reports whether a sequence ends with a function, before or after its last instruction,
// and begins with one or within that.
func (l *lineReader) covers(from, to uint32) bool {
	last, _ := slices.BinarySearchFunc(l.bodies, to, func(b body, at uint32) int { return cmp.Compare(b.to, at) })
	if last == len(l.bodies) || to+1 < l.bodies[last].to {
		return false
	}
	_, begins := slices.BinarySearchFunc(l.bodies, from, func(b body, at uint32) int { return cmp.Compare(b.from, at) })
	return begins || from > l.bodies[last].from && from < to
}

// file finds the unit's file of a number.
func (l *lineReader) file(number uint32) int {
	if i, ok := l.known[number]; ok {
		return i
	}
	if number == 0 || int64(number) > int64(len(l.names)) || len(l.files) >= mostFiles {
		return noFile
	}
	f := l.names[number-1]
	path := f.name
	if f.folder > 0 && int64(f.folder) < int64(len(l.folders)) && path[0] != '/' {
		path = l.folders[f.folder] + "/" + path
	}
	i, ok := l.index[path]
	if !ok {
		i = len(l.files)
		l.files, l.authors, l.index[path] = append(l.files, path), append(l.authors, !FromToolchain(path)), i
	}
	l.known[number] = i
	return i
}
