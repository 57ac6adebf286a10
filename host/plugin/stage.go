// SPDX-License-Identifier: MIT

package plugin

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
)

// Stage is a plugin at work in one request. It begins with the first Rewind, which the scheduler calls off the tick.
type Stage struct {
	module  *Module
	skip    bool
	session *session
	setup   *Setup
	over    chan struct{} // closed by Interrupt
	ended   sync.Once

	mu       sync.Mutex // the scheduler does not overlap calls; two in one guest would take the process down
	instance *instance  // nil before the first Rewind and after Close
	prompt   int
	off      bool // a fault was skipped, or the stage is closed: it changes nothing any more
	closed   bool
	forced   int // tokens of the plugin's own splice that are still to be accepted

	selector selector
	seen     []uint64 // a bit for each token, clear between calls
	ids      []int32
	logits   []float32
	bias     []chain.Bias
	tokens   []scheduler.Token
	rule     rule
}

var (
	_ chain.Stage    = (*Stage)(nil)
	_ chain.Preparer = (*Stage)(nil)
	_ chain.Holder   = (*Stage)(nil)

	_ chain.Interruptible = (*Stage)(nil)

	_ chain.Answerable = (*Stage)(nil)
	_ chain.Named      = (*Stage)(nil)
)

// NewStage puts the module to work for a request. It retains the module until Close.
func (m *Module) NewStage(r Request) (*Stage, error) {
	if err := m.enter(&r); err != nil {
		return nil, err
	}
	s := &Stage{module: m, skip: r.Skip, setup: r.Setup, over: make(chan struct{}),
		session: newSession(&m.runtime.limits, m.runtime.log.With("plugin", m.Name))}
	s.session.serve(&r)
	s.session.done = s.over
	s.rule.stage = s
	return s, nil
}

// Rule is the stop rule that the plugin is besides, on the same instance; nil if it is none. The stage must be in the
// request's chain, since it is what opens the plugin.
func (s *Stage) Rule() answer.StopRule {
	if !s.module.exports(hookStop) {
		return nil
	}
	return &s.rule
}

// Native implements chain.Stage: no.
func (s *Stage) Native() bool { return false }

// Name implements chain.Named: as a chain names it.
func (s *Stage) Name() string { return "plugin:" + s.module.Name }

// Hold implements chain.Holder.
func (s *Stage) Hold() int { return s.module.Manifest.Hold }

// Rewind implements chain.Stage. The first call opens the plugin; later ones tell it through its rewind, or replace it
// by a fresh instance where it counts tokens but cannot be told.
func (s *Stage) Rewind(history []scheduler.Token, prompt int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off || s.closed {
		return nil
	}
	s.forced, s.prompt = 0, prompt
	switch {
	case s.instance == nil:
		return s.settle(s.open(history, s.setup.until(s.module.runtime.limits.SetupTime)))
	case s.module.exports(hookRewind):
		s.session.history = append(s.session.history[:0], history...)
		answer, err := s.instance.call(hookRewind, int32(len(history)), 0)
		if err == nil && answer != 0 {
			err = s.instance.fault(hookRewind, wrong(CauseAnswer, "%d, it must be 0", answer))
		}
		return s.settle(err)
	case s.module.exports(hookAccept):
		if err := s.discard(true); err != nil {
			return err
		}
		return s.settle(s.open(history, time.Now().Add(s.module.runtime.limits.SetupTime)))
	}
	s.session.history = append(s.session.history[:0], history...)
	return nil
}

// open begins an instance and brings it to where the conversation is. All of it must be over by until.
func (s *Stage) open(history []scheduler.Token, until time.Time) error {
	s.session.setUntil = until
	defer func() { s.session.setUntil = time.Time{} }()
	s.session.history = append(s.session.history[:0], history[:s.prompt]...)
	s.session.params[abi.ParamPromptTokens] = int64(s.prompt)
	var err error
	if s.instance, err = s.module.begin(context.Background(), s.session); err != nil {
		return err
	}
	s.rule.renew()
	if s.module.exports(hookOpen) {
		if answer, err := s.instance.call(hookOpen, 0, 0); err != nil {
			return err
		} else if answer != 0 {
			return s.instance.refuse(hookOpen)
		}
	}
	if err := s.checkBound(); err != nil {
		return err
	}
	for _, t := range history[s.prompt:] {
		s.session.history = append(s.session.history, t)
		if !s.module.exports(hookAccept) {
			continue
		}
		if _, err := s.instance.call(hookAccept, t, 0); err != nil {
			return err
		}
	}
	return nil
}

// Interrupt implements chain.Interruptible: a call that runs ends within a moment, and of those to come only close begins.
func (s *Stage) Interrupt() { s.ended.Do(func() { close(s.over) }) }

// checkBound looks for the buffers that the plugin's exports cannot do without.
func (s *Stage) checkBound() error {
	var kind int
	var what string
	switch b := &s.instance.buffers; {
	case s.module.Manifest.View == ViewCandidates && !b[abi.BufferCandidates].bound():
		kind, what = abi.BufferCandidates, "candidates"
	case s.module.Manifest.View == ViewLogits && !b[abi.BufferLogits].bound():
		kind, what = abi.BufferLogits, "logits"
	case s.module.exports(hookStop) && !b[abi.BufferText].bound():
		kind, what = abi.BufferText, "text"
	default:
		return nil
	}
	return s.instance.fault(hookOpen, wrong(CauseBuffer, "no %s buffer (kind %d) is bound", what, kind))
}

// settle is what an error of a call leads to: a fault ends the use of the instance and, where faults are to be skipped,
// nothing else.
func (s *Stage) settle(err error) error {
	var f *Fault
	if !errors.As(err, &f) {
		return err
	}
	_ = s.discard(false) // the fault is what counts
	s.off = true
	if !s.skip {
		return f
	}
	s.module.runtime.log.Warn("a request goes on without a plugin", "fault", f)
	return nil
}

// discard closes the instance; tell: not after a fault.
func (s *Stage) discard(tell bool) error {
	if s.instance == nil {
		return nil
	}
	err := s.instance.close(tell)
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
	if s.instance != nil && !s.off {
		s.module.served(&s.session.request)
	}
	err := s.discard(true)
	s.module.leave()
	return err
}

// idle tells that no call is to be made.
func (s *Stage) idle(h hook) bool {
	return s.off || s.closed || s.instance == nil || !s.module.exports(h)
}
