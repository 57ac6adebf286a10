// SPDX-License-Identifier: MIT

package load

import (
	"slices"
	"sync/atomic"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/host/plugin/quarantine"
	"github.com/penstock/penstock/plugins/abi"
)

// Plugin is a loaded plugin for one model. It is safe for concurrent use, and stays usable until
// its last user released it.
type Plugin struct {
	*loaded
	Module   *guest.Module // what its instances are made from
	Manifest Manifest      // for all configurations, or narrowed by With for one
	Exports  []string      // the ABI's exports that it implements, in the same way
	Fault    *plugin.Fault // the fault of its plan, after which a request goes on without it; nil: none

	model *Model
	needs []string // the imports for which the host does something in addition to the call; nil: all
	plan  *plan    // its plan; nil: it is the plugin for all configurations
	of    *Plugin  // the plugin that made the plan

	asked func() (*Schema, error) // the plan's schema for configurations; nil: it has none
}

// loaded is the part of a plugin that all models share, with its users.
type loaded struct {
	Name   string
	SHA256 string // of the file, in hex

	loader     *Loader
	base       *guest.Module // has the code
	schema     *Schema
	quarantine *quarantine.Quarantine
	users      atomic.Int64

	// Only a script has these: the plugin that runs it, the function that turns a request's
	// configuration into that plugin's, and the plugin as the script describes itself.
	runs      *Plugin
	configure func([]byte) []byte
	described *Plugin
}

// IsTemplate reports whether the plugin writes prompts. It, IsStop, Filters and IsStage tell which
// extension points a plugin has: a template, a stop rule, a filter of what is shown, or anything
// that takes part in choosing tokens.
func (p *Plugin) IsTemplate() bool { return p.Module.Has(guest.Template) }

// Rewrites reports whether the plugin rewrites conversations.
func (p *Plugin) Rewrites() bool { return p.Module.Has(guest.Messages) }

// Renders reports whether the plugin has to do with conversations and with nothing else.
func (p *Plugin) Renders() bool {
	return (p.IsTemplate() || p.Rewrites()) && !p.IsStage() && !p.IsStop() && !p.Filters()
}

// IsStop reports whether the plugin is a stop rule; see IsTemplate.
func (p *Plugin) IsStop() bool { return p.Module.Has(guest.Stop) }

// Filters reports whether the plugin rewrites text before it is shown.
func (p *Plugin) Filters() bool { return p.Module.Has(guest.Filter) }

// IsStage reports whether the plugin takes part in choosing tokens; see IsTemplate.
func (p *Plugin) IsStage() bool {
	return p.Module.Has(guest.Sample) || p.Module.Has(guest.Prepare) || p.Module.Has(guest.Accept) || p.Module.Has(guest.Draft)
}

// Needs reports whether the host must compute or keep what an import returns: logprob, state,
// branch_hidden_state or note.
func (p *Plugin) Needs(imported string) bool {
	return p.Module.Imports(imported) && (p.needs == nil || slices.Contains(p.needs, imported))
}

// WantsHiddenState reports whether the plugin may ask for the model's hidden states, so that they
// are computed for it.
func (p *Plugin) WantsHiddenState() bool {
	if p.IsProgram() {
		return p.Needs(abi.ImportBranchHiddenState)
	}
	return p.Needs(abi.ImportState)
}

// Health tells how the plugin has done since it was loaded or reset.
func (p *Plugin) Health() quarantine.Health { return p.quarantine.Health() }

// Reset ends all quarantines and forgets the faults.
func (p *Plugin) Reset() { p.quarantine.Reset() }

// InUse reports whether it has users other than the caller.
func (p *Plugin) InUse() bool { return p.users.Load() > 1 }

// Retain adds a user, unless the last one has gone.
func (p *Plugin) Retain() bool {
	if !p.retain() {
		return false
	}
	if p.plan != nil && !p.model.plans.retain(p.plan) {
		p.release()
		return false
	}
	return true
}

// Release takes a user away. The last one frees the compiled code, and what the plugin has for
// each model.
func (p *Plugin) Release() {
	if p.plan != nil {
		p.model.plans.leave(p.plan)
	}
	p.release()
}

func (p *loaded) retain() bool {
	for {
		n := p.users.Load()
		if n == 0 {
			return false
		}
		if p.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (p *loaded) release() {
	if p.users.Add(-1) == 0 {
		p.loader.own.plans.forget(p)
		for _, m := range p.loader.Models() {
			m.forget(p)
		}
		p.base.Close()
		if p.runs != nil {
			p.runs.Release()
		}
	}
}

// Begin puts the plugin to work in a request, until End. The request's faults count towards
// quarantine. The error wraps plugin.ErrQuarantined, ErrUnknown or ErrClosed.
func (p *Plugin) Begin(r *plugin.RequestInfo) (*guest.Session, error) {
	if err := p.quarantine.Check(r); err != nil && p.Fault == nil {
		return nil, err
	}
	if !p.Retain() {
		return nil, plugin.Unknown(p.Name)
	}
	if err := p.model.enter(); err != nil {
		p.Release()
		return nil, err
	}
	s := p.Module.NewSession(r)
	s.NoNotes = !p.Needs(abi.ImportNote)
	return s, nil
}

// Served reports that a request was served without a fault, which forgives its sender's earlier
// faults.
func (p *Plugin) Served(r *plugin.RequestInfo) { p.quarantine.Served(r) }

// End ends what Begin began.
func (p *Plugin) End() {
	p.Release()
	p.model.leave()
}
