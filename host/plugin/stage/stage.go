// SPDX-License-Identifier: MIT

// Package stage puts a plugin to work in a request: as a stage of its sampler chain, as a stop
// rule, or as the template that writes its prompt.
//
// A Stage opens an instance of its own (package guest) with the first Reset and closes it with
// Close. Its calls, in the order of a token:
//
//	reset.go    Reset    the first one opens the plugin (open.go); later ones tell it that tokens were taken back
//	prepare.go  Prepare  during the forward pass: a mask, biases or a forced token
//	apply.go    Apply    choosing: candidates.go or logits.go, by the view that the plugin asks for
//	accept.go   Accept   after a token was chosen: the plugin may stop the answer or take tokens back
//	rule.go     Check    the text that is new
//	refuse.go   Refuse   what the plugin asked for cannot be done
//
// Every number that a guest leaves is checked before it is used. A wrong one is a fault, after
// which the guest is not called again.
//
// # Why may the sampler chain run twice for one token?
//
// If a plugin is skipped, the chain may have to run again without its mask. Only at the end of
// the chain is it known whether the request's grammar leaves anything of what the mask allows. To
// know it earlier would cost a grammar mask for each token, and a grammar is fast because it only
// looks at the one token that was drawn.
//
// # Why do stages take the row, instead of being given it?
//
// A row of 128,256 logits is half a megabyte. One that no cache holds takes 40 µs or more to
// copy, and eight streams with a plugin each copied eight of them in each tick, mostly to look
// for a few dozen candidates. A stage that takes the row reads it in the memory of the forward
// pass, and the guest's whole-row view and masked rows are written straight from there. The next
// pass overwrites that memory. So the row is locked meanwhile, which is why a stage must be quick
// about it, and no guest runs then. A tick that does not wait for a late sampler copies the row
// first, if it was not copied before.
//
// # Why may a sampler answer "keep the first k"?
//
// Candidates come best first, so what min-p, top-k and the like drop is the end of the list. A
// number says it all: the guest need not write, and the host has nothing to read back and check.
// The candidates that stay are the host's own. Where a guest does edit the view, most leave the
// ids alone; the host compares them with those it wrote, and looks for doubles only if they
// differ.
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
)

// Stage is a plugin at work in one request. It begins with the first Reset, which the scheduler
// calls on the answer's background sampler, not on the tick.
type Stage struct {
	plugin      *load.Plugin
	module      *guest.Module // the plugin's
	request     plugin.RequestInfo
	session     *guest.Session
	interrupted chan struct{} // closed by Interrupt
	interrupt   sync.Once

	mu       sync.Mutex      // the scheduler does not overlap calls; two in one guest would take the process down
	instance *guest.Instance // nil before the first Reset and after Close
	prompt   int
	disabled bool // after a fault: the stage changes nothing any more
	closed   bool
	begun    bool // of a Program: it was opened
	spliced  int  // tokens of the plugin's own splice that are still to be accepted

	selector selector
	seen     []uint64 // a bit for each token, clear between calls
	ids      []int32  // with logits: the best candidates of a row, or those that the guest left
	logits   []float32
	taken    int // of ids, by the last TakeRow
	bias     []chain.Bias
	tokens   []scheduler.Token
	rule     rule
	filter   filter
	drafted  []scheduler.Token // what the plugin has guessed to come next
}

var (
	_ chain.Stage    = (*Stage)(nil)
	_ chain.Preparer = (*Stage)(nil)
	_ chain.RowTaker = (*Stage)(nil)
)

// New puts a plugin to work for a request, until Close. The error wraps plugin.ErrQuarantined,
// ErrUnknown or ErrClosed.
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

// Watch has a watcher learn of the plugin's calls, from the first Reset on.
func (s *Stage) Watch(w guest.Watcher) { s.session.Watcher = w }

// Plugin is the one at work, and what it knows of the request.
func (s *Stage) Plugin() (*load.Plugin, plugin.RequestInfo) { return s.plugin, s.request }

// Rule returns the plugin as a stop rule, on the same instance, or nil if it is none. The stage
// must be in the request's chain too, since the chain opens the plugin.
func (s *Stage) Rule() answer.StopRule {
	if !s.module.Has(guest.Stop) {
		return nil
	}
	return &s.rule
}

// Filter is the plugin as a filter of what is shown, always the same one, or nil if it is none. As
// with Rule, the stage must be in the request's chain too.
func (s *Stage) Filter() answer.Filter {
	if !s.module.Has(guest.Filter) {
		return nil
	}
	return &s.filter
}

