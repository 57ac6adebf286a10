// SPDX-License-Identifier: MIT

// Command answer-length is a plugin: it steers towards an answer that ends, with a sentence, near
// a wanted length.
package main

import (
	"bytes"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[length](penstock.Manifest{
	Name:    "answer-length",
	Version: "1.0.0",
	Summary: "steers towards an end of a sentence near a number of tokens",
	ConfigSchema: `{
		"type": "object",
		"additionalProperties": false,
		"required": ["tokens"],
		"properties": {
			"tokens": {"type": "integer", "minimum": 4, "maximum": 100000, "description": "the wanted length"},
			"strength": {"type": "number", "minimum": 0, "maximum": 100, "default": 10, "description": "how much a logit is changed at most"}
		}
	}`,
})

func main() {}

// most bounds each list of tokens: a bias costs time for each entry.
const most = 128

// length is the plugin in one request; the lists are built once for all.
type length struct {
	ends    []penstock.Token // end the answer
	closers []penstock.Token // end a sentence

	target   int
	strength float32
	prompt   int // tokens
	piece    []byte
}

// Warm implements penstock.Warmer.
func (l *length) Warm(words *penstock.Vocabulary) error {
	for t := range penstock.Token(words.Len()) {
		switch {
		case penstock.AttributesOf(t)&penstock.AttrEnd != 0:
			if len(l.ends) < most {
				l.ends = append(l.ends, t)
			}
		case len(words.Piece(t)) <= 4 && closes(words.Piece(t)) && len(l.closers) < most:
			l.closers = append(l.closers, t)
		}
	}
	return nil
}

// closes reports whether a sentence may end with these bytes.
func closes(piece []byte) bool {
	piece = bytes.TrimRight(piece, " \n\"')")
	for _, mark := range [...]string{".", "!", "?", "。", "！", "？"} {
		if bytes.HasSuffix(piece, []byte(mark)) {
			return true
		}
	}
	return false
}

// Open implements penstock.Opener.
func (l *length) Open(r *penstock.Request) error {
	l.target = r.Config.Get("tokens").Int()
	l.strength = float32(r.Config.Get("strength").Float())
	l.prompt = r.PromptTokens
	return nil
}

// Prepare implements penstock.Preparer. Up to three quarters of the length the answer is kept from
// ending. From the length on first a sentence is to end, and then the answer.
func (l *length) Prepare(next *penstock.Next) {
	pressure := l.pressure(penstock.HistoryLen() - l.prompt)
	if pressure == 0 {
		return
	}
	tokens := l.ends
	if pressure > 0 && !l.closed() {
		tokens = l.closers
	}
	for _, t := range tokens {
		next.Bias(t, l.strength*pressure)
	}
}

// pressure is −1 far below the wanted length, 0 from three quarters of it, and grows to 1 between
// it and five quarters.
func (l *length) pressure(n int) float32 {
	switch quarter := l.target / 4; {
	case n < 3*quarter:
		return -1
	case n < l.target:
		return 0
	default:
		return min(1, float32(n-l.target+1)/float32(quarter))
	}
}

// closed reports whether the last token ended a sentence.
func (l *length) closed() bool {
	last, ok := penstock.LastToken()
	if !ok {
		return false
	}
	l.piece = penstock.Piece(last, l.piece)
	return closes(l.piece)
}
