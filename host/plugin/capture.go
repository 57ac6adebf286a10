// SPDX-License-Identifier: MIT

package plugin

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

// capture takes the log of one request's guest: up to a limit in bytes it goes to the operator's log, and the last lines
// are kept for errors.
type capture struct {
	log   *slog.Logger
	left  int // bytes
	cut   bool
	lines []string
	open  [3][]byte // unfinished lines of standard output and error, by file descriptor
}

var levels = [...]slog.Level{
	abi.LogDebug: slog.LevelDebug, abi.LogInfo: slog.LevelInfo, abi.LogWarn: slog.LevelWarn, abi.LogError: slog.LevelError,
}

// lineCost is what a line counts besides its bytes: empty lines are not free.
const lineCost = 32

// whole drops the beginning of a character at the end of a text that was cut.
func whole(text []byte) []byte {
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
func (c *capture) add(level int32, line []byte) {
	if c.cut {
		return
	}
	if len(line)+lineCost > c.left {
		line, c.cut = whole(line[:min(len(line), c.left)]), true
	}
	c.left = max(0, c.left-len(line)-lineCost)
	text := strings.ToValidUTF8(string(line), "\uFFFD")
	if c.cut {
		text += " (the rest of this request's log is cut)"
	}
	if len(c.lines) == lastLines {
		c.lines = c.lines[:copy(c.lines, c.lines[1:])]
	}
	c.lines = append(c.lines, text)
	if c.log != nil {
		c.log.Log(context.Background(), levels[min(max(level, abi.LogDebug), abi.LogError)], text)
	}
}

// write takes bytes of standard output (1) or error (2), and logs whole lines.
func (c *capture) write(file int, text []byte) {
	for !c.cut {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		open := append(c.open[file], line[:min(len(line), max(0, c.left-len(c.open[file])))]...)
		c.open[file] = open
		if !whole && len(open) < c.left {
			return
		}
		c.add(abi.LogInfo, open)
		c.open[file], text = open[:0], rest
	}
}

// last returns the last lines, an unfinished one included.
func (c *capture) last() []string {
	lines := append([]string(nil), c.lines...)
	for _, open := range c.open {
		if len(open) > 0 && !c.cut {
			lines = append(lines, strings.ToValidUTF8(string(open), "\uFFFD"))
		}
	}
	return lines
}