// Traits implements chain.Stage. A plugin lasts since the memory of an instance is its own.
func (s *Stage) Traits() chain.Traits {
	traits := chain.Traits{
		Name: s.name(), Hold: s.plugin.Manifest.Hold, TakeBack: s.plugin.Manifest.TakeBack, Strict: s.plugin.Manifest.StrictMask, Required: s.request.Required, Lasts: true, TakesLong: true,
		Prepares: s.module.Has(guest.Prepare), Foresees: s.drafts(), TakesRow: true, IgnoresRow: true,
		Needs: s.needs, Refuse: s.Refuse, Outputs: s.outputs, Interrupt: s.Interrupt,
	}
	if s.module.Has(guest.Accept) && s.plugin.Needs(abi.ImportLogprob) {
		traits.Logprob = s.tellLogprob
	}
	if s.plugin.Needs(abi.ImportNote) || s.module.Imports(abi.ImportLog) {
		traits.Notes = s.notes
	}
	if s.plugin.WantsHiddenState() {
		traits.HiddenState, traits.StateLayer = s.tellHiddenState, s.request.StateLayer
	}
	return traits
}

// notes is that of chain.Traits.
func (s *Stage) notes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session.TakeNotes()
}

// tellHiddenState is that of chain.Traits.
func (s *Stage) tellHiddenState(state []float32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session.HiddenState = state
}

// tellLogprob is that of chain.Traits.
func (s *Stage) tellLogprob(l float32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session.Logprob = l
}

// Native implements chain.Stage: no.
func (s *Stage) Native() bool { return false }

// name is the plugin's, as the request's chain names it.
func (s *Stage) name() string { return "plugin:" + cmp.Or(s.request.Name, s.plugin.Name) }

// outputs are what the plugin has given its client since the last call.
func (s *Stage) outputs() []chain.Output {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outputsOf(s.session.TakeOutputs())
}

func (s *Stage) outputsOf(given []guest.Output) (all []chain.Output) {
	for _, o := range given {
		all = append(all, chain.Output{By: s.name(), Tokens: o.Tokens, Value: o.Value})
	}
	return all
}

// Interrupt is that of chain.Traits: a running call ends within a moment, and only penstock_close
// is called after it.
func (s *Stage) Interrupt() { s.interrupt.Do(func() { close(s.interrupted) }) }

// endOnFault takes the error of a call. A fault ends the use of the instance; where the request
// skips faults, it ends nothing else and nil is returned.
func (s *Stage) endOnFault(err error) error {
	var f *plugin.Fault
	if !errors.As(err, &f) {
		return err
	}
	_ = s.closeInstance(false) // the fault is what counts
	s.disabled = true
	if !s.request.Skip {
		return f
	}
	s.module.Env.Log.Warn("a request goes on without a plugin", "fault", f)
	return nil
}

// closeInstance closes the instance, if there is one. With tell the plugin's close is called first.
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

// canCall reports whether an export is to be called: the plugin has it, and is open.
func (s *Stage) canCall(e guest.Export) bool {
	return !s.disabled && !s.closed && s.instance != nil && s.instance.Has(e)
}

// has reports whether the plugin implements an export and has not declined it.
func (s *Stage) has(e guest.Export) bool {
	if s.instance == nil {
		return s.module.Has(e)
	}
	return s.instance.Has(e)
}

// Declined are the exports that the plugin has declined in this request.
func (s *Stage) Declined() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.instance == nil {
		return nil
	}
	return s.instance.Declined()
}

// needs is that of chain.Traits.
func (s *Stage) needs() chain.Needs {
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
		Prepare: s.has(guest.Prepare), Foresee: s.has(guest.Draft), Logprob: s.has(guest.Accept),
		HiddenState: s.has(guest.Sample) || s.has(guest.Accept) || s.has(guest.Stop),
	}
}

