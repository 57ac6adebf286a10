// SPDX-License-Identifier: MIT

package completion

import (
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/scheduler/answer"
)

// Parts takes an answer apart into content, reasoning and tool calls, for a reader that follows
// its tokens as well. It is memory besides that, and processor time; see Rest.
type Parts struct {
	prompt chat.Prompt
	choice Choice // with its parser, and whether there are tool calls
	begun  bool   // the parser has seen text
}

// NewParts takes an answer to a request apart. It is closed by who gets it.
func (r *TextRequest) NewParts() (*Parts, error) {
	p := &Parts{prompt: r.Rendered}
	if p.prompt.NewParser == nil {
		return p, nil // a text is content as it comes
	}
	var err error
	p.choice.parts, err = p.prompt.NewSplitter()
	return p, err
}

// Rest is how long Take should not be called, so that parsing costs little, unless the answer has
// ended.
func (p *Parts) Rest() time.Duration {
	if p.choice.parts == nil {
		return 0
	}
	return p.choice.parts.Rest()
}

// Take gives what the answer gains by more text. ended is why the answer has ended; 0: it goes on.
func (p *Parts) Take(text string, ended answer.Reason) (d Delta, err error) {
	parser := p.choice.parts
	if parser == nil {
		d.Content = text
		return d, nil
	}
	parser.Add(text)
	p.begun = true
	return p.take(ended)
}

// Retake is Take after tokens were taken back: text is all that is left, and the delta has all of
// it.
func (p *Parts) Retake(text string, ended answer.Reason) (d Delta, err error) {
	p.choice.calls = false
	if !p.begun || p.choice.parts == nil {
		return p.Take(text, ended)
	}
	if err := p.choice.parts.Restart(p.prompt, text); err != nil {
		return d, err
	}
	return p.take(ended)
}

func (p *Parts) take(ended answer.Reason) (d Delta, err error) {
	if ended != 0 {
		return d, d.take(&p.choice, lastOf(p.choice.parts, ended))
	}
	return d, d.take(&p.choice, p.choice.parts.Take)
}

// FinishReason is why an answer ended, in OpenAI's words.
func (p *Parts) FinishReason(r answer.Reason) string {
	p.choice.End.Reason = r
	return p.choice.FinishReason()
}

// Close frees the parser.
func (p *Parts) Close() {
	if p.choice.parts != nil {
		_ = p.choice.parts.Close() // it is memory only
	}
}
