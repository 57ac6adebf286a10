// SPDX-License-Identifier: MIT

// Package lines names the lines of an author's sources in the faults of a plugin, with what a debug
// build says of itself.
//
// A server names offsets in the module's code section. It does not read DWARF of modules that
// others have built, which may be made to cost much; an author's commands read that of the module
// that they have just built.
package lines

import (
	"debug/dwarf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Lines knows the lines of source code of one module.
type Lines struct{ data *dwarf.Data } // nil: none are known

// Of reads a module's debug information. Where it has none that can be read, no lines are known.
func Of(wasm []byte) Lines {
	if !strings.HasPrefix(string(wasm[:min(4, len(wasm))]), "\x00asm") {
		return Lines{} // a script, whose errors name its own lines
	}
	s := debugSections(wasm)
	data, err := dwarf.New(s[".debug_abbrev"], nil, nil, s[".debug_info"], s[".debug_line"], nil, s[".debug_ranges"], s[".debug_str"])
	if err != nil || s[".debug_line"] == nil {
		return Lines{}
	}
	for _, name := range []string{".debug_addr", ".debug_line_str", ".debug_str_offsets", ".debug_rnglists"} { // of DWARF 5
		if err := data.AddSection(name, s[name]); s[name] != nil && err != nil {
			return Lines{}
		}
	}
	return Lines{data}
}

// debugSections are the custom sections with debug information, by name.
func debugSections(wasm []byte) map[string][]byte {
	const header = 8
	all := map[string][]byte{}
	cut := func(from []byte) (part, rest []byte) { // what a length stands before
		n, size := binary.Uvarint(from)
		if size <= 0 || n > uint64(len(from)-size) {
			return nil, nil
		}
		return from[size:][:n], from[size:][n:]
	}
	for rest := wasm[min(header, len(wasm)):]; len(rest) > 1; {
		var section []byte
		id := rest[0]
		section, rest = cut(rest[1:])
		if name, content := cut(section); id == 0 && strings.HasPrefix(string(name), ".debug_") {
			all[string(name)] = content
		}
	}
	return all
}

// offset is a place as faults name it.
var offset = regexp.MustCompile(` at 0x([0-9a-f]+)`)

// In puts lines in place of the offsets in the text of a fault: of a call that was inlined into
// another's code, the innermost line that is the author's own.
func (l Lines) In(text string) string {
	if l.data == nil {
		return text
	}
	return offset.ReplaceAllStringFunc(text, func(found string) string {
		at, err := strconv.ParseUint(offset.FindStringSubmatch(found)[1], 16, 32)
		if chain := l.linesAt(at); err == nil && len(chain) > 0 {
			own := slices.IndexFunc(chain, func(p place) bool { return !isOfToolchain(p.file) })
			return " at " + chain[max(0, own)].String()
		}
		return found
	})
}

// Err is an error with lines in its text.
func (l Lines) Err(err error) error {
	if err == nil || l.In(err.Error()) == err.Error() {
		return err
	}
	return &withLines{l.In(err.Error()), err}
}

type withLines struct {
	text string
	err  error
}

func (e *withLines) Error() string { return e.text }
func (e *withLines) Unwrap() error { return e.err }

// Writer has lines in what is written to w, a whole fault at a time.
func (l Lines) Writer(w io.Writer) io.Writer { return writer{l, w} }

type writer struct {
	lines Lines
	to    io.Writer
}

func (w writer) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.to, w.lines.In(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// place is a line of a source file.
type place struct {
	file string
	line int
}

func (p place) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

// linesAt finds the line of the code at an offset, and the lines of the calls that were inlined
// around it, the innermost first.
func (l Lines) linesAt(pc uint64) []place {
	r := l.data.Reader()
	unit, err := r.SeekPC(pc)
	if err != nil {
		return nil
	}
	chain, files := l.lineAt(unit, pc)
	if chain == nil {
		return nil
	}
	var calls []place // the outermost first
	for e, err := r.Next(); err == nil && e != nil && e.Tag != dwarf.TagCompileUnit; e, err = r.Next() {
		switch e.Tag {
		case dwarf.TagSubprogram, dwarf.TagInlinedSubroutine, dwarf.TagLexDwarfBlock:
			if !l.covers(e, pc) {
				r.SkipChildren()
			} else if e.Tag == dwarf.TagInlinedSubroutine {
				file, _ := e.Val(dwarf.AttrCallFile).(int64)
				line, _ := e.Val(dwarf.AttrCallLine).(int64)
				if file >= 0 && int(file) < len(files) && files[file] != nil {
					calls = append(calls, place{files[file].Name, int(line)})
				}
			}
		}
	}
	slices.Reverse(calls)
	return append(chain, calls...)
}

func (l Lines) covers(e *dwarf.Entry, pc uint64) bool {
	ranges, err := l.data.Ranges(e)
	return err == nil && slices.ContainsFunc(ranges, func(r [2]uint64) bool { return r[0] <= pc && pc < r[1] })
}

// lineAt is the line of a unit's code at an offset, and the unit's files.
func (l Lines) lineAt(unit *dwarf.Entry, pc uint64) ([]place, []*dwarf.LineFile) {
	lines, err := l.data.LineReader(unit)
	if err != nil || lines == nil {
		return nil, nil
	}
	var last, next dwarf.LineEntry
	var found []place
	for {
		if err := lines.Next(&next); err != nil {
			if !errors.Is(err, io.EOF) {
				return nil, nil
			}
			return found, lines.Files()
		}
		if last.File != nil && !last.EndSequence && last.Address <= pc && pc < next.Address {
			found = []place{{last.File.Name, last.Line}}
		}
		last = next
	}
}

// toolchains are parts of the paths of sources that come with a toolchain or with Penstock's SDK.
var toolchains = []string{
	"/rustc/", "/rustlib/", "/library/core/src/", "/library/std/src/", "/library/alloc/src/", "/library/panic_abort/", "/library/panic_unwind/", // Rust
	"/tinygo/src/", "/goroot-", "/usr/local/go/src/", "/usr/lib/go", "/libc-top-half/", "/libc-bottom-half/", // TinyGo, Go, C
	"/sdk/go/", "/sdk/rust/", "/sdk/penstock/", "/sdk/export/", "/sdk/internal/", "/sdk/src/", // Penstock, in its repository and in projects
}

// isOfToolchain reports whether a source file is not the author's own.
func isOfToolchain(path string) bool {
	return slices.ContainsFunc(toolchains, func(part string) bool { return strings.Contains("/"+path, part) })
}
