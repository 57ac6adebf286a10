// SPDX-License-Identifier: MIT

package completion

import (
	"time"

	"github.com/penstock/penstock/scheduler/answer"
)

// Parts takes an answer apart into content, reasoning and tool calls, for a reader that follows
// its tokens as well. It is memory besides that, and processor time; see Rest.
type Parts struct {
	choice Choice // with its parser, and whether there are tool calls
	begun  bool   // the parser has seen text
}

// NewParts takes an answer to a request apart. It is closed by who gets it.
func (p *Prompted) NewParts() (*Parts, error) {
	parser, err := p.Rendered.NewSplitter()
	return &Parts{choice: Choice{parts: parser}}, err
}

// Rest is how long Take should not be called, so that parsing costs little, unless the answer has
// ended.
func (p *Parts) Rest() time.Duration { return p.choice.parts.Rest() }

// Take gives what the answer gains by more text. ended is why the answer has ended; 0: it goes on.
func (p *Parts) Take(text string, ended answer.Reason) (d Delta, err error) {
	p.choice.parts.Add(text)
	p.begun = true
	return p.take(ended)
}

// Retake is Take after tokens were taken back: text is all that is left, and the delta has all of
// it.
func (p *Parts) Retake(text string, ended answer.Reason) (d Delta, err error) {
	p.choice.calls = false
	if !p.begun {
		return p.Take(text, ended)
	}
	if err := p.choice.parts.Restart(text); err != nil {
		return d, err
	}
	return p.take(ended)
}

func (p *Parts) take(ended answer.Reason) (d Delta, err error) {
	if ended != 0 {
		return d, d.take(&p.choice, lastPart(p.choice.parts, ended))
	}
	return d, d.take(&p.choice, p.choice.parts.Take)
}

// FinishReason is why an answer ended, in OpenAI's words.
func (p *Parts) FinishReason(r answer.Reason) string {
	p.choice.End.Reason = r
	return p.choice.FinishReason()
}

// Close frees the parser.
func (p *Parts) Close() { _ = p.choice.parts.Close() } // it is memory only
