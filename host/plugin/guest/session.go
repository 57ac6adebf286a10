// SPDX-License-Identifier: MIT

package guest

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
)

// Session is what the host functions tell a guest of the request it serves. It outlives the
// instance: after a rewind another may take its place.
type Session struct {
	History       []int32         // the tokens of the conversation so far
	Params        [7]int64        // by the ABI's param kinds
	Logprob       float32         // of the token that is accepted; NaN: not known
	HiddenState   []float32       // behind the logits of the token that is drawn or accepted; empty: not known
	Messages      []byte          // JSON; while a template is rendered, and for who rewrote them and filters the answer
	Done          <-chan struct{} // closed when nobody waits for the guest any more; nil: never
	SetupDeadline time.Time       // every call must be over by then; zero: each has its own time
	Watcher       Watcher         // nil: nobody watches
	NoNotes       bool            // nobody sees its notes: the plan does not need them

	request *plugin.RequestInfo // nil: nobody's, to load the module
	owner   string              // who has the module loaded; empty: the operator
	config  []byte              // JSON
	random  random
	text    answerText
	parts   answerParts

	promptText promptText
	log        guestLog
	outputs
	notes
}

// NewSession begins a session of a request.
func (m *Module) NewSession(r *plugin.RequestInfo) *Session {
	s := &Session{request: r, config: r.Config, Messages: r.Messages, log: guestLog{left: m.Env.Limits.Log}}
	if m.configure != nil {
		s.config = m.configure(s.config)
	}
	if m.Env.LogLines {
		s.log.to = m.Env.Log.With("plugin", m.Name)
	}
	if len(s.config) == 0 {
		s.config = []byte("{}")
	}
	s.random = random{seed: r.Seed, index: uint64(r.Index), position: -1}
	s.Params = [...]int64{
		abi.ParamMaxTokens: int64(r.MaxTokens), abi.ParamContextSize: int64(r.ContextSize), abi.ParamSeed: int64(r.Seed),
		abi.ParamTime: -1, abi.ParamChoice: int64(r.Choice), abi.ParamChoices: int64(max(1, r.Choices)),
	}
	if !r.Time.IsZero() {
		s.Params[abi.ParamTime] = r.Time.UnixMilli()
	}
	s.Logprob = unknown
	return s
}

// client is who asks; empty: the operator.
func (s *Session) client() string {
	if s.request == nil {
		return s.owner
	}
	return s.request.Client
}

// sampling are the request's sampling parameters of now, as JSON.
func (s *Session) sampling() []byte {
	if s.request == nil || s.request.Sampling == nil {
		return []byte("{}")
	}
	return s.request.Sampling()
}

// describe is what the import request gives: the model and the request's sampling parameters.
func describe(model, sampling []byte) []byte {
	return slices.Concat([]byte(`{"model":`), model, []byte(`,"sampling":`), sampling, []byte("}"))
}

// unknown is a number that is not known.
var unknown = float32(math.NaN())

// loading is a session of nobody's request: describing and warming have none. The operator's log
// has what the operator's own modules say meanwhile.
func (m *Module) loading(ctx context.Context) *Session {
	s := &Session{Done: ctx.Done(), Logprob: unknown, log: guestLog{left: m.Env.Limits.Log}}
	if m.kept != nil {
		s.owner = m.kept.client
	}
	if m.kept == nil || m.Env.LogLines {
		s.log.to = m.Env.Log
	}
	return s
}
