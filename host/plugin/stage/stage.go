// SPDX-License-Identifier: MIT

// Package stage puts a plugin to work in a request: as a stage of its sampler chain, as a stop
// rule, or as the template that writes its prompt.
//
// A Stage opens an instance of its own (package guest) with the first Reset and closes it with
// Close. Its calls, in the order of a token:
//
//	stage.go   Reset    the first one opens the plugin; later ones tell it that tokens were taken back
//	steer.go   Prepare  during the forward pass: a mask, biases or a forced token
//	apply.go   Apply    choosing: the plugin is shown candidates or the whole row of logits
//	steer.go   Accept   after a token was chosen: the plugin may stop the answer, take tokens back or draft
//	text.go    Check    the plugin reads the new text and may stop the answer
//	text.go    Filter   the plugin reads the new text and may change what the client sees
//	stage.go   Refuse   the chain cannot do what the plugin asked for
//
// Program runs a plugin that owns its whole request. Render (template.go) calls one that writes the
// prompt.
//
// Every number that a guest leaves is checked before it is used. A wrong one is a fault, after
// which the guest is not called again.
//
// # Why may the sampler chain run twice for one token?
//
// A plugin's mask may leave no token that the request's grammar allows. That shows only at the end
// of the chain, since the grammar checks the one token that was drawn; a grammar mask for each
// token would show it earlier, but costs much more. If such a plugin may be skipped (on_error:
// skip), the chain runs again without its mask.
//
// # Why do stages take the row, instead of being given it?
//
// A row of 128,256 logits is half a megabyte, and copying one that no cache holds takes 40 µs or
// more. Eight streams with a plugin each would copy eight in each tick, mostly to find a few dozen
// candidates. So a stage reads the row in the memory of the forward pass: it finds its candidates
// there, or copies the row once, into the guest's buffer. The next pass overwrites that memory and
// waits until the stage is done. So a stage must be quick and runs no guest while it takes the row.
// A tick that does not wait for a late sampler copies the row first, unless a copy exists.
//
// # Why may a sampler answer "keep the first k"?
//
// Candidates come best first, and min-p, top-k and the like only drop the end of the list. A number
// says how many stay: the guest writes nothing, and the host has nothing to read back and check. Of
// the guests that do edit their candidates, most leave the ids alone. The host compares the ids
// with those it wrote, and looks for duplicates only if they differ.
package stage

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
)

// Stage is a plugin at work in one request. It begins with the first Reset, which the scheduler
// calls on the answer's background sampler, not on the tick.
type Stage struct {
	plugin      *load.Plugin
	module      *guest.Module // plugin.Module
	request     plugin.RequestInfo
	session     *guest.Session
	interrupted chan struct{} // closed by Interrupt
	interrupt   sync.Once

	mu       sync.Mutex      // a second call in a running guest would crash the process
	instance *guest.Instance // nil before the first Reset and after Close
	prompt   int             // tokens of the prompt, which begins session.History
	disabled bool            // after a fault: the stage changes nothing any more
	closed   bool
	begun    bool // the first Reset of a Program has come
	spliced  int  // tokens of the plugin's own splice that Accept has not seen yet

	selector selector
	seen     []uint64 // scratch of checkIDs: a bit for each token, all clear between calls
	ids      []int32  // scratch, with logits: the best candidates of a row, or those that the guest left
	logits   []float32
	found    int               // candidates in ids and logits after findBest
	bias     []chain.Bias      // scratch: the guest's bias buffer
	tokens   []scheduler.Token // scratch: the guest's splice buffer
	rule     rule
	filter   filter
	drafted  []scheduler.Token // the next tokens as the plugin guesses them, for Foresee
}

var (
	_ chain.Stage    = (*Stage)(nil)
	_ chain.Preparer = (*Stage)(nil)
	_ chain.RowTaker = (*Stage)(nil)
)

// New puts a plugin to work for a request, until Close; the first Reset opens it. The error wraps
// plugin.ErrQuarantined, ErrUnknown or ErrClosed.
func New(p *load.Plugin, r plugin.RequestInfo) (*Stage, error) {
	s := &Stage{plugin: p, module: p.Module, request: r, interrupted: make(chan struct{})}
	var err error
	if s.session, err = p.Begin(&s.request); err != nil {
		return nil, err
	}
	s.session.Done = s.interrupted
	s.rule.stage, s.filter.stage = s, s
	return s, nil
}

// Watch tells w of the plugin's calls. It must come before the first Reset.
func (s *Stage) Watch(w guest.Watcher) { s.session.Watcher = w }

