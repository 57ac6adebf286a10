// SPDX-License-Identifier: MIT

// Command reasoning-budget is a plugin: it ends a model's reasoning after some tokens, so that it
// answers, and has it reason for some tokens at least.
package main

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[budget](penstock.Manifest{
	Name:     "reasoning-budget",
	Version:  "2.0.0",
	Summary:  "ends the reasoning after some tokens, at the end of a sentence, and not before others",
	Hold:     16, // the longest end of reasoning that is taken back
	TakeBack: 10000,
	Splice:   1024,
	ConfigSchema: `{
		"type": "object",
		"additionalProperties": false,
		"properties": {
			"tokens": {"type": "integer", "minimum": -1, "maximum": 1000000, "default": -1, "description": "of reasoning, then it is ended; −1: there may be as many as the model wants"},
			"grace": {"type": "integer", "minimum": 0, "maximum": 10000, "default": 0, "description": "how many tokens more it may take to the end of a sentence"},
			"message": {"type": "string", "maxLength": 500, "default": "", "description": "comes before the end that is forced, such as: Time is up, I answer now."},
			"minimum": {"type": "integer", "minimum": 0, "maximum": 1000000, "default": 0, "description": "tokens of reasoning; an earlier end is replaced"},
			"wait": {"type": "string", "minLength": 1, "maxLength": 200, "default": "Wait", "description": "comes in the place of an end that is too early"},
			"end": {"type": "string", "minLength": 1, "maxLength": 200, "default": "</think>\n\n", "description": "what ends the model's reasoning"}
		}
	}`,
})

func main() {}

// budget is the plugin in one request.
type budget struct {
	soft, hard, minimum int // tokens of reasoning
	spent               int

	close     []penstock.Token // the message, and what ends the reasoning
	tag       string           // what ends it, without white space
	tagTokens []penstock.Token
	wait      []penstock.Token
	ended     bool // by the plugin
	replacing int  // tokens of wait that are still to come

	text    []byte
	history []penstock.Token
}

// Open implements penstock.Opener.
func (b *budget) Open(r *penstock.Request) error {
	c := r.Config
	b.soft, b.minimum = c.Get("tokens").Int(), c.Get("minimum").Int()
	if b.soft < 0 {
		b.soft = 1 << 30
	}
	b.hard = b.soft + c.Get("grace").Int()
	if b.minimum > b.soft {
		return errors.New("config.minimum is " + strconv.Itoa(b.minimum) + ", more than config.tokens, which is " + strconv.Itoa(b.soft) + "; lower it")
	}
	end := c.Get("end").Text()
	b.close = penstock.Tokenize(c.Get("message").Text()+end, penstock.ParseSpecial)
	b.tag = strings.TrimSpace(end)
	b.tagTokens = penstock.Tokenize(b.tag, penstock.ParseSpecial)
	if b.minimum == 0 {
		return r.Hold(0) // nothing is taken back
	}
	b.wait = penstock.Tokenize(c.Get("wait").Text(), 0)
	return nil
}

// Accept implements penstock.Accepter.
func (b *budget) Accept(penstock.Token) penstock.Accepted {
	if penstock.AnswerPart() != penstock.Reasoning {
		b.ended = false // if it reasons again, that is ended, too
		return penstock.Continue
	}
	if b.ended || b.spent >= b.hard {
		return penstock.Continue
	}
	b.spent++
	if b.replacing > 0 {
		b.replacing--
		return penstock.Continue
	}
	if b.spent > b.minimum || b.minimum == 0 {
		return penstock.Continue
	}
	n := b.closing()
	if n == 0 {
		return penstock.Continue
	}
	b.spent -= n
	b.replacing = len(b.wait)
	return penstock.Splice(n, b.wait...)
}

// closing is how many of the last tokens are the end of the reasoning; 0: they are not.
func (b *budget) closing() int {
	b.history = penstock.HistoryFrom(-16, b.history)
	if n := len(b.tagTokens); n <= len(b.history) && slices.Equal(b.history[len(b.history)-n:], b.tagTokens) {
		return n
	}
	b.text = penstock.AnswerText(-len(b.tag), b.text)
	if b.tag == "" || string(b.text) != b.tag {
		return 0
	}
	left := len(b.tag)
	for i := range b.history {
		left -= len(penstock.Piece(b.history[len(b.history)-1-i], b.text))
		if left <= 0 {
			return min(i+1, b.spent)
		}
	}
	return 0
}

// Prepare implements penstock.Preparer. What ends the reasoning is still a part of it, so it is
// forced once.
func (b *budget) Prepare(next *penstock.Next) {
	early := b.spent < b.minimum
	if b.ended || !early && b.spent < b.soft || penstock.AnswerPart() != penstock.Reasoning {
		return
	}
	switch {
	case early:
		for _, s := range []penstock.Special{penstock.EOS, penstock.EOT} {
			if end, ok := penstock.SpecialToken(s); ok && !slices.Contains(b.tagTokens, end) {
				next.Bias(end, -10000)
			}
		}
	case b.spent >= b.hard || b.sentenceEnds():
		b.ended = true
		next.Force(b.close...)
	}
}

// sentenceEnds reports whether the text ends with a sentence or a line.
func (b *budget) sentenceEnds() bool {
	b.text = penstock.AnswerText(-16, b.text)
	text := bytes.TrimRight(b.text, " \"'”’»)]*_")
	for _, mark := range []string{".", "!", "?", "…", "。", "！", "？", "\n"} {
		if bytes.HasSuffix(text, []byte(mark)) {
			return true
		}
	}
	return false
}
