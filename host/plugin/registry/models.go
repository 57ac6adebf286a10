// SPDX-License-Identifier: MIT

package registry

import (
	"context"
	"errors"
	"slices"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
)

// Model has the plugins be used with a model, until its Close. All that are there are warmed for
// it first, so that no request waits for that; one that fails is listed as such. The error is the
// context's.
func (g *Registry) Model(ctx context.Context, o plugin.ModelOptions) (*load.Model, error) {
	m := g.loader.Model(o)
	for _, p := range g.plugins() {
		if _, err := p.For(ctx, m); err != nil && ctx.Err() == nil {
			g.warn(p, m, err)
		}
		p.Release()
	}
	if ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), m.Close(context.WithoutCancel(ctx)))
	}
	return m, nil
}

// FindFor gives a plugin for use with a model, for the caller to Release. The error wraps
// ErrUnknown, or is that of load.Plugin.For.
//
// The plugin that runs scripts and bundled ones are loaded when they are used first, and each model
// waits then until the plugin is warmed for it.
func (g *Registry) FindFor(ctx context.Context, name string, m *load.Model) (p *load.Plugin, err error) {
	if g.isBuiltIn(name) {
		p, err = g.loader.Interpreter(ctx)
	} else {
		p, err = g.Find(ctx, name)
	}
	if err != nil {
		return nil, err
	}
	used, err := p.For(context.WithoutCancel(ctx), m) // what is warmed here others use, too
	if err != nil {
		p.Release()
		return nil, err
	}
	return used, nil
}

// tryModels warms a plugin that is new for all models in memory. If it fails with all of them, the
// error is why it fails with the first.
func (g *Registry) tryModels(ctx context.Context, p *load.Plugin) error {
	return tryModels(ctx, g.loader.Models(), p, func(m *load.Model, err error) { g.warn(p, m, err) })
}

// tryModels warms a plugin for models. failed is told of each model with which that fails; if it
// fails with all of them, the error is why it fails with the first.
func tryModels(ctx context.Context, models []*load.Model, p *load.Plugin, failed func(*load.Model, error)) error {
	var first error
	works := false
	for _, m := range models {
		_, err := p.For(ctx, m)
		switch {
		case err == nil:
			works = true
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, plugin.ErrClosed): // it is being unloaded
		default:
			failed(m, err)
			if first == nil {
				first = err
			}
		}
	}
	if works {
		return nil
	}
	return first
}

// mayUse reports whether an upload that failed with all models in memory may be used with others:
// it has refused them, there may be others, and it replaces none that works.
func (g *Registry) mayUse(p *load.Plugin, failed error) bool {
	return mayWork(g.loader.Models(), failed) && !g.works(g.named(p.Name))
}

// mayWork reports whether a plugin that failed with all models in memory may work with others: it
// has refused them, and there may be others.
func mayWork(models []*load.Model, failed error) bool {
	var refusal *plugin.Refusal
	return errors.As(failed, &refusal) && !slices.ContainsFunc(models, (*load.Model).Alone)
}

// works reports whether a plugin works with one of the models in memory. It may be nil.
func (g *Registry) works(p *load.Plugin) bool {
	return p != nil && slices.ContainsFunc(g.loader.Models(), func(m *load.Model) bool { return m.Failed(p) == nil })
}

// named is the plugin of a name; nil: none. The folder's holder keeps it from being released.
func (g *Registry) named(name string) *load.Plugin {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.byName[name]
}

func (g *Registry) warn(p *load.Plugin, m *load.Model, err error) {
	var failed *plugin.ModelError
	if errors.As(err, &failed) {
		err = failed.Err
	}
	g.log.Warn("a plugin cannot be used with a model", "plugin", p.Name, "model", m.Name(), "error", plugin.Told(err))
}

// plugins are all that are there, for the caller to Release.
func (g *Registry) plugins() (list []*load.Plugin) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, p := range g.byName {
		if p.Retain() {
			list = append(list, p)
		}
	}
	return list
}
