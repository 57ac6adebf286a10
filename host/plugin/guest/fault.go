// SPDX-License-Identifier: MIT

package guest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/fuel"
)

// Violation says what a guest did wrong. A host function ends the call with it, and the check of
// an answer turns it into a fault.
type Violation struct {
	cause  error
	detail string
	said   string // by the guest, or what quotes it
}

// Error names cause and detail.
func (v *Violation) Error() string { return v.cause.Error() + ": " + v.detail }

// Violationf makes a violation with a cause of package plugin.
func Violationf(cause error, format string, args ...any) *Violation {
	return &Violation{cause: cause, detail: fmt.Sprintf(format, args...)}
}

// diagnose finds why a call trapped. If the guest ended the call itself, its own words in this call
// are the reason.
func (i *Instance) diagnose(err error) *Violation {
	var v *Violation
	exits := errors.As(err, &v)
	if exits && !errors.Is(v.cause, plugin.CauseExit) {
		switch {
		case errors.Is(v.cause, plugin.CauseFuel): // in a host function
			return cmp.Or(i.guestReport(), v)
		case errors.Is(v.cause, plugin.CauseTime): // which is the machine's, too
			v.said = cleanText(i.refusal)
		}
		return v
	}
	where := ""
	if !exits {
		where = describeTrap(err, i.module.code.Metered.Moves)
		switch exhausted := i.meter.Err(); {
		case errors.Is(exhausted, fuel.ErrStack):
			return Violationf(plugin.CauseStack, "%s", where)
		case errors.Is(exhausted, fuel.ErrFuel):
			return cmp.Or(i.guestReport(), i.outOfFuel(where+i.describeGrowth()+i.debugHint()))
		}
	}
	if i.region.Refused() { // the guest ended since it got no memory, which is not its fault
		return i.exceeded()
	}
	if !exits {
		first, _, _ := strings.Cut(err.Error(), "\n")
		v = Violationf(plugin.CauseTrap, "%s, %s%s", strings.TrimPrefix(first, "wasm error: "), where, i.debugHint())
	}
	return cmp.Or(i.guestReport(), i.outOfMemory(v.Error()), v)
}

// guestReport returns the violation of a call that told fail why it would end; nil: it did not.
func (i *Instance) guestReport() *Violation {
	if len(i.refusal) == 0 {
		return nil
	}
	return &Violation{cause: plugin.CauseError, said: cleanText(i.refusal)}
}

// outOfMemory returns the violation of a call that asked for more memory than an instance may have
// and then ended as text says; nil: it did not ask for more.
func (i *Instance) outOfMemory(text string) *Violation {
	asked, limit := i.region.Exceeded()
	if asked == 0 {
		return nil
	}
	return Violationf(plugin.CauseLimit, "out of memory: it asked for %s, an instance has at most %s; %s", mebibytes(asked), mebibytes(limit), text)
}

// describeGrowth says how a call that used up its fuel used memory, if that was much: filling
// memory and collecting garbage cost fuel.
func (i *Instance) describeGrowth() string {
	const much = 8 << 20
	size := len(i.Memory())
	switch asked, limit := i.region.Exceeded(); {
	case asked > 0:
		return fmt.Sprintf("; it was out of memory: it asked for %s, an instance has at most %s", mebibytes(asked), mebibytes(limit))
	case size-i.sizeBefore > much:
		return fmt.Sprintf("; its memory grew from %s to %s in this call", mebibytes(uint64(i.sizeBefore)), mebibytes(uint64(size)))
	}
	return ""
}

// mebibytes writes a size with at most one decimal.
func mebibytes(bytes uint64) string {
	return strconv.FormatFloat(math.Ceil(float64(bytes)/(1<<20)*10)/10, 'f', -1, 64) + " MiB"
}

// debugHint says how to make a build tell more that has no line numbers and printed no panic. One
// that can print, as all builds of Go's own compiler can, has told all it knows.
func (i *Instance) debugHint() string {
	if len(i.module.code.Metered.Moves) > 0 || i.module.imports("fd_write", wasiModule) || slices.ContainsFunc(i.session.log.last(), isPanic) {
		return ""
	}
	return "; a build with --debug tells the text of a panic and the line"
}

// shownFrames is how many calls a fault's text names.
const shownFrames = 4

// frame is a call in wazero's stack trace.
type frame struct {
	name  string // without its types
	at    uint32 // offset in the code section of the module as it was built
	known bool   // whether that is known: the module was built for debugging
}

// place matches a line of the trace with the offset of the call above it: see fuel's places.go.
var place = regexp.MustCompile(`^0x([0-9a-f]+): `)

// parseFrames reads the calls of a trap's stack trace, the innermost first.
func parseFrames(err error, moves fuel.Moves) (frames []frame) {
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
			frames = append(frames, frame{name: functionName(strings.TrimPrefix(line, "."))})
		}
	}
	return frames
}

// runtimes lists prefixes of functions that a compiler adds to what an author wrote.
var runtimes = []string{"runtime.", "core::", "std::", "alloc::", "<core::", "<std::", "<alloc::", "__rust", "rust_", "__rdl", "__rg"}

// byRuntime reports whether a function belongs to the language and not to the author.
func (f frame) byRuntime() bool {
	return slices.ContainsFunc(runtimes, func(prefix string) bool { return strings.HasPrefix(f.name, prefix) })
}

// describeTrap names the guest functions in which a call trapped. For a debug build it adds
// offsets, as addr2line takes them; the author's commands replace them by lines (package lines).
func describeTrap(err error, moves fuel.Moves) string {
	frames := parseFrames(err, moves)
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

// functionName drops a function's types, which come last, such as "(i32,i32) i32".
func functionName(name string) string {
	if results := strings.LastIndex(name, ") ("); results >= 0 {
		name = name[:results+1]
	}
	if at := strings.LastIndexByte(name, '('); at > 0 {
		name = name[:at]
	}
	return demangle(name)
}

// rustSigns undoes Rust's legacy mangling of signs that a symbol cannot have.
var rustSigns = strings.NewReplacer("$LT$", "<", "$GT$", ">", "$RF$", "&", "$BP$", "*", "$LP$", "(", "$RP$", ")", "$C$", ",", "$u20$", " ", "$u7b$", "{", "$u7d$", "}", "..", "::")

// demangle turns a symbol of Rust like _ZN6faults4fail17h0123456789abcdefE into faults::fail, also
// where LLVM made it unique with a suffix like .llvm.123. Others stay.
func demangle(name string) string {
	symbol, _, _ := strings.Cut(name, ".llvm.")
	rest, ok := strings.CutPrefix(symbol, "_ZN")
	var parts []string
	for ok && rest != "E" {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.Atoi(rest[:digits])
		if rest = rest[digits:]; err != nil || n > len(rest) {
			return name
		}
		part := rest[:n]
		if strings.HasPrefix(part, "_$") { // a part cannot begin with a sign
			part = part[1:]
		}
		parts, rest = append(parts, part), rest[n:]
	}
	if n := len(parts); n > 1 && len(parts[n-1]) == 17 && parts[n-1][0] == 'h' {
		parts = parts[:n-1] // the hash
	}
	if len(parts) == 0 {
		return name
	}
	return rustSigns.Replace(strings.Join(parts, "::"))
}
