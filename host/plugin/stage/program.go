// SPDX-License-Identifier: MIT

package stage

import (
	"errors"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
)

// Program is a plugin that owns its request: penstock_run is called in place of all calls for a
// token. As a stage it is opened and closed with the answer, and is told of no tokens, since it
// has shown them itself.
//
// Main holds the stage's lock from its beginning to its end; what else is called meanwhile must
// not take it.
type Program struct{ *Stage }

// Traits implements chain.Stage.
func (p Program) Traits() chain.Traits {
	return chain.Traits{Name: p.name(), Lasts: true, TakesLong: true, Outputs: p.outputs, Interrupt: p.Interrupt}
}

// Main is a program.Program's. It runs once the stage is open, and a fault ends it.
func (p Program) Main(r *program.Run) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.canCall(guest.Run) {
		if err := p.run(func() error { return p.instance.RunProgram(r) }); err != nil {
			return err
		}
	}
	if p.disabled {
		r.AdoptShown()
	}
	return nil
}

// Replay is Main where a player answers what the program does.
func (p Program) Replay() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.canCall(guest.Run) {
		return nil
	}
	return p.run(func() error { return p.instance.ReplayProgram() })
}

func (p Program) run(main func() error) error {
	err := main()
	var f *plugin.Fault
	if err == nil || !errors.As(err, &f) {
		return err
	}
	return p.endOnFault(err)
}

// outputs are what the plugin has given its client. The chain asks while the program waits, or has
// returned.
func (p Program) outputs() []chain.Output { return p.outputsOf(p.session.TakeOutputs()) }

// Apply implements chain.Stage. A program's answer has no rows.
func (p Program) Apply(*chain.View) error { return nil }

// Accept implements chain.Stage.
func (p Program) Accept(scheduler.Token) (chain.Effect, error) { return chain.Effect{}, nil }

// Reset implements chain.Stage: the first one opens the plugin, and there is no other, as nobody
// takes back what a program has shown but plugins, which tell it nothing.
func (p Program) Reset(history []scheduler.Token, prompt int) error {
	if p.begun {
		return nil
	}
	p.begun = true
	return p.Stage.Reset(history, prompt)
}
