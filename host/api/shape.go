// SPDX-License-Identifier: MIT

package api

import (
	"crypto/rand"
	"time"
)

// shape is how an answer looks on the wire. Its methods return what is encoded as JSON; nil: nothing is sent.
type shape interface {
	// part is the frame for new text of a choice, with the details of its tokens.
	part(c *choice, text string, d details) any
	// last is the frame that ends a choice.
	last(c *choice) any
	// closing is the frame after all choices, if the client wants the usage.
	closing(u usage) any
	// whole is the answer in one piece.
	whole(choices []*choice, u usage) any
	// endsWithDone reports whether a stream ends with [DONE].
	endsWithDone() bool
}

// head is what every object of OpenAI's answers begins with.
type head struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
}

// heads makes the heads of one answer, streamed and whole.
type heads struct {
	id      string
	created int64
	model   string
}

func newHeads(prefix, model string) heads {
	return heads{id: prefix + rand.Text(), created: time.Now().Unix(), model: model}
}

func (h heads) head(object string) head {
	return head{ID: h.id, Object: object, Created: h.created, Model: h.model}
}