// Plugin returns the plugin and what it knows of the request.
func (s *Stage) Plugin() (*load.Plugin, plugin.RequestInfo) { return s.plugin, s.request }

// Rule returns the plugin as a stop rule, on the same instance, or nil if it is none. The stage
// must be in the request's chain too, since the chain opens the plugin.
func (s *Stage) Rule() answer.StopRule {
	if !s.module.Has(guest.Stop) {
		return nil
	}
	return &s.rule
}

// Filter returns the plugin as a filter of the shown text, always the same one, or nil if it is
// none. As with Rule, the stage must be in the request's chain too.
func (s *Stage) Filter() answer.Filter {
	if !s.module.Has(guest.Filter) {
		return nil
	}
	return &s.filter
}

// Reset implements chain.Stage. The first call opens the plugin. Later ones follow when tokens were
// taken back, and call the plugin's rewind. Without a rewind, a plugin that may have seen those
// tokens or their text goes on in a fresh instance, to which the rest of the answer is replayed.
func (s *Stage) Reset(history []scheduler.Token, prompt int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.disabled || s.closed {
		return nil
	}
	history = plugin.SeenTokens(history)
	s.drafted = s.drafted[:0]
	s.session.TakeNotes() // drops them: they are about a token that was taken back
	s.spliced, s.prompt, s.session.Logprob, s.session.HiddenState = 0, prompt, float32(math.NaN()), nil
	s.session.Params[abi.ParamPromptTokens] = int64(prompt) // a program may let the answer continue another prompt
	switch {
	case s.plugin.Fault != nil:
		if w := s.session.Watcher; w != nil {
			w.Failed(s.plugin.Fault)
		}
		s.disabled = true
	case s.instance == nil:
		return s.endOnFault(s.open(history, s.request.Setup.Deadline(s.module.Env.Limits.SetupTime)))
	case s.implements(guest.Rewind):
		s.session.History = append(s.session.History[:0], history...)
		returned, err := s.instance.Call(guest.Rewind, int32(len(history)), 0)
		if err == nil && returned != 0 {
			err = s.instance.Fail(guest.Rewind, guest.Violationf(plugin.CauseAnswer, "%d, it must be 0", returned))
		}
		return s.endOnFault(err)
	case s.implements(guest.Accept) || s.rule.cut && s.implements(guest.Stop) || s.filter.cut && s.implements(guest.Filter):
		if err := s.closeInstance(true); err != nil {
			return err
		}
		s.session.Replaying = true
		defer func() { s.session.Replaying = false }()
		return s.endOnFault(s.open(history, time.Now().Add(s.module.Env.Limits.SetupTime)))
	default:
		s.session.History = append(s.session.History[:0], history...)
	}
	return nil
}

// open makes an instance and replays the answer so far to it: its tokens, and after each of them
// the text that the stop rule and the filter were given. The deadline for all of it is until.
func (s *Stage) open(history []scheduler.Token, until time.Time) error {
	s.session.SetupDeadline = until
	defer func() { s.session.SetupDeadline = time.Time{} }()
	s.session.History = append(s.session.History[:0], history[:s.prompt]...)
	s.session.Params[abi.ParamPromptTokens] = int64(s.prompt)
	var err error
	if s.instance, err = s.module.NewInstance(context.Background(), s.session); err != nil {
		return err
	}
	s.rule.reset()
	s.filter.cut = false
	if s.module.Has(guest.Open) {
		if returned, err := s.instance.Call(guest.Open, 0, 0); err != nil {
			return err
		} else if returned != 0 {
			return s.instance.Refusal(guest.Open)
		}
	}
	if err := s.checkBuffers(); err != nil {
		return err
	}
	ruled, filtered := 0, 0 // calls of stop and of filter that were replayed
	for n, t := range history[s.prompt:] {
		s.session.History = append(s.session.History, t)
		if s.implements(guest.Accept) {
			if _, err := s.instance.Call(guest.Accept, t, 0); err != nil {
				return err
			}
		}
		var err error
		if ruled, err = s.rule.replay(ruled, n+1); err != nil {
			return err
		}
		if filtered, err = s.filter.replay(filtered, n+1); err != nil {
			return err
		}
	}
	if _, err = s.rule.replay(ruled, math.MaxInt); err != nil {
		return err
	}
	_, err = s.filter.replay(filtered, math.MaxInt)
	return err
}

