// SPDX-License-Identifier: MIT

package answerlog

import (
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/scheduler"
)

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
	TokenID  *scheduler.Token `json:"token_id,omitempty"` // nil: it is text that was held back until the end
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
	Type string `json:"type"` // one of these
	ID   string `json:"id"`
}

const (
	paused  = "paused"
	resumed = "resumed"
)

// EndFrame is the last frame of an answer.
type EndFrame struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	Reason string `json:"reason"`
	outcome
	Usage     wire.Usage        `json:"usage"`
	Timings   wire.Timings      `json:"timings"`
	Missed    uint64            `json:"missed,omitempty"`    // events that were dropped
	Recording string            `json:"recording,omitempty"` // its id, if the request was recorded
	Receipt   string            `json:"receipt,omitempty"`   // signed, if it was asked for and the answer has not failed
	Trace     *wire.TokenTrace  `json:"trace,omitempty"`     // of the token that ended the answer
	Error     *wire.ErrorObject `json:"error,omitempty"`
}

// outcome tells the ways apart in which an answer may end; empty: there was none, or it has failed.
type outcome struct {
	StopType  string           `json:"stop_type,omitempty"`     // see completion.Choice.StopType
	Word      string           `json:"stopping_word,omitempty"` // the stop string
	StoppedBy string           `json:"stopped_by,omitempty"`    // the plugin
	TokenID   *scheduler.Token `json:"token_id,omitempty"`      // the token that ended it and is not part of it
}

// frameOf is the frame of one event before the end, as those below without the client's name of the
// answer.
func (s *source) frameOf(e scheduler.Event) any {
	c := s.choice
	engine := c.Request.Model.Engine
	d, _ := c.Add(e) // an answer fails only at its end
	switch e.Kind {
	case scheduler.KindStarted:
		return startedFrame{Type: "started", Stream: s.shelf.nameOf(s.stream.ID()), Model: c.Request.Model.Name,
			Seed: s.seed, Prompt: e.Started.PromptTokens, Cached: e.Started.CachedTokens, Warnings: wire.Warnings(c.Request.LeftOut()),
			Relaxed: c.Request.Relaxed}
	case scheduler.KindPrompt:
		return promptFrame{Type: "prompt", Seq: e.Seq, Prompt: wire.PromptProbabilities(engine, e.Prompt)}
	case scheduler.KindOutput:
		return outputFrame{Type: "output", Seq: e.Seq, PluginOutput: wire.OutputOf(*e.Output)}
	case scheduler.KindBranches:
		told := wire.BranchesOf(engine, e)
		return branchesFrame{Type: "branches", Seq: e.Seq, Branches: append([]wire.Branch{}, told.Branches...), LeftOut: told.LeftOut}
	case scheduler.KindRewound:
		return rewoundFrame{Type: "rewound", Seq: e.Seq, Tokens: e.Rewound.Tokens, Removed: e.Rewound.Text}
	}
	id := e.Token
	f := tokenFrame{Type: "token", Seq: e.Seq, Text: d.Content, TokenID: &id, Trace: wire.TraceOf(engine, e.Token, e.Trace)}
	if p, ok := wire.Probability(engine, e); ok {
		f.Logprobs = &p
	}
	return f
}

// endFrame is the frame of an answer's end, besides that of the text that was held back until then.
func (s *source) endFrame(e scheduler.Event) EndFrame {
	c := s.choice
	_, failed := c.Add(e)
	end := EndFrame{Type: "end", Recording: c.Request.RecordingID(), Reason: e.End.Reason.String(), Timings: wire.TimingsOf(*e.End),
		Usage: wire.UsageOf([]*completion.Choice{c}, 1)}
	end.outcome = outcome{StopType: c.StopType(), Word: e.End.Stop, StoppedBy: c.StoppedBy()}
	if t := e.End.EndToken; t != nil {
		end.TokenID, end.Trace = &t.Token, wire.TraceOf(c.Request.Model.Engine, t.Token, t.Trace)
	}
	end.Missed = c.Missed()
	if s.parts != nil {
		end.Reason = s.parts.parser.FinishReason(e.End.Reason)
		if failed == nil && s.parts.failed != nil {
			failed, end.Reason = s.parts.failed, "error"
		}
	}
	if failed == nil {
		end.Receipt = c.Receipt()
	} else {
		end.outcome = outcome{}
		body := wire.ErrorOf(completion.AsError(failed, "request"))
		end.Error = &body
	}
	return end
}
