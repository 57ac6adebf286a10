// SPDX-License-Identifier: MIT

package guest

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"unicode/utf8"

	"github.com/penstock/penstock/plugins/abi"
)

// lastLines is how many lines of a guest's log are attached to an error.
const lastLines = 10

// guestLog takes the log of one request's guest: up to a limit in bytes it goes to the operator's
// log, if the operator wants that, and the last lines are kept for errors.
type guestLog struct {
	to    *slog.Logger // nil: nobody's
	left  int          // bytes
	cut   bool
	lines []string
	open  [3][]byte // unfinished lines of standard output and error, by file descriptor
}

var levels = [...]slog.Level{
	abi.LogDebug: slog.LevelDebug, abi.LogInfo: slog.LevelInfo, abi.LogWarn: slog.LevelWarn, abi.LogError: slog.LevelError,
}

// lineCost is what a line counts besides its bytes: empty lines are not free.
const lineCost = 32

// dropCutCharacter drops the beginning of a character at the end of a text that was cut.
func dropCutCharacter(text []byte) []byte {
	for n := 1; n <= min(len(text), utf8.UTFMax); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return text[:len(text)-n]
			}
			break
		}
	}
	return text
}

// add takes one line.
func (l *guestLog) add(level int32, line []byte) {
	if l.cut {
		return
	}
	if len(line)+lineCost > l.left {
		line, l.cut = dropCutCharacter(line[:min(len(line), l.left)]), true
	}
	l.left = max(0, l.left-len(line)-lineCost)
	text := strings.ToValidUTF8(string(line), "\uFFFD")
	if l.cut {
		text += " (the rest of this request's log is cut)"
	}
	l.keep(text)
	if l.to != nil {
		l.to.Log(context.Background(), levels[min(max(level, abi.LogDebug), abi.LogError)], text)
	}
}

// keep keeps a line for errors, in place of the oldest if they are many. The first lines of a
// panic stay: what follows them is a stack trace that goes on to the outermost calls.
func (l *guestLog) keep(text string) {
	if len(l.lines) == lastLines {
		if isPanic(l.lines[0]) {
			return
		}
		l.lines = l.lines[:copy(l.lines, l.lines[1:])]
	}
	l.lines = append(l.lines, text)
}

// isPanic reports whether a line begins what a toolchain writes before it traps.
func isPanic(line string) bool {
	return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "panicked at ")
}

// output takes bytes of standard output (1) or error (2), and logs whole lines.
func (l *guestLog) output(file int, text []byte) {
	for !l.cut {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		open := append(l.open[file], line[:min(len(line), max(0, l.left-len(l.open[file])))]...)
		l.open[file] = open
		if !whole && len(open) < l.left {
			return
		}
		l.add(abi.LogInfo, open)
		l.open[file], text = open[:0], rest
	}
}

// last returns the last lines, an unfinished one included.
func (l *guestLog) last() []string {
	lines := append([]string(nil), l.lines...)
	for _, open := range l.open {
		if len(open) > 0 && !l.cut {
			lines = append(lines, strings.ToValidUTF8(string(open), "\uFFFD"))
		}
	}
	return lines
}
