// SPDX-License-Identifier: MIT

package openai

import (
	"crypto/rand"
	"time"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
)

// head is what every object of an answer begins with.
type head struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`

	Fingerprint string `json:"system_fingerprint,omitempty"` // the program that answers
	Verbose     any    `json:"__verbose,omitempty"`          // llama-server's description of the answer
}

// describe adds llama-server's description of the answer.
func (h *head) describe(answer any) { h.Verbose = answer }

// answerHeads begin the objects of one answer, streamed and whole.
type answerHeads struct {
	common    head // but for Object
	request   *completion.TextRequest
	sendUsage bool
}

func (a API) newAnswerHeads(prefix string, r *completion.TextRequest, b *AnswerFields) answerHeads {
	h := head{ID: prefix + rand.Text(), Created: time.Now().Unix(), Model: r.Model.Name, Fingerprint: "penstock " + a.Version}
	return answerHeads{h, r, b.StreamOptions.IncludeUsage}
}

// head is the head of an object.
func (h answerHeads) head(object string) head {
	of := h.common
	of.Object = object
	return of
}

func (h answerHeads) usage(choices []*completion.Choice) wire.Usage {
	return wire.UsageOf(choices, h.request.Choices)
}

// noUsage is the usage of a frame before the one that tells it: null if the client has asked for
// that one, as with OpenAI, else nothing.
func (h answerHeads) noUsage() any {
	if !h.sendUsage {
		return nil
	}
	return (*wire.Usage)(nil) // which is not omitted
}

// Start implements wire.Shape: the first frame is that of the first token.
func (answerHeads) Start(*completion.Choice) []any { return nil }

// Framing implements wire.Shape.
func (answerHeads) Framing() wire.Framing { return wire.EventsDone }