// checkBuffers checks that the plugin has bound the buffers that its exports need.
func (s *Stage) checkBuffers() error {
	var kind int
	var what string
	switch b := &s.instance.Buffers; {
	case s.implements(guest.Sample) && s.plugin.Manifest.View == load.ViewCandidates && !b.Bound(abi.BufferCandidates):
		kind, what = abi.BufferCandidates, "candidates"
	case s.implements(guest.Sample) && s.plugin.Manifest.View == load.ViewLogits && !b.Bound(abi.BufferLogits):
		kind, what = abi.BufferLogits, "logits"
	case (s.implements(guest.Stop) || s.implements(guest.Filter)) && !b.Bound(abi.BufferText):
		kind, what = abi.BufferText, "text"
	default:
		return nil
	}
	return s.instance.Fail(guest.Open, guest.Violationf(plugin.CauseBuffer, "no %s buffer (kind %d) is bound", what, kind))
}

// Traits implements chain.Stage. A plugin's state lasts from token to token, since each instance
// has memory of its own.
func (s *Stage) Traits() chain.Traits {
	traits := chain.Traits{
		Name: s.name(), Hold: s.plugin.Manifest.Hold, TakeBack: s.plugin.Manifest.TakeBack, Strict: s.plugin.Manifest.StrictMask, Required: s.request.Required, Lasts: true, TakesLong: true,
		Prepares: s.module.Has(guest.Prepare), Foresees: s.module.Has(guest.Draft), TakesRow: true, IgnoresRow: true,
		Needs: s.readNeeds, Refuse: s.Refuse, Outputs: s.takeOutputs, Interrupt: s.Interrupt,
	}
	if s.module.Has(guest.Accept) && s.plugin.Needs(abi.ImportLogprob) {
		traits.Logprob = s.setLogprob
	}
	if s.plugin.Needs(abi.ImportNote) || s.module.Imports(abi.ImportLog) {
		traits.Notes = s.takeNotes
	}
	if s.plugin.WantsHiddenState() {
		traits.HiddenState, traits.StateLayer = s.setHiddenState, s.request.StateLayer
	}
	return traits
}

// takeNotes returns and forgets what the plugin noted on the token, for its trace.
func (s *Stage) takeNotes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session.TakeNotes()
}

// setHiddenState keeps the hidden state for the plugin's next calls.
func (s *Stage) setHiddenState(state []float32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session.HiddenState = state
}

// setLogprob keeps the chosen token's log-probability for the next accept.
func (s *Stage) setLogprob(l float32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session.Logprob = l
}

// Native implements chain.Stage. A plugin is not native.
func (s *Stage) Native() bool { return false }

// name is what the request's chain calls the plugin.
func (s *Stage) name() string { return "plugin:" + cmp.Or(s.request.Name, s.plugin.Name) }

// takeOutputs returns the values that the plugin gave its client since the last call.
func (s *Stage) takeOutputs() []chain.Output {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.labelOutputs(s.session.TakeOutputs())
}

// labelOutputs adds the plugin's name to its values.
func (s *Stage) labelOutputs(given []guest.Output) (all []chain.Output) {
	for _, o := range given {
		all = append(all, chain.Output{By: s.name(), Tokens: o.Tokens, Value: o.Value})
	}
	return all
}

// Interrupt ends a running call within a moment. Only penstock_close is called after it.
func (s *Stage) Interrupt() { s.interrupt.Do(func() { close(s.interrupted) }) }

// endOnFault closes the instance if a call's error is a fault, and returns the error. It returns
// nil if the request goes on without a plugin that faults.
func (s *Stage) endOnFault(err error) error {
	var f *plugin.Fault
	if !errors.As(err, &f) {
		return err
	}
	_ = s.closeInstance(false) // the fault is the error to report
	s.disabled = true
	if !s.request.Skip {
		return f
	}
	s.module.Env.Log.Warn("a request goes on without a plugin", "fault", f)
	return nil
}

// closeInstance closes the instance, if there is one. With tell it calls penstock_close first.
func (s *Stage) closeInstance(tell bool) error {
	if s.instance == nil {
		return nil
	}
	err := s.instance.Close(tell)
	s.instance = nil
	return err
}

// Close implements chain.Stage. Closing twice does no harm.
func (s *Stage) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if s.instance != nil && !s.disabled {
		s.plugin.Served(&s.request)
	}
	err := s.closeInstance(true)
	s.session.Close()
	s.plugin.End()
	return err
}

