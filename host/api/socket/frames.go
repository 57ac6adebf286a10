// SPDX-License-Identifier: MIT

package socket

import (
	"encoding/json"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/scheduler"
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

type startedFrame struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	Stream string `json:"stream"`
	Model  string `json:"model"`
	Seed   uint32 `json:"seed"` // of the request, or drawn where it names none
	Prompt int    `json:"prompt_tokens"`
	Cached int    `json:"cached_tokens"`

	Warnings []string `json:"warnings,omitempty"`       // of the request's fields that count for nothing
	Relaxed  []string `json:"schema_relaxed,omitempty"` // what of its JSON schemas is not enforced
}

type tokenFrame struct {
	Type     string           `json:"type"`
	ID       string           `json:"id"`
	Seq      uint64           `json:"seq"`
	Text     string           `json:"text"`
	Logprobs *wire.TokenProb  `json:"logprobs,omitempty"`
	Trace    *wire.TokenTrace `json:"trace,omitempty"`
}

// promptFrame tells how likely the next tokens of the prompt were; the first of all has no
// probability and is in no frame.
type promptFrame struct {
	Type   string           `json:"type"`
	ID     string           `json:"id"`
	Seq    uint64           `json:"seq"`
	Prompt []wire.TokenProb `json:"prompt"`
}

// rewoundFrame tells what is taken back of what was sent.
type rewoundFrame struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Seq     uint64 `json:"seq"`
	Tokens  int    `json:"tokens"`
	Removed string `json:"removed"` // the end of the text so far that goes with them
}

// outputFrame is a value that a plugin gave.
type outputFrame struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Seq  uint64 `json:"seq"`
	wire.PluginOutput
}

// branchesFrame tells what has become of a program's branches.
type branchesFrame struct {
	Type     string        `json:"type"`
	ID       string        `json:"id"`
	Seq      uint64        `json:"seq"`
	Branches []wire.Branch `json:"branches"`
	LeftOut  int           `json:"left_out,omitempty"`
}

// partsFrame tells what the parser of an answer finds in it.
type partsFrame struct {
	Type      string           `json:"type"`
	ID        string           `json:"id"`
	Reset     bool             `json:"reset,omitempty"` // what the parts frames before said counts no more
	Content   string           `json:"content,omitempty"`
	Reasoning string           `json:"reasoning,omitempty"`
	Calls     []wire.CallDelta `json:"calls,omitempty"`
}

// stateFrame says that an answer is held, or goes on.
type stateFrame struct {
	Type string `json:"type"` // paused or resumed
	ID   string `json:"id"`
}

type endFrame struct {
	Type      string            `json:"type"`
	ID        string            `json:"id"`
	Reason    string            `json:"reason"`
	Usage     wire.Usage        `json:"usage"`
	Timings   wire.Timings      `json:"timings"`
	Missed    uint64            `json:"missed,omitempty"`    // events that were dropped
	Recording string            `json:"recording,omitempty"` // its id, if the request was recorded
	Trace     *wire.TokenTrace  `json:"trace,omitempty"`     // of the token that ended the answer
	Error     *wire.ErrorObject `json:"error,omitempty"`
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

// frameOf is the frame of one event before the end.
func (a *answer) frameOf(e scheduler.Event) any {
	c := a.choice
	engine := c.Request.Model.Engine
	d, _ := c.Add(e) // an answer fails only at its end
	switch e.Kind {
	case scheduler.KindStarted:
		return startedFrame{Type: "started", ID: a.id, Stream: a.connection.api.nameOf(a.stream), Model: c.Request.Model.Name,
			Seed: a.seed, Prompt: e.Started.PromptTokens, Cached: e.Started.CachedTokens, Warnings: wire.Warnings(c.Request.LeftOut()),
			Relaxed: c.Request.Relaxed}
	case scheduler.KindPrompt:
		return promptFrame{Type: "prompt", ID: a.id, Seq: e.Seq, Prompt: wire.PromptProbabilities(engine, e.Prompt)}
	case scheduler.KindOutput:
		return outputFrame{Type: "output", ID: a.id, Seq: e.Seq, PluginOutput: wire.OutputOf(*e.Output)}
	case scheduler.KindBranches:
		told := wire.BranchesOf(engine, e)
		return branchesFrame{Type: "branches", ID: a.id, Seq: e.Seq, Branches: append([]wire.Branch{}, told.Branches...), LeftOut: told.LeftOut}
	case scheduler.KindRewound:
		return rewoundFrame{Type: "rewound", ID: a.id, Seq: e.Seq, Tokens: e.Rewound.Tokens, Removed: e.Rewound.Text}
	}
	f := tokenFrame{Type: "token", ID: a.id, Seq: e.Seq, Text: d.Content, Trace: wire.TraceOf(engine, e.Token, e.Trace)}
	if p, ok := wire.Probability(engine, e); ok {
		f.Logprobs = &p
	}
	return f
}

// endFrame is the frame of an answer's end, besides that of the text that was held back until then.
func (a *answer) endFrame(e scheduler.Event) endFrame {
	c := a.choice
	_, failed := c.Add(e)
	end := endFrame{Type: "end", ID: a.id, Recording: c.Request.RecordingID(), Reason: e.End.Reason.String(), Timings: wire.TimingsOf(*e.End),
		Usage: wire.UsageOf([]*completion.Choice{c}, 1)}
	if t := e.End.EndToken; t != nil {
		end.Trace = wire.TraceOf(c.Request.Model.Engine, t.Token, t.Trace)
	}
	if s, ok := a.stream.(interface{ Missed() uint64 }); ok {
		end.Missed = s.Missed()
	}
	if a.parts != nil {
		end.Reason = a.parts.parser.FinishReason(e.End.Reason)
		if failed == nil && a.parts.failed != nil {
			failed, end.Reason = a.parts.failed, "error"
		}
	}
	if failed != nil {
		body := wire.ErrorOf(completion.AsError(failed, "request"))
		end.Error = &body
	}
	return end
}
