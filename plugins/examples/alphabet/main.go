// SPDX-License-Identifier: MIT

// Command alphabet is a plugin: the answer has letters of some scripts only, such as Latin or
// Cyrillic.
package main

import (
	"errors"
	"slices"

	"github.com/penstock/penstock/plugins/sdk/go/json"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[alphabet](penstock.Manifest{
	Name:    "alphabet",
	Version: "1.0.0",
	Summary: "answers with letters of some scripts or alphabets only",
	ConfigSchema: `{
		"title": "Alphabet",
		"type": "object",
		"additionalProperties": false,
		"anyOf": [{"required": ["scripts"]}, {"required": ["letters"]}],
		"properties": {
			"scripts": {"title": "Scripts", "type": "array", "maxItems": 24, "items": {"enum": ["Arabic", "Armenian", "Bengali", "Cyrillic", "Devanagari", "Ethiopic", "Georgian", "Greek", "Gujarati", "Gurmukhi", "Han", "Hangul", "Hebrew", "Hiragana", "Kannada", "Katakana", "Khmer", "Latin", "Malayalam", "Myanmar", "Sinhala", "Tamil", "Telugu", "Thai"]}, "default": [], "description": "whose letters may come, by their names in Unicode"},
			"letters": {"title": "Letters", "type": "string", "maxLength": 1000, "default": "", "description": "further letters; without scripts the only ones"},
			"code_blocks": {"title": "Code blocks are free", "type": "boolean", "default": false, "description": "between lines of three backticks any letter may come"},
			"parts": {"title": "Parts", "type": "array", "maxItems": 2, "items": {"enum": ["content", "reasoning"]}, "default": ["content"], "description": "parts of the answer in which the others may not come"}
		}
	}`,
})

func main() {}

// alphabet is the plugin in one request. Its masks are made by Warm and Plan, once.
type alphabet struct {
	words     *penstock.Vocabulary
	continued []penstock.Token // begin inside a character
	bytewise  bool             // there is a token for each byte inside a character
	ticked    []penstock.Token // have a backtick

	letters letters
	code    bool
	parts   []penstock.Part
	outside *penstock.Mask // what may come between two characters, in the middle of a line outside of code
	living  map[pending]bool

	text text // how far the answer has come
}

// Warm implements penstock.Warmer.
func (a *alphabet) Warm(words *penstock.Vocabulary) error {
	a.words = words
	single := map[byte]bool{}
	for t := range penstock.Token(words.Len()) {
		piece := words.Piece(t)
		if len(piece) > 0 && piece[0]&0xC0 == 0x80 {
			a.continued = append(a.continued, t)
			if len(piece) == 1 {
				single[piece[0]] = true
			}
		}
		if slices.Contains(piece, '`') {
			a.ticked = append(a.ticked, t)
		}
	}
	a.bytewise = len(single) == 64
	return nil
}

// Plan implements penstock.Planner.
func (a *alphabet) Plan(config json.Value, _ *penstock.Plan) error {
	listed, names := config.Get("scripts"), []string(nil)
	for i := range listed.Len() {
		names = append(names, listed.At(i).Text())
	}
	a.letters = newLetters(names, config.Get("letters").Text())
	if len(a.letters.scripts)+len(a.letters.more) == 0 {
		return errors.New(`scripts and letters are empty, so no letter could come; name a script, such as "Latin"`)
	}
	a.code = config.Get("code_blocks").Bool()
	parts := config.Get("parts")
	for i := range parts.Len() {
		a.parts = append(a.parts, map[string]penstock.Part{"content": penstock.Content, "reasoning": penstock.Reasoning}[parts.At(i).Text()])
	}
	a.living = map[pending]bool{}
	a.outside = penstock.NewMask()
	for t := range penstock.Token(a.words.Len()) {
		if a.fits(text{run: inLine}, t) {
			a.outside.Allow(t)
		}
	}
	return nil
}

// Open implements penstock.Opener.
func (a *alphabet) Open(r *penstock.Request) error {
	if a.outside != nil {
		return nil
	}
	return a.Plan(r.Config, nil) // the host has no plans
}

// fits reports whether a token may come after a text: it has no letter of others, and where it ends
// inside a character, one that is allowed can come of it.
func (a *alphabet) fits(x text, t penstock.Token) bool {
	piece := a.words.Piece(t)
	if len(piece) == 0 { // control tokens, which have no letters; but none inside a character
		return x.open.n == 0 && penstock.AttributesOf(t)&(penstock.AttrControl|penstock.AttrEnd) != 0
	}
	for _, c := range piece {
		if !x.step(c, &a.letters, a.code) {
			return false
		}
	}
	return x.free() || a.lives(x.open)
}

// enough is the fuel below which nobody looks whether a character can be completed.
const enough = 2_000_000

// lives reports whether the model has tokens that complete an allowed character of some bytes. With
// tokens for all bytes, as nearly all models have them, it has.
func (a *alphabet) lives(open pending) bool {
	if open.n == 0 || a.bytewise {
		return true
	}
	known, ok := a.living[open]
	if ok {
		return known
	}
	for _, t := range a.continued {
		if left := penstock.Fuel(); left >= 0 && left < enough {
			return true
		}
		next, piece, fits := open, a.words.Piece(t), true
		for _, c := range piece {
			if next.n == 0 { // it goes on behind the character
				break
			}
			if _, _, fits = next.add(c); !fits {
				break
			}
		}
		if !fits || next.n > 0 && !(next.n == open.n+len(piece) && a.lives(next)) {
			continue
		}
		x := text{run: inLine, open: open}
		for _, c := range piece {
			if fits = x.step(c, &a.letters, false); !fits {
				break
			}
		}
		if fits && (x.open.n == 0 || next.n > 0) {
			a.living[open] = true
			return true
		}
	}
	a.living[open] = false
	return false
}

// Accept implements penstock.Accepter. What others have put in is followed, too.
func (a *alphabet) Accept(t penstock.Token) penstock.Accepted {
	for _, c := range a.words.Piece(t) {
		a.text.follow(c, a.code)
	}
	return penstock.Continue
}

// Prepare implements penstock.Preparer.
func (a *alphabet) Prepare(next *penstock.Next) {
	if part := penstock.AnswerPart(); part != penstock.UnknownPart && !slices.Contains(a.parts, part) {
		return
	}
	mask := next.Mask()
	switch {
	case a.text.open.n > 0 && !a.text.free() && a.letters.hasAny(a.text.open.span()) && a.lives(a.text.open):
		mask.BanAll()
		for _, t := range a.continued {
			if a.fits(a.text, t) {
				mask.Allow(t)
			}
		}
		return
	case a.text.free():
		mask.AllowAll()
	default:
		copy(mask.Words(), a.outside.Words())
	}
	if a.code {
		closed := a.text
		closed.open = pending{}
		for _, t := range a.ticked {
			if a.fits(closed, t) {
				mask.Allow(t)
			} else {
				mask.Ban(t)
			}
		}
	}
}
