// SPDX-License-Identifier: MIT

package chat

import (
	"strings"

	"github.com/penstock/penstock/host/grammar/peg"
)

// jsonContent tells the JSON of an answer from what may stand around it: white space and a fence.
// llama.cpp's parser of such answers leaves them out; where calls may come as well, that of texts
// does not.
type jsonContent struct {
	before string // so far, where the JSON has not begun
	begun  bool
	fenced bool
	quoted bool   // the content so far ends within a string
	escape bool   // and there with a backslash
	spaces string // that were held back: more JSON may follow them
	over   bool
}

// json is the reader of an answer's content; nil: the parser of the answer knows what it is.
func (p Prompt) json() *jsonContent {
	if p.Rules == nil || p.Rules.Texts == "" || len(p.Rules.Answer.JSON) == 0 {
		return nil
	}
	return &jsonContent{}
}

// within has the contents of deltas be JSON alone.
func (j *jsonContent) within(deltas []Delta) []Delta {
	for i := range deltas {
		if j != nil && deltas[i].Content != "" {
			deltas[i].Content = j.add(deltas[i].Content)
		}
	}
	return deltas
}

// add is the JSON that more text adds.
func (j *jsonContent) add(text string) string {
	if !j.begun {
		j.before = strings.TrimLeft(j.before+text, jsonSpace)
		if !j.fenced && j.before != peg.Fence && strings.HasPrefix(peg.Fence, j.before) {
			return ""
		}
		if rest, fenced := strings.CutPrefix(j.before, peg.Fence); fenced {
			j.fenced, j.before = true, rest
		}
		text = strings.TrimLeft(j.before, jsonSpace)
		if j.begun = text != ""; !j.begun {
			return ""
		}
	}
	var told strings.Builder
	for i := 0; i < len(text) && !j.over; i++ {
		c := text[i]
		switch {
		case j.escape:
			j.escape = false
		case j.quoted:
			j.quoted, j.escape = c != '"', c == '\\'
		case c == '`' && j.fenced:
			j.over = true
			continue
		case strings.IndexByte(jsonSpace, c) >= 0:
			j.spaces += string(c)
			continue
		default:
			j.quoted = c == '"'
		}
		told.WriteString(j.spaces)
		told.WriteByte(c)
		j.spaces = ""
	}
	return told.String()
}

const jsonSpace = " \t\r\n"
