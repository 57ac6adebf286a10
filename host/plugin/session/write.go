// SPDX-License-Identifier: MIT

package session

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
)

// Write writes a file for people to read and edit: each call on a line of its own.
func (f *File) Write(to io.Writer) error {
	var compact bytes.Buffer
	encoder := json.NewEncoder(&compact)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(f); err != nil {
		return err
	}
	_, err := to.Write(lines(bytes.TrimSpace(compact.Bytes())))
	return err
}

// broken are the lists and objects whose entries stand on lines of their own, by their paths.
var broken = []string{"", "/sessions", "/sessions/", "/sessions//calls", "/sessions//model", "/table"}

// lines lays out compact JSON.
func lines(text []byte) []byte {
	var out bytes.Buffer
	var paths []string // of the lists and objects that are open
	key, inText := "", false
	newline := func() { out.WriteString("\n" + strings.Repeat("  ", len(paths))) }
	isBroken := func() bool { return slices.Contains(broken, paths[len(paths)-1]) }
	for at := 0; at < len(text); at++ {
		b := text[at]
		switch {
		case inText:
			out.WriteByte(b)
			if b == '\\' {
				at++
				out.WriteByte(text[at])
			}
			inText = b != '"'
		case b == '"':
			inText = true
			key = string(text[at+1 : at+1+max(0, bytes.IndexByte(text[at+1:], '"'))])
			out.WriteByte(b)
		case b == '{' || b == '[':
			paths = append(paths, pathOf(paths, key))
			key = ""
			out.WriteByte(b)
			if isBroken() && text[at+1] != b+2 { // not empty
				newline()
			}
		case b == '}' || b == ']':
			wasBroken := isBroken() && text[at-1] != b-2
			paths = paths[:len(paths)-1]
			if wasBroken {
				newline()
			}
			out.WriteByte(b)
		case b == ',':
			key = ""
			out.WriteByte(b)
			if isBroken() {
				newline()
			} else {
				out.WriteByte(' ')
			}
		case b == ':':
			out.WriteString(": ")
		default:
			out.WriteByte(b)
		}
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// pathOf is the path of what opens: that of the innermost open one, and the key.
func pathOf(open []string, key string) string {
	if len(open) == 0 {
		return ""
	}
	return open[len(open)-1] + "/" + key
}
