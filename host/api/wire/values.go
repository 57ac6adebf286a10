// SPDX-License-Identifier: MIT

package wire

import "bytes"

// valueBytes is what a value of a JSON text takes while it is decoded, besides its text:
// json.RawMessage, its copy, a place in a list that grows, and what is made of it.
// TestAPI_Values_TakeWhatIsCounted measures that.
const valueBytes = 128

// countValues counts the values of a JSON text and the keys of its objects, without decoding it:
// each follows a bracket, a comma or a colon. It ends where the text is nested too deep, as
// reading it does (see checkText), and counts at most too many where it is no JSON.
func countValues(text []byte) int64 {
	n, depth := int64(1), 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			if i = endOfText(text, i+1); i < 0 {
				return n
			}
		case '[', '{':
			n++
			if depth++; depth > maxDepth {
				return n
			}
		case ']', '}':
			depth--
		case ',', ':':
			n++
		}
	}
	return n
}

// endOfText is where a JSON text ends whose characters begin at i; -1 where it does not end.
func endOfText(text []byte, i int) int {
	for {
		n := bytes.IndexAny(text[i:], `"\`)
		if n < 0 {
			return -1
		}
		if i += n; text[i] == '"' {
			return i
		}
		if i += 2; i > len(text) { // what follows a backslash is a character
			return -1
		}
	}
}
