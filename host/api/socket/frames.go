// SPDX-License-Identifier: MIT

package socket

import (
	"encoding/json"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
)

// clientFrame is any frame that a client sends over the WebSocket. Its type decides which fields
// count.
type clientFrame struct {
	Type     string          `json:"type"`
	ID       string          `json:"id"`
	Request  json.RawMessage `json:"request"`   // generate
	DetachMS int64           `json:"detach_ms"` // generate, fork
	Overflow string          `json:"overflow"`  // generate, fork
	Parts    bool            `json:"parts"`     // generate, fork
	As       string          `json:"as"`        // fork
	Sampling json.RawMessage `json:"sampling"`  // set, fork
	Text     *string         `json:"text"`      // inject
	Tokens   *int            `json:"tokens"`    // rewind
	Stream   string          `json:"stream"`    // attach
	After    *int64          `json:"after"`     // attach
	EveryMS  *int64          `json:"every_ms"`  // watch

	release func() // lets go of the frame's memory
}

type errorFrame struct {
	Type  string           `json:"type"`
	ID    string           `json:"id,omitempty"`
	As    string           `json:"as,omitempty"`    // of a fork
	Frame string           `json:"frame,omitempty"` // the type of the frame that was refused, if it can be read
	Error wire.ErrorObject `json:"error"`
}

func refusalFrame(id string, err error) errorFrame {
	return errorFrame{Type: "error", ID: id, Error: wire.ErrorOf(completion.AsError(err, "request"))}
}
