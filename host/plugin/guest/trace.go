// SPDX-License-Identifier: MIT

package guest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock/penstock/host/plugin/fuel"
)

// shownFrames is how many calls a fault's text names.
const shownFrames = 4

// frame is a call in wazero's stack trace.
type frame struct {
	name  string // without its types
	at    uint32 // offset in the code section of the module as it was built
	known bool   // whether that is known: the module was built for debugging
}

// place is a line of the trace with the offset of the call above it: see fuel's places.go.
var place = regexp.MustCompile(`^0x([0-9a-f]+): `)

// framesOf reads the calls of a trap's stack trace, the innermost first.
func framesOf(err error, moves fuel.Moves) (frames []frame) {
	_, trace, _ := strings.Cut(err.Error(), "wasm stack trace:\n\t")
	for line := range strings.Lines(trace) {
		line = strings.TrimSpace(line)
		if line == "" {
			break // a stack trace of Go's follows
		}
		last := len(frames) - 1
		switch at := place.FindStringSubmatch(line); {
		case strings.HasPrefix(line, fuel.ImportModule), strings.HasPrefix(line, "... maybe"): // where a guest comes for fuel
		case at != nil && last >= 0:
			if offset, err := strconv.ParseUint(at[1], 16, 32); err == nil {
				frames[last].at, frames[last].known = moves.Original(uint32(offset))
			}
		case at == nil:
			frames = append(frames, frame{name: bare(strings.TrimPrefix(line, "."))})
		}
	}
	return frames
}

// runtimes are how the names of functions begin that a compiler adds to what an author wrote.
var runtimes = []string{"runtime.", "core::", "std::", "alloc::", "<core::", "<std::", "<alloc::", "__rust", "rust_", "__rdl", "__rg"}

// byRuntime reports whether a function is not the author's but the language's.
func (f frame) byRuntime() bool {
	return slices.ContainsFunc(runtimes, func(prefix string) bool { return strings.HasPrefix(f.name, prefix) })
}

// innermost tells in which guest functions a call trapped. A debug build's text has offsets, as
// addr2line takes them; package lines of the author's commands replaces them by lines.
func innermost(err error, moves fuel.Moves) string {
	frames := framesOf(err, moves)
	if len(frames) == 0 {
		return "at an unknown place"
	}
	shown := slices.DeleteFunc(slices.Clone(frames), frame.byRuntime)
	end := "; the innermost is " + frames[0].name
	if len(shown) == 0 {
		shown = frames[:1]
	}
	if shown[0] == frames[0] {
		end = ""
	}
	var b strings.Builder
	for i, f := range shown[:min(len(shown), shownFrames)] {
		b.WriteString([]string{"in ", ", called by "}[min(i, 1)] + f.name)
		if f.known {
			fmt.Fprintf(&b, " at %#x", f.at)
		}
	}
	return b.String() + end
}

// bare is a function's name without its types, which come last: "(i32,i32) i32".
func bare(name string) string {
	if results := strings.LastIndex(name, ") ("); results >= 0 {
		name = name[:results+1]
	}
	if at := strings.LastIndexByte(name, '('); at > 0 {
		name = name[:at]
	}
	return demangled(name)
}
