// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"math"
	"unicode"
	"unicode/utf8"

	"github.com/penstock/penstock/plugins/sdk/go/json"
)

var never = float32(math.Inf(-1))

// phrases are what must not appear.
type phrases struct {
	list    [][]byte
	longest int // bytes
	fold    bool
}

func readPhrases(config json.Value) phrases {
	p := phrases{fold: config.Get("ignore_case").Bool()}
	list := config.Get("phrases")
	for i := range list.Len() {
		phrase := []byte(list.At(i).Text())
		if len(phrase) == 0 {
			continue
		}
		if p.fold {
			lower(phrase)
		}
		p.list = append(p.list, phrase)
		p.longest = max(p.longest, len(phrase))
	}
	return p
}

// find looks for a phrase that the last token completed, and returns where it begins. A phrase
// that has begun so long ago that it could not be taken back one token later counts as complete:
// no phrase is shown, though a few harmless beginnings are lost.
func (p *phrases) find(a *answer) (from int, found bool) {
	last := len(a.ends) - 1
	before := 0
	if last > 0 {
		before = a.ends[last-1]
	}
	from = len(a.text)
	window := a.text[max(0, before-p.longest+1):]
	start := len(a.text) - len(window)
	for _, phrase := range p.list {
		if i := bytes.Index(window, phrase); i >= 0 && start+i < from {
			from = start + i
		}
	}
	if at := last - hold + 1; at >= 0 {
		first := 0
		if at > 0 {
			first = a.ends[at-1]
		}
		for i := first; i < min(a.ends[at], from); i++ {
			for _, phrase := range p.list {
				if bytes.HasPrefix(phrase, a.text[i:]) {
					return i, true
				}
			}
		}
	}
	return from, from < len(a.text)
}

// lower turns capitals into small letters, in place: of those whose small letter takes as many
// bytes, which are all but a few.
func lower(text []byte) {
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRune(text[i:])
		if small := unicode.ToLower(c); small != c && utf8.RuneLen(small) == size {
			utf8.EncodeRune(text[i:], small)
		}
		i += size
	}
}
