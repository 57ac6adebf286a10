// SPDX-License-Identifier: MIT

package openai

import (
	"unicode/utf8"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
)

// mostPromptProbs bounds the log-probabilities of the prompts of one request: each takes about a
// hundred bytes while it is written.
const mostPromptProbs = 2 << 20

// echoed is a prompt with which an answer begins.
type echoed struct {
	text    string
	tokens  []scheduler.Token
	offsets []int // of its tokens in the text; nil: nobody asked for log-probabilities
}

// fillEcho has the answers begin with their prompts, with the log-probabilities of the prompts'
// tokens where those of the answers' are wanted.
func (b *textBody) fillEcho(r *completion.TextRequest) error {
	if !b.Echo {
		return nil
	}
	texts, err := completion.PromptTexts(r.Model, b.Prompt, r.Prompts)
	if err != nil {
		return err
	}
	r.PromptLogprobs = b.Logprobs != nil
	if r.PromptLogprobs && b.Suffix != "" {
		return refusal.Unsupported("suffix", "suffix is set with echo and logprobs; the prompt that fills in the middle is not the text that is echoed: leave out one of the three")
	}
	b.prompts = make([]echoed, len(texts))
	probs := 0
	for i, text := range texts {
		b.prompts[i] = echoed{text: text, tokens: r.Prompts[i]}
		if r.PromptLogprobs {
			b.prompts[i].offsets = promptOffsets(r.Model.Engine, text, r.Prompts[i])
			probs += len(r.Prompts[i]) * (1 + r.Logprobs) * r.Choices
		}
	}
	if probs > mostPromptProbs {
		return refusal.Invalid("logprobs", "echo and logprobs ask for %d log-probabilities of prompts; one request may have %d: ask for fewer alternatives, answers or prompts", probs, mostPromptProbs)
	}
	return nil
}

// first describes a prompt's first token, which has no probability.
func (p *echoed) first(engine serving.Engine) *textProbs {
	if p.offsets == nil {
		return nil
	}
	return &textProbs{Tokens: []string{engine.Piece(p.tokens[0])}, Values: []*float32{nil}, Top: []map[string]float32{nil}, Offsets: p.offsets[:1]}
}

// part describes the prompt's tokens from number i on that events tell of.
func (p *echoed) part(engine serving.Engine, i int, told []scheduler.PromptToken) *textProbs {
	t := &textProbs{}
	for k, prob := range wire.PromptProbabilities(engine, told) {
		t.add(prob, p.offsets[i+k])
	}
	return t
}

// answerOffsets counts from the end of the prompt.
func (p *echoed) answerOffsets() *offsets { return &offsets{utf8.RuneCountInString(p.text)} }

// endProb describes the token that ended an answer, which is no part of its text. Clients that
// score a prompt ask for one token besides, and count on it.
func endProb(engine serving.Engine, end *answer.EndToken) (wire.TokenProb, bool) {
	if end == nil {
		return wire.TokenProb{}, false
	}
	return wire.Probability(engine, scheduler.Event{Token: end.Token, Logprobs: end.Logprobs})
}
