// SPDX-License-Identifier: MIT

package stage

import (
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
)

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
