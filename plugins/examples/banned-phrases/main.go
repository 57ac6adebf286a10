// SPDX-License-Identifier: MIT

// Command banned-phrases is a plugin: it takes back a phrase that must not appear and lets the
// model find another way.
package main

import (
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// hold is how many tokens the stream runs behind; so many can be taken back without anyone having
// seen them.
const hold = 32

var _ = penstock.Register[banned](penstock.Manifest{
	Name:     "banned-phrases",
	Version:  "1.0.0",
	Summary:  "keeps phrases out of the answer by going back to where they began",
	Hold:     hold,
	TakeBack: 100 * hold, // there may be many ways to a phrase
	ConfigSchema: `{
		"type": "object",
		"additionalProperties": false,
		"required": ["phrases"],
		"properties": {
			"phrases": {"type": "array", "minItems": 1, "maxItems": 1000, "items": {"type": "string", "minLength": 1, "maxLength": 200}},
			"ignore_case": {"type": "boolean", "default": true}
		}
	}`,
})

func main() {}

// banned is the plugin in one request. A phrase that shows up is taken back up to the token in
// which it began, and that token is not allowed there again.
type banned struct {
	phrases phrases
	answer  answer
	bans    []ban

	prompt  int
	history []penstock.Token
}

// ban is a token that is not allowed at a place, as long as what is before that place stays as it
// is.
type ban struct {
	at    int // index in the answer
	token penstock.Token
}

// most is how many tokens are banned at one place before the plugin goes back one more.
const most = 64

// Open implements penstock.Opener.
func (b *banned) Open(r *penstock.Request) error {
	b.phrases, b.prompt = readPhrases(r.Config), r.PromptTokens
	b.answer.fold = b.phrases.fold
	return nil
}

// Prepare implements penstock.Preparer.
func (b *banned) Prepare(next *penstock.Next) {
	for _, ban := range b.bans {
		if ban.at == len(b.answer.ends) {
			next.Bias(ban.token, never)
		}
	}
}

// Accept implements penstock.Accepter.
func (b *banned) Accept(t penstock.Token) penstock.Accepted {
	b.history = penstock.HistoryFrom(b.prompt, b.history)
	b.answer.follow(b.history)
	from, found := b.phrases.find(&b.answer)
	if !found {
		return penstock.Continue
	}
	last := len(b.answer.ends) - 1
	at := b.answer.tokenAt(from)
	for at > 0 && last-at+1 < hold && b.count(at) >= most {
		at-- // nothing is left to try there
	}
	if b.count(at) >= most {
		return b.giveUp(at)
	}
	b.forget(at)
	b.bans = append(b.bans, ban{at, b.history[at]})
	b.answer.cut(at)
	return penstock.Splice(last - at + 1)
}

// giveUp ends the answer before the phrase.
func (b *banned) giveUp(at int) penstock.Accepted {
	penstock.Log(penstock.Warn, "no way around a banned phrase was found; the answer ends before it")
	end, ok := penstock.SpecialToken(penstock.EOS)
	if !ok {
		return penstock.Stop
	}
	last := len(b.answer.ends) - 1
	b.answer.cut(at)
	return penstock.Splice(last-at+1, end)
}

// Rewind implements penstock.Rewinder.
func (b *banned) Rewind(n int) error {
	at := max(0, n-b.prompt)
	b.answer.cut(at)
	b.forget(at)
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

// forget drops the bans after a place: what was before them has changed.
func (b *banned) forget(at int) {
	kept := b.bans[:0]
	for _, ban := range b.bans {
		if ban.at <= at {
			kept = append(kept, ban)
		}
	}
	b.bans = kept
}
