// SPDX-License-Identifier: MIT

package session

import (
	"context"
	"errors"
	"math"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
)

// Recorder is a plugin's stage that writes its calls down.
type Recorder struct {
	*stage.Stage

	notes   notes
	logprob float32 // of the token that is accepted next
	history []Token
	opened  bool
	begin   func(prompt []Token)
}

var (
	_ chain.Stage    = (*Recorder)(nil)
	_ chain.Preparer = (*Recorder)(nil)
)

// Record writes the calls of a stage down, before its first. begin is told the prompt's tokens,
// and take gets each call when it is over; it returns false to get no more. Both are called in
// turn, on the goroutines that the stage is called on.
func Record(s *stage.Stage, begin func(prompt []Token), take func(Call) bool) *Recorder {
	p, q := s.Plugin()
	r := &Recorder{Stage: s, logprob: float32(math.NaN()), begin: begin, notes: notes{view: p.Manifest.View, vocabulary: p.Module.Env.Vocabulary.Size(), take: take}}
	if q.Sampling != nil {
		r.notes.sampling = string(q.Sampling())
	}
	s.Watch(&r.notes)
	return r
}

// end ends a call, and the watching where it was the last one.
func (r *Recorder) end(always bool) {
	if r.notes.end(always); r.notes.over {
		r.Watch(nil)
	}
}

// Traits implements chain.Stage: those of the plugin, whose refusals are written down.
func (r *Recorder) Traits() chain.Traits {
	t := r.Stage.Traits()
	t.Refuse = r.refuse
	if tell := t.Logprob; tell != nil {
		t.Logprob = func(l float32) {
			r.logprob = l
			tell(l)
		}
	}
	return t
}

// Reset implements chain.Stage.
func (r *Recorder) Reset(history []chain.Token, prompt int) error {
	history = plugin.SeenTokens(history)
	if r.opened {
		r.notes.begin(rewound(r.history, history))
	} else {
		r.opened = true
		r.begin(append([]Token(nil), history[:prompt]...))
		r.notes.begin(Call{Call: CallOpen, Tokens: append([]Token(nil), history[prompt:]...)})
	}
	if !r.notes.over {
		r.history = append(r.history[:0], history...)
	}
	err := r.Stage.Reset(history, prompt)
	var refusal *plugin.Refusal
	if errors.As(err, &refusal) && r.notes.call != nil {
		r.notes.call.Refusal = &refusal.Message
	}
	if c := r.notes.call; c != nil && c.Call == CallOpen {
		c.Declined = r.Declined()
	}
	r.end(true)
	return err
}

// rewound is the call that makes one history of another.
func rewound(from, to []Token) Call {
	keep := 0
	for keep < min(len(from), len(to)) && from[keep] == to[keep] {
		keep++
	}
	return Call{Call: CallRewind, Keep: &keep, Tokens: append([]Token(nil), to[keep:]...)}
}

// Prepare implements chain.Preparer.
func (r *Recorder) Prepare() (chain.Prepared, error) {
	r.notes.begin(Call{Call: CallPrepare})
	p, err := r.Stage.Prepare()
	r.end(false)
	return p, err
}

// Apply implements chain.Stage.
func (r *Recorder) Apply(v *chain.View) error {
	r.notes.begin(Call{Call: CallSample})
	err := r.Stage.Apply(v)
	r.end(false)
	return err
}

// Accept implements chain.Stage.
func (r *Recorder) Accept(t chain.Token) (chain.Effect, error) {
	call := Call{Call: CallAccept, Token: &t}
	if l := Logit(r.logprob); l == l { // it is known
		call.Logprob = &l
	}
	r.notes.begin(call)
	effect, err := r.Stage.Accept(t)
	if !r.notes.over {
		r.history = append(r.history, t)
		r.history = r.history[:len(r.history)-int(effect.Backtrack)]
	}
	r.end(true)
	return effect, err
}

func (r *Recorder) refuse(act chain.Act, why error) error {
	r.notes.begin(Call{Call: CallRefuse})
	err := r.Stage.Refuse(act, why)
	r.end(false)
	return err
}

// Rule is the plugin as a stop rule, or nil if it is none.
func (r *Recorder) Rule() answer.StopRule {
	inner := r.Stage.Rule()
	if inner == nil {
		return nil
	}
	return &recordedRule{inner, r}
}

type recordedRule struct {
	answer.StopRule
	of *Recorder
}

// Check implements answer.StopRule.
func (u *recordedRule) Check(t chain.Token, text string) (answer.Verdict, error) {
	u.of.notes.begin(Call{Call: CallStop})
	v, err := u.StopRule.Check(t, text)
	u.of.end(false)
	return v, err
}

// Rewind implements answer.RewindRule.
func (u *recordedRule) Rewind(tokens, bytes int) {
	u.of.notes.begin(Call{Call: CallStopRewind, Count: tokens, Bytes: bytes})
	u.StopRule.(answer.RewindRule).Rewind(tokens, bytes) // a stage's rule is one
	u.of.end(true)
}

// New begins the session of a plugin in a request. The prompt, or the messages, and the calls are
// yet to come.
func New(p *load.Plugin, q plugin.RequestInfo) Session {
	s := Session{Plugin: Plugin{Name: p.Name, SHA256: p.SHA256}, Warm: warmth(p),
		Request: RequestFacts{Config: q.Config, MaxTokens: q.MaxTokens, ContextSize: q.ContextSize, Seed: q.Seed, Place: q.Index, Choice: q.Choice, Choices: q.Choices, Media: q.Media}}
	if !q.Time.IsZero() {
		s.Request.Time = q.Time.UnixMilli()
	}
	if q.Sampling != nil {
		s.Request.Sampling = q.Sampling()
	}
	return s
}

// warmth is what a plugin did when it was loaded.
func warmth(p *load.Plugin) []Deed {
	var list []Deed
	for i := range p.Module.Did {
		list = append(list, deedOf(&p.Module.Did[i], p.Module.Env.Vocabulary.Size()))
	}
	return list
}

// Render is stage.Render, and what is written down of it.
func Render(ctx context.Context, p *load.Plugin, messages []byte, r plugin.RequestInfo) (string, *Call, error) {
	var done *Call
	n := &notes{vocabulary: p.Module.Env.Vocabulary.Size(), take: func(c Call) bool { done = &c; return true }}
	n.begin(Call{Call: CallRender})
	text, err := stage.RenderWatched(ctx, p, messages, r, n)
	var refusal *plugin.Refusal
	switch {
	case n.call == nil:
	case errors.As(err, &refusal):
		n.call.Refusal = &refusal.Message
	case err == nil:
		prompt := Text(text)
		n.call.Prompt = &prompt
	}
	n.end(true)
	return text, done, err
}
