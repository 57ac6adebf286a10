// SPDX-License-Identifier: MIT

package session

import (
	"context"
	"encoding/json"
	"errors"
	"math"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
)

// Recorder is a plugin's stage, or that of a program, that writes its calls down: of a program a
// step for each wait, and the run when it is over.
type Recorder struct {
	*stage.Stage
	of        chain.Stage // the stage, or the program
	isProgram bool

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
	r := &Recorder{Stage: s, of: s, isProgram: p.IsProgram(), logprob: float32(math.NaN()), begin: begin,
		notes: notes{view: p.Manifest.View, vocabulary: p.Module.Env.Vocabulary.Size(), take: take}}
	if r.isProgram {
		r.of = stage.Program{Stage: s}
	}
	if q.Sampling != nil {
		r.notes.sampling = string(q.Sampling())
	}
	s.Watch(&r.notes)
	return r
}

// Main is a program's.
func (r *Recorder) Main(run *program.Run) error {
	return r.run(func() error { return stage.Program{Stage: r.Stage}.Main(run) })
}

func (r *Recorder) run(main func() error) error {
	r.notes.begin(Call{Call: CallStep})
	err := main()
	r.notes.refused(err)
	r.notes.end(false)
	return err
}

// end ends a call, and the watching where it was the last one.
func (r *Recorder) end(always bool) {
	if r.notes.end(always); r.notes.over {
		r.Watch(nil)
	}
}

// Traits implements chain.Stage: those of the plugin, whose refusals are written down.
func (r *Recorder) Traits() chain.Traits {
	t := r.of.Traits()
	if !r.isProgram {
		t.Refuse = r.refuse
	}
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
	if r.isProgram && r.opened {
		return r.of.Reset(history, prompt)
	}
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
	err := r.of.Reset(history, prompt)
	r.notes.refused(err)
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
	err := r.of.Apply(v)
	r.end(false)
	return err
}

// Accept implements chain.Stage.
func (r *Recorder) Accept(t chain.Token) (chain.Effect, error) {
	if r.isProgram {
		return r.of.Accept(t)
	}
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

// Render has a plugin render a conversation, with CallRender as stage.Render does, or rewrite it,
// with CallMessages as stage.RewriteMessages. It returns what that made, and what is written down.
func Render(ctx context.Context, p *load.Plugin, call string, messages []byte, r plugin.RequestInfo, check func([]byte) error) (made string, done *Call, err error) {
	n := &notes{vocabulary: p.Module.Env.Vocabulary.Size(), take: func(c Call) bool { done = &c; return true }}
	n.begin(Call{Call: call})
	var rewritten []byte
	if call == CallRender {
		made, err = stage.RenderWatched(ctx, p, messages, r, n)
	} else {
		rewritten, err = stage.RewriteMessages(ctx, p, messages, r, n, check)
	}
	if n.refused(err); n.call != nil && err == nil {
		if call == CallRender {
			n.call.Prompt = newText(made)
		}
		n.call.Messages = rewritten
	}
	n.end(true)
	return made, done, err
}

// isJSON is the check of a replay: what the messages must be like is the host's business.
func isJSON(text []byte) error {
	if !json.Valid(text) {
		return errors.New("what was handed to emit is no JSON")
	}
	return nil
}
