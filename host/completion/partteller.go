// SPDX-License-Identifier: MIT

package completion

import (
	"strings"

	"github.com/penstock/penstock/host/serving"
)

// partTeller tells a plugin which part of an answer its text ends in. It is a serving.Parts.
type partTeller struct {
	*Parts
	text  string
	first serving.Part // of an answer without text: what the prompt has opened
	last  serving.Part
}

// tellParts begins to take an answer apart for a plugin.
func (r *TextRequest) tellParts() (serving.Parts, error) {
	parts, err := r.NewParts()
	if err != nil {
		return nil, err
	}
	p := &partTeller{Parts: parts, first: serving.PartContent, last: serving.PartContent}
	p.first = p.Part("a") // any word
	return p, nil
}

// Part implements serving.Parts.
func (p *partTeller) Part(text string) serving.Part {
	if text == p.text {
		return p.last
	}
	more, grown := strings.CutPrefix(text, p.text)
	p.text = text
	var d Delta
	var err error
	if grown {
		d, err = p.Take(more, 0)
	} else {
		p.last = p.first
		d, err = p.Retake(text, 0)
	}
	switch {
	case err != nil:
		p.last = serving.PartUnknown
	case len(d.Calls) > 0:
		p.last = serving.PartToolCall
	case d.Content != "":
		p.last = serving.PartContent
	case d.Reasoning != "":
		p.last = serving.PartReasoning
	}
	return p.last
}
