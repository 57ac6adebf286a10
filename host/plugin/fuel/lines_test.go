// SPDX-License-Identifier: MIT

package fuel

import (
	"bytes"
	"debug/dwarf"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// linesOf is a section .debug_line of DWARF 4 with one unit: files of one folder, and a program.
func linesOf(files []string, program ...[]byte) []byte {
	t := &lineTable{files: files, rows: nil}
	unit := t.unit()
	unit = unit[:len(unit)-10] // without the program
	return sized(append(unit, slices.Concat(program...)...))
}

// at is a program's step that sets the address.
func at(address uint32) []byte {
	return binary.LittleEndian.AppendUint32([]byte{lineExtended, 5, lineAddress}, address)
}

// line makes a row of the file's line, n bytes after the last.
func line(n uint32, file int, change int64) []byte {
	b := op(op([]byte{}, lineAdvance, n), lineFile, uint32(file+2))
	return append(appendSigned(append(b, lineLine), change), lineCopy)
}

var endOfLines = []byte{lineExtended, 1, lineEnd}

func TestReadLines_Rows(t *testing.T) {
	files := []string{"main.go", "/x/tinygo/src/runtime/panic.go"}
	bodies := []body{{3, 40}, {42, 60}}
	for name, c := range map[string]struct {
		program [][]byte
		want    []row
	}{
		"a function": {
			[][]byte{at(3), line(0, 0, 9), line(4, 0, 1), op(nil, lineAdvance, 33), endOfLines},
			[]row{{3, 1, 10, false}, {7, 1, 11, false}, {40, noFile, 0, false}},
		},
		"inlined from the toolchain, and no line": {
			[][]byte{at(3), line(0, 0, 9), line(4, 1, 1), line(1, 0, -11), line(1, 0, 8), op(nil, lineAdvance, 30), endOfLines},
			[]row{{3, 1, 10, false}, {7, 1, 10, true}, {8, 1, 10, true}, {9, 1, 8, false}, {39, noFile, 0, false}},
		},
		"the toolchain's own": {
			[][]byte{at(42), line(0, 1, 9), op(nil, lineAdvance, 18), endOfLines}, []row{{42, 2, 10, false}, {60, noFile, 0, false}},
		},
		"left out by the linker": {[][]byte{at(0), line(0, 0, 9), op(nil, lineAdvance, 5), endOfLines}, nil},
		"no end":                 {[][]byte{at(3), line(0, 0, 9)}, nil},
		"no such file":           {[][]byte{at(3), line(0, 90, 9), op(nil, lineAdvance, 37), endOfLines}, []row{{3, noFile, 10, false}, {40, noFile, 0, false}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := readLines(linesOf(files, c.program...), bodies)
			for i, r := range got.rows { // indices in files are by first use
				if r.file != noFile {
					got.rows[i].file = 1 + slices.Index(files, got.files[r.file])
				}
			}
			if diff := cmp.Diff(c.want, got.rows, cmp.AllowUnexported(row{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What is written is DWARF as everybody reads it, with the same rows.
func TestLineTable_Sections_AreDWARF(t *testing.T) {
	table := lineTable{files: []string{"main.go", "b.go"}, rows: []row{{5, 0, 7, false}, {9, 1, 300, true}, {12, noFile, 0, false}, {1000, 0, 8, false}, {1001, noFile, 0, false}}}
	sections := map[string][]byte{}
	for r := (&reader{data: table.sections()}); r.more(); {
		r.byte()
		s := r.sub(int(r.u32()))
		sections[string(s.bytes(int(s.u32())))] = s.data[s.pos:]
	}
	d, err := dwarf.New(sections[".debug_abbrev"], nil, nil, sections[".debug_info"], sections[".debug_line"], nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	unit, err := d.Reader().Next()
	if err != nil {
		t.Fatal(err)
	}
	if ranges, err := d.Ranges(unit); err != nil || !cmp.Equal(ranges, [][2]uint64{{1, 1002}}) {
		t.Errorf("ranges %v, %v", ranges, err)
	}
	lines, err := d.LineReader(unit)
	if err != nil {
		t.Fatal(err)
	}
	var got []row
	for e := (dwarf.LineEntry{}); ; {
		if err := lines.Next(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if !e.EndSequence {
			got = append(got, row{uint32(e.Address), slices.Index(table.files, e.File.Name), uint32(e.Line), e.Column == 1})
		}
	}
	if diff := cmp.Diff(table.rows, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Error(diff)
	}
}

// lined is a guest with a section .debug_line.
func lined(section []byte) []byte {
	return appendSection(busyGuest().wasm(), secCustom, append(appendName(nil, ".debug_line"), section...))
}

// Lines change nothing of the module but what comes after it.
func TestRewrite_Lines_ChangeNothing(t *testing.T) {
	plain, err := Rewrite(busyGuest().wasm(), DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	for name, section := range map[string][]byte{
		"good": linesOf([]string{"main.go"}, at(0), line(0, 0, 1), endOfLines), "none": {}, "zeros": make([]byte, 100),
		"ones": bytes.Repeat([]byte{0xff}, 1000), "cut": linesOf([]string{"main.go"}, at(3), line(0, 0, 1))[:30],
	} {
		m, err := Rewrite(lined(section), DefaultLimits())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !bytes.HasPrefix(m.Wasm, plain.Wasm) {
			t.Errorf("%s: the module differs", name)
		}
	}
}

// Whatever a section .debug_line holds, the module is the same, and what is written of it is sound.
func FuzzLines(f *testing.F) {
	plain, err := Rewrite(busyGuest().wasm(), DefaultLimits())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(linesOf([]string{"main.go", "/rustc/x.rs"}, at(5), line(0, 0, 9), line(4, 1, 1), endOfLines))
	f.Add(bytes.Repeat(linesOf([]string{"a"}, line(0, 0, 1), endOfLines), 2))
	f.Fuzz(func(t *testing.T, section []byte) {
		m, err := Rewrite(lined(section), DefaultLimits())
		if err != nil || !bytes.HasPrefix(m.Wasm, plain.Wasm) {
			t.Fatalf("the module differs: %v", err)
		}
		table := readLines(section, []body{{1, 1 << 30}})
		if len(table.rows) > 2*mostRows || len(table.files) > mostFiles {
			t.Errorf("%d rows, %d files", len(table.rows), len(table.files))
		}
		for _, r := range table.rows {
			if r.file >= len(table.files) {
				t.Fatalf("file %d of %d", r.file, len(table.files))
			}
		}
	})
}
