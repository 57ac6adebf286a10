// SPDX-License-Identifier: MIT

// Command banned-phrases is a plugin: it takes back a phrase that must not appear and lets the model find another way.
package main

import (
	"github.com/penstock/penstock/plugins/sdk/go/accept"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/prepare"
	"github.com/penstock/penstock/plugins/sdk/go/rewind"
)

// hold is how many tokens the stream runs behind; so many can be taken back without anyone having seen them.
const hold = 32

func init() {
	b := &banned{}
	penstock.Register(penstock.Manifest{
		Name:    "banned-phrases",
		Version: "1.0.0",
		Summary: "keeps phrases out of the answer by going back to where they began",
		Hold:    hold,
		ConfigSchema: `{
			"type": "object",
			"additionalProperties": false,
			"required": ["phrases"],
			"properties": {
				"phrases": {"type": "array", "minItems": 1, "maxItems": 1000, "items": {"type": "string", "minLength": 1, "maxLength": 200}},
				"ignore_case": {"type": "boolean", "default": true}
			}
		}`,
	}, b.open)
	prepare.Register(b)
	accept.Register(b)
	rewind.Register(b)
}

func main() {}

// banned is the plugin in one request. A phrase that shows up is taken back up to the token in which it began, and that token
// is not allowed there again.
type banned struct {
	phrases phrases
	answer  answer
	bans    []ban

	prompt  int
	history []penstock.Token
	bias    *penstock.Bias
	splice  *penstock.Splice
}

// ban is a token that is not allowed at a place, as long as what is before that place stays as it is.
type ban struct {
	at    int // index in the answer
	token penstock.Token
}

// most is how many tokens are banned at one place before the plugin goes back one more.
const most = 64

func (b *banned) open() error {
	config, err := penstock.Config()
	if err != nil {
		return err
	}
	b.phrases = readPhrases(config)
	b.answer, b.bans, b.prompt = answer{fold: b.phrases.fold}, b.bans[:0], penstock.PromptTokens()
	if b.bias, err = penstock.NewBias(most); err != nil {
		return err
	}
	b.splice, err = penstock.NewSplice(1)
	return err
}

// Prepare implements prepare.Preparer.
func (b *banned) Prepare() prepare.Filled {
	b.bias.Reset()
	filled := prepare.Nothing
	for _, ban := range b.bans {
		if ban.at == len(b.answer.ends) && b.bias.Add(ban.token, never) {
			filled = prepare.Bias
		}
	}
	return filled
}

// Accept implements accept.Accepter.
func (b *banned) Accept(t penstock.Token) accept.Answer {
	b.history = penstock.HistoryFrom(b.prompt, b.history)
	b.answer.follow(b.history)
	from, found := b.phrases.find(&b.answer)
	if !found {
		return accept.Continue
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
	b.splice.Set(last - at + 1)
	return accept.Splice
}

// giveUp ends the answer before the phrase.
func (b *banned) giveUp(at int) accept.Answer {
	penstock.Log(penstock.Warn, "no way around a banned phrase was found; the answer ends before it")
	end := penstock.SpecialToken(penstock.EOS)
	if end == penstock.NoToken {
		return accept.Stop
	}
	last := len(b.answer.ends) - 1
	b.answer.cut(at)
	b.splice.Set(last-at+1, end)
	return accept.Splice
}

// Rewind implements rewind.Rewinder.
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