// open makes an instance, and tells it the tokens of the answer so far and what of their text the
// rule was shown. All of it must be over by until.
func (s *Stage) open(history []scheduler.Token, until time.Time) error {
	s.session.SetupDeadline = until
	defer func() { s.session.SetupDeadline = time.Time{} }()
	s.session.History = append(s.session.History[:0], history[:s.prompt]...)
	s.session.Params[abi.ParamPromptTokens] = int64(s.prompt)
	var err error
	if s.instance, err = s.module.NewInstance(context.Background(), s.session); err != nil {
		return err
	}
	s.rule.begin()
	s.filter.cut = false
	if s.module.Has(guest.Open) {
		if returned, err := s.instance.Call(guest.Open, 0, 0); err != nil {
			return err
		} else if returned != 0 {
			return s.instance.Refusal(guest.Open)
		}
	}
	if err := s.checkBound(); err != nil {
		return err
	}
	told, given := 0, 0
	for n, t := range history[s.prompt:] {
		s.session.History = append(s.session.History, t)
		if s.has(guest.Accept) {
			if _, err := s.instance.Call(guest.Accept, t, 0); err != nil {
				return err
			}
		}
		var err error
		if told, err = s.rule.retell(told, n+1); err != nil {
			return err
		}
		if given, err = s.filter.retell(given, n+1); err != nil {
			return err
		}
	}
	if err := s.rule.retellRest(told); err != nil {
		return err
	}
	_, err = s.filter.retell(given, math.MaxInt)
	return err
}

// checkBound checks that the buffers are bound which the plugin's exports need.
func (s *Stage) checkBound() error {
	var kind int
	var what string
	switch b := &s.instance.Buffers; {
	case s.has(guest.Sample) && s.plugin.Manifest.View == load.ViewCandidates && !b.Bound(abi.BufferCandidates):
		kind, what = abi.BufferCandidates, "candidates"
	case s.has(guest.Sample) && s.plugin.Manifest.View == load.ViewLogits && !b.Bound(abi.BufferLogits):
		kind, what = abi.BufferLogits, "logits"
	case (s.has(guest.Stop) || s.has(guest.Filter)) && !b.Bound(abi.BufferText):
		kind, what = abi.BufferText, "text"
	default:
		return nil
	}
	return s.instance.Fail(guest.Open, guest.Violationf(plugin.CauseBuffer, "no %s buffer (kind %d) is bound", what, kind))
}

// Reset implements chain.Stage. The first call opens the plugin. Later ones call its rewind;
// without that, a plugin that was told something that does not stand any more is replaced by a
// fresh instance.
func (s *Stage) Reset(history []scheduler.Token, prompt int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.disabled || s.closed {
		return nil
	}
	history = plugin.SeenTokens(history)
	s.drafted = s.drafted[:0]
	s.session.TakeNotes() // of a token that does not come
	s.spliced, s.prompt, s.session.Logprob, s.session.HiddenState = 0, prompt, float32(math.NaN()), nil
	s.session.Params[abi.ParamPromptTokens] = int64(prompt) // a program may have the answer go on from another
	switch {
	case s.plugin.Fault != nil:
		if w := s.session.Watcher; w != nil {
			w.Failed(s.plugin.Fault)
		}
		s.disabled = true
	case s.instance == nil:
		return s.endOnFault(s.open(history, s.request.Setup.Deadline(s.module.Env.Limits.SetupTime)))
	case s.has(guest.Rewind):
		s.session.History = append(s.session.History[:0], history...)
		returned, err := s.instance.Call(guest.Rewind, int32(len(history)), 0)
		if err == nil && returned != 0 {
			err = s.instance.Fail(guest.Rewind, guest.Violationf(plugin.CauseAnswer, "%d, it must be 0", returned))
		}
		return s.endOnFault(err)
	case s.has(guest.Accept) || s.rule.cut && s.has(guest.Stop) || s.filter.cut && s.has(guest.Filter):
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

// exportOf is the export in which a plugin asks for an act.
var exportOf = map[chain.Act]guest.Export{
	chain.ActMask: guest.Prepare, chain.ActForce: guest.Prepare, chain.ActChoose: guest.Sample, chain.ActSplice: guest.Accept,
}

// Refuse is that of chain.Traits: asking for what cannot be done is a fault.
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
	if s.instance == nil { // closed meanwhile
		return v
	}
	return s.endOnFault(s.instance.Fail(exportOf[act], v))
}

// Usage is what a stage's guest uses.
type Usage struct {
	Fuel   int64 // units, of the last call
	Limit  int64 // units that it might have used
	Memory int   // bytes of guest memory
}

// Usage tells what the last call has used; zero if there is no instance, before the first Reset
// and after a fault.
func (s *Stage) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.instance == nil {
		return Usage{}
	}
	used, limit := s.instance.Fuel()
	return Usage{Fuel: used, Limit: limit, Memory: len(s.instance.Memory())}
}