// canCall reports whether the plugin is open and implements the export.
func (s *Stage) canCall(e guest.Export) bool {
	return !s.disabled && !s.closed && s.instance != nil && s.instance.Has(e)
}

// implements reports whether the plugin has an export and has not declined it.
func (s *Stage) implements(e guest.Export) bool {
	if s.instance == nil {
		return s.module.Has(e)
	}
	return s.instance.Has(e)
}

// Declined lists the exports that the plugin has declined in this request.
func (s *Stage) Declined() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.instance == nil {
		return nil
	}
	return s.instance.Declined()
}

// readNeeds tells the chain what the plugin needs from now on: calls that it declined need nothing.
func (s *Stage) readNeeds() chain.Needs {
	s.mu.Lock()
	defer s.mu.Unlock()
	hold := s.plugin.Manifest.Hold
	switch {
	case s.disabled:
		hold = 0
	case s.instance != nil:
		hold = s.instance.Hold()
	}
	return chain.Needs{
		Hold:    hold,
		Prepare: s.implements(guest.Prepare), Foresee: s.implements(guest.Draft), Logprob: s.implements(guest.Accept),
		HiddenState: s.implements(guest.Sample) || s.implements(guest.Accept) || s.implements(guest.Stop),
	}
}

// exportOf maps an act to the export in which a plugin asks for it.
var exportOf = map[chain.Act]guest.Export{
	chain.ActMask: guest.Prepare, chain.ActForce: guest.Prepare, chain.ActChoose: guest.Sample, chain.ActSplice: guest.Accept,
}

// Refuse makes it the plugin's fault that the chain could not do what the plugin asked for.
func (s *Stage) Refuse(act chain.Act, why error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	cause := plugin.CauseAnswer
	switch {
	case errors.Is(why, chain.ErrNotAllowed):
		cause = plugin.CauseConflict
	case errors.Is(why, answer.ErrSpliceLimit):
		cause = plugin.CauseLimit
	}
	v := guest.Violationf(cause, "%v", why)
	if s.instance == nil { // another call has closed it meanwhile
		return v
	}
	return s.endOnFault(s.instance.Fail(exportOf[act], v))
}

// Usage is what a stage's guest uses.
type Usage struct {
	Fuel   int64 // units that the last call used
	Limit  int64 // units that it might have used
	Memory int   // bytes of guest memory
}

// Usage returns what the last call used, and zero while there is no instance: before the first
// Reset, and after a fault or Close.
func (s *Stage) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.instance == nil {
		return Usage{}
	}
	used, limit := s.instance.Fuel()
	return Usage{Fuel: used, Limit: limit, Memory: len(s.instance.Memory())}
}

// Program is a plugin that owns its request: penstock_run replaces the calls for each token. As a
// stage it is opened and closed with the answer. It is told of no tokens, since it shows them
// itself.
//
// Main holds the stage's lock all the time, so what is called meanwhile must not take it.
type Program struct{ *Stage }

// Traits implements chain.Stage.
func (p Program) Traits() chain.Traits {
	return chain.Traits{Name: p.name(), Lasts: true, TakesLong: true, Outputs: p.takeOutputs, Interrupt: p.Interrupt}
}

// Main implements program.Program: it calls penstock_run. If the plugin faults and may be skipped,
// the answer goes on after what was shown.
func (p Program) Main(r *program.Run) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.canCall(guest.Run) {
		if err := p.endOnFault(p.instance.RunProgram(r)); err != nil {
			return err
		}
	}
	if p.disabled {
		r.AdoptShown()
	}
	return nil
}

// Replay is Main for a player (package session), which answers the program's host calls from a
// recording.
func (p Program) Replay() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.canCall(guest.Run) {
		return nil
	}
	return p.endOnFault(p.instance.ReplayProgram())
}

// takeOutputs returns the values that the program gave its client. It needs no lock: the chain asks
// only while the program waits, or when it has returned.
func (p Program) takeOutputs() []chain.Output { return p.labelOutputs(p.session.TakeOutputs()) }

// Apply implements chain.Stage. A program's answer has no rows.
func (p Program) Apply(*chain.View) error { return nil }

// Accept implements chain.Stage.
func (p Program) Accept(scheduler.Token) (chain.Effect, error) { return chain.Effect{}, nil }

// Reset implements chain.Stage. The first call opens the plugin. Later ones do nothing: a program
// is not told when other plugins take tokens back.
func (p Program) Reset(history []scheduler.Token, prompt int) error {
	if p.begun {
		return nil
	}
	p.begun = true
	return p.Stage.Reset(history, prompt)
}
