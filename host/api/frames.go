// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"

	"github.com/penstock/penstock/scheduler"
)

// clientFrame is any frame that a client sends over the WebSocket. Its type decides which fields count.
type clientFrame struct {
	Type     string          `json:"type"`
	ID       string          `json:"id"`
	Request  json.RawMessage `json:"request"`   // generate
	DetachMS int64           `json:"detach_ms"` // generate
	Sampling json.RawMessage `json:"sampling"`  // set
	Text     *string         `json:"text"`      // inject
	Tokens   *int            `json:"tokens"`    // rewind
	Stream   string          `json:"stream"`    // attach
	After    *int64          `json:"after"`     // attach
}

type startedFrame struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	Stream string `json:"stream"`
	Model  string `json:"model"`
	Prompt int    `json:"prompt_tokens"`
	Cached int    `json:"cached_tokens"`
}

type tokenFrame struct {
	Type     string      `json:"type"`
	ID       string      `json:"id"`
	Seq      uint64      `json:"seq"`
	Text     string      `json:"text"`
	Logprobs *tokenProb  `json:"logprobs,omitempty"`
	Trace    *tokenTrace `json:"trace,omitempty"`
}

type endFrame struct {
	Type    string     `json:"type"`
	ID      string     `json:"id"`
	Reason  string     `json:"reason"`
	Usage   usage      `json:"usage"`
	Timings timings    `json:"timings"`
	Error   *errorBody `json:"error,omitempty"`
}

type errorFrame struct {
	Type  string    `json:"type"`
	ID    string    `json:"id,omitempty"`
	Error errorBody `json:"error"`
}

func refusal(id string, err error) errorFrame {
	return errorFrame{Type: "error", ID: id, Error: asError(err, "request").body()}
}

// framesOf are the frames of one event. Text that was held back to the end comes as a last token frame.
func (a *socketAnswer) framesOf(e scheduler.Event) []any {
	s := a.socket.service
	switch e.Kind {
	case scheduler.KindStarted:
		return []any{startedFrame{Type: "started", ID: a.id, Stream: a.stream.ID(), Model: s.Model.Name,
			Prompt: e.Started.PromptTokens, Cached: e.Started.CachedTokens}}
	case scheduler.KindToken:
		f := tokenFrame{Type: "token", ID: a.id, Seq: e.Seq, Text: e.Text, Trace: s.trace(e)}
		if p, ok := s.probability(e); ok {
			f.Logprobs = &p
		}
		return []any{f}
	}
	var frames []any
	if e.Text != "" {
		frames = append(frames, tokenFrame{Type: "token", ID: a.id, Seq: e.Seq, Text: e.Text})
	}
	end := endFrame{Type: "end", ID: a.id, Reason: e.End.Reason.String(), Timings: timingsOf(*e.End),
		Usage: usageOf([]*choice{{end: *e.End}}, 1)}
	if err := failure(e); err != nil {
		body := asError(err, "request").body()
		end.Error = &body
	}
	return append(frames, end)
}
