// SPDX-License-Identifier: MIT

package stage

import (
	"cmp"
	"errors"
	"sync"

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
