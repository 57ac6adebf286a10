// SPDX-License-Identifier: MIT

package guest

import (
	"regexp"
	"strings"

	"github.com/penstock/penstock/host/plugin/fuel"
)

// shownFrames is how many calls of the author's code a fault's text names.
const shownFrames = 4

// frame is a call in wazero's stack trace.
type frame struct {
	name string // with its types
	at   string // FILE:LINE; empty where the module does not say
	own  bool   // the line is the author's, not the toolchain's
}

// source is a line of the trace that tells where the frame above it was: see fuel's lines.go for
// what a column means.
var source = regexp.MustCompile(`^0x[0-9a-f]+: (.+?):(\d+)(:1)?$`)

// framesOf reads the calls of a trap's stack trace, the innermost first.
func framesOf(err error) (frames []frame) {
	_, trace, _ := strings.Cut(err.Error(), "wasm stack trace:\n\t")
	for line := range strings.Lines(trace) {
		line = strings.TrimSpace(line)
		if line == "" {
			break // a stack trace of Go's follows
		}
		last := len(frames) - 1
		switch s := source.FindStringSubmatch(line); {
		case strings.HasPrefix(line, fuel.ImportModule), strings.HasPrefix(line, "... maybe"): // where a guest comes for fuel
		case s != nil && last >= 0:
			frames[last].at, frames[last].own = s[1]+":"+s[2], !fuel.FromToolchain(s[1])
			if s[3] != "" {
				frames[last].at = "or after " + frames[last].at
			}
		case !strings.HasPrefix(line, "0x"):
			frames = append(frames, frame{name: strings.TrimPrefix(line, ".")})
		}
	}
	return frames
}

// innermost tells in which guest function a call trapped: with the lines of the author's code
// where the module has them, and else with the function's types.
func innermost(err error) string {
	frames := framesOf(err)
	if len(frames) == 0 {
		return "at an unknown place"
	}
	var b strings.Builder
	shown := 0
	for _, f := range frames {
		if !f.own || shown == shownFrames {
			continue
		}
		b.WriteString([]string{"in ", ", called by "}[min(shown, 1)])
		b.WriteString(f.bare() + " at " + f.at)
		shown++
	}
	switch first := frames[0]; {
	case shown == 0 && first.at == "":
		return "in " + first.name
	case shown == 0:
		return "in " + first.bare() + " at " + first.at
	case !first.own:
		b.WriteString("; the innermost is " + first.bare())
	}
	return b.String()
}

// bare is the function's name without its types, which come last: "(i32,i32) i32".
func (f frame) bare() string {
	name := f.name
	if results := strings.LastIndex(name, ") ("); results >= 0 {
		name = name[:results+1]
	}
	if at := strings.LastIndexByte(name, '('); at > 0 {
		name = name[:at]
	}
	return demangled(name)
}
