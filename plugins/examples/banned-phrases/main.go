// SPDX-License-Identifier: MIT

// Command banned-phrases is a plugin: it takes back a phrase that must not appear and lets the
// model find another way.
package main

import (
	"math"
	"slices"

	"github.com/penstock/penstock/plugins/sdk/go/json"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// hold is how many tokens the stream runs behind; so many can be taken back without anyone having
// seen them.
const hold = 32

var _ = penstock.Register[banned](penstock.Manifest{
	Name:     "banned-phrases",
	Version:  "2.0.0",
	Summary:  "keeps phrases and patterns out of the answer by going back to where they began",
	Hold:     hold,
	TakeBack: 1000 * hold, // there may be many ways to a phrase
	ConfigSchema: `{
		"type": "object",
		"additionalProperties": false,
		"properties": {
			"phrases": {"type": "array", "maxItems": 1000, "items": {"type": "string", "minLength": 1, "maxLength": 200}, "default": [], "description": "texts that must not appear"},
			"patterns": {"type": "array", "maxItems": 100, "items": {"type": "string", "minLength": 1, "maxLength": 1000}, "default": [], "title": "Regular expressions", "description": "in Go's syntax (RE2); (?i) ignores case"},
			"list": {"type": "string", "maxLength": 100000, "default": "", "description": "a file's text: a phrase or a /pattern/ in each line; # begins a comment"},
			"slop": {"type": "boolean", "default": false, "title": "Slop list", "description": "also what language models say too often, by a list of the plugin's own"},
			"ignore_case": {"type": "boolean", "default": true, "description": "of phrases"},
			"whole_words": {"type": "boolean", "default": false, "description": "phrases count only where no letter or digit is joined to them"},
			"parts": {"type": "array", "maxItems": 3, "items": {"enum": ["content", "reasoning", "tool_call"]}, "default": ["content"], "description": "parts of the answer in which nothing of this may appear"},
			"tries": {"type": "integer", "minimum": 1, "maximum": 200, "default": 64, "description": "how many tokens are tried at one place"},
			"give_up": {"enum": ["end", "allow"], "default": "end", "title": "After the last try", "description": "end the answer before the phrase, or allow it there"}
		}
	}`,
})

func main() {}

// banned is the plugin in one request. What shows up is taken back up to the token in which it
// began, and that token is not allowed there again.
type banned struct {
	scanner scanner
	planned bool
	parts   []penstock.Part // in which it applies
	tries   int
	allow   bool // what cannot be avoided

	// never is the bias of a token that is banned. Beside a grammar it is finite: where the grammar
	// allows nothing else the token comes again, and is counted as a try, instead of no token at all.
	never float32

	bans   []ban
	since  int // tokens were taken back since the answer was longest
	record int // its length then, in tokens

	prompt  int
	history []penstock.Token
}

// ban is a token that is not allowed at a place, as long as what is before that place stays as it
// is.
type ban struct {
	at    int // index in the answer
	token penstock.Token
}

// Plan implements penstock.Planner: what the list says is read once.
func (b *banned) Plan(config json.Value, plan *penstock.Plan) (err error) {
	b.scanner.phrases, b.scanner.patterns, err = readBans(config)
	b.planned = true
	if err == nil && b.scanner.empty() {
		plan.Hold, plan.Without = 0, []penstock.Call{penstock.CallPrepare, penstock.CallAccept, penstock.CallRewind}
	}
	return err
}

// Open implements penstock.Opener.
func (b *banned) Open(r *penstock.Request) (err error) {
	if !b.planned { // by an older host
		b.scanner.phrases, b.scanner.patterns, err = readBans(r.Config)
	}
	b.prompt, b.tries, b.allow = r.PromptTokens, r.Config.Get("tries").Int(), r.Config.Get("give_up").Text() == "allow"
	b.scanner.last = r.MaxTokens
	b.scanner.begin()
	if b.never = float32(math.Inf(-1)); r.Sampling().Get("grammar").Bool() {
		b.never = -10000
	}
	names := r.Config.Get("parts")
	for i := range names.Len() {
		b.parts = append(b.parts, map[string]penstock.Part{
			"content": penstock.Content, "reasoning": penstock.Reasoning, "tool_call": penstock.ToolCall}[names.At(i).Text()])
	}
	return err
}

// Prepare implements penstock.Preparer. A plugin is not asked about the token that ends the answer,
// so that token is banned where it would complete a word.
func (b *banned) Prepare(next *penstock.Next) {
	if from := b.scanner.end(); from >= b.scanner.free && b.applies() {
		for _, s := range []penstock.Special{penstock.EOS, penstock.EOT} {
			if end, ok := penstock.SpecialToken(s); ok {
				next.Bias(end, b.never)
			}
		}
	}
	for _, ban := range b.bans {
		if ban.at == len(b.scanner.ends) {
			next.Bias(ban.token, b.never)
		}
	}
}

// Accept implements penstock.Accepter.
func (b *banned) Accept(penstock.Token) penstock.Accepted {
	s := &b.scanner
	b.history = penstock.HistoryFrom(b.prompt+len(s.ends), b.history)
	if len(b.history) == 0 { // others took tokens back without a word
		b.Rewind(penstock.HistoryLen() - 1)
		b.history = penstock.HistoryFrom(-1, b.history)
	}
	from := s.follow(b.history)
	if n := len(s.ends); n > b.record {
		b.record, b.since = n, 0
	}
	if from < 0 || !b.applies() {
		return penstock.Continue
	}
	// Of what began earlier a part has been shown; its end has not.
	at := max(s.tokenAt(from), len(s.ends)-hold, 0)
	// Several places can send the answer back to one another, so both are bounded: the tries at a
	// place, and those without any progress.
	if b.count(at) >= b.tries || b.since >= 4*b.tries {
		return b.giveUp(at)
	}
	b.since++
	b.bans = append(b.bans, ban{at, s.tokens[at]})
	return b.back(at)
}

// back takes the answer back to a place, and puts tokens there.
func (b *banned) back(at int, tokens ...penstock.Token) penstock.Accepted {
	n := len(b.scanner.ends) - at
	b.forget(at)
	b.scanner.cut(at)
	return penstock.Splice(n, tokens...)
}

// applies reports whether the part in which the answer ends is one of those asked for.
func (b *banned) applies() bool {
	part := penstock.AnswerPart()
	return part == penstock.UnknownPart || slices.Contains(b.parts, part)
}

// giveUp lets pass what cannot be avoided, or ends the answer before it.
func (b *banned) giveUp(at int) penstock.Accepted {
	b.since = 0
	if b.allow {
		b.scanner.free = len(b.scanner.text)
		return penstock.Continue
	}
	penstock.Log(penstock.Warn, "no way around a banned phrase was found; the answer ends before it")
	end, ok := penstock.SpecialToken(penstock.EOS)
	if !ok {
		if end, ok = penstock.SpecialToken(penstock.EOT); !ok {
			return penstock.Stop
		}
	}
	return b.back(at, end)
}

// Rewind implements penstock.Rewinder.
func (b *banned) Rewind(n int) error {
	at := max(0, n-b.prompt)
	b.scanner.cut(at)
	b.forget(at)
	b.scanner.free = min(b.scanner.free, len(b.scanner.text))
	b.record, b.since = min(b.record, at), 0
	return nil
}

// count is how many tokens are banned at a place.
func (b *banned) count(at int) (n int) {
	for _, ban := range b.bans {
		if ban.at == at {
			n++
		}
	}
	return n
}

// forget drops the bans after a place, since what was before them has changed, and those that are
// shown already.
func (b *banned) forget(at int) {
	b.bans = slices.DeleteFunc(b.bans, func(ban ban) bool { return ban.at > at || ban.at < at-hold })
}
