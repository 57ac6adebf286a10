// SPDX-License-Identifier: MIT

package registry

import (
	"context"
	"errors"
	"slices"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
)

// Model makes the plugins available for a model, until its Close. All loaded plugins are warmed for
// it first, so that no request waits for that. One that fails is listed with its error. The error
// is the context's.
func (g *Registry) Model(ctx context.Context, o plugin.ModelOptions) (*load.Model, error) {
	m := g.loader.Model(o)
	for _, p := range g.plugins() {
		if _, err := p.For(ctx, m); err != nil && ctx.Err() == nil {
			g.warnOfModel(p, m, err)
		}
		p.Release()
	}
	if ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), m.Close(context.WithoutCancel(ctx)))
	}
	return m, nil
}

// FindFor returns a plugin for use with a model. The caller must Release it. The error wraps
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
	used, err := p.For(context.WithoutCancel(ctx), m) // others use the warmed plugin, too
	if err != nil {
		p.Release()
		return nil, err
	}
	return used, nil
}

// tryModels warms a new plugin for all models in memory. If it fails with all of them, the error is
// that of the first.
func (g *Registry) tryModels(ctx context.Context, p *load.Plugin) error {
	return tryModels(ctx, g.loader.Models(), p, func(m *load.Model, err error) { g.warnOfModel(p, m, err) })
}

// tryModels warms a plugin for models, and calls failed for each with which that fails. If it fails
// with all of them, the error is that of the first.
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
		case errors.Is(err, plugin.ErrClosed): // the model is being unloaded
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

// mayUse reports whether to keep an upload that failed with all models in memory: it refused them,
// there may be others, and it replaces no working plugin.
func (g *Registry) mayUse(p *load.Plugin, failed error) bool {
	return mayWork(g.loader.Models(), failed) && !g.worksWithAny(g.pluginNamed(p.Name))
}

// mayWork reports whether a plugin that failed with all models in memory may work with others: it
// refused them, and there may be others.
func mayWork(models []*load.Model, failed error) bool {
	var refusal *plugin.Refusal
	return errors.As(failed, &refusal) && !slices.ContainsFunc(models, (*load.Model).Alone)
}

// worksWithAny reports whether a plugin works with one of the models in memory. It may be nil.
func (g *Registry) worksWithAny(p *load.Plugin) bool {
	return p != nil && slices.ContainsFunc(g.loader.Models(), func(m *load.Model) bool { return m.Failed(p) == nil })
}

// pluginNamed returns the plugin of a name; nil: none. It is not released while the caller holds
// the folder.
func (g *Registry) pluginNamed(name string) *load.Plugin {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.byName[name]
}

func (g *Registry) warnOfModel(p *load.Plugin, m *load.Model, err error) {
	var failed *plugin.ModelError
	if errors.As(err, &failed) {
		err = failed.Err
	}
	g.log.Warn("a plugin cannot be used with a model", "plugin", p.Name, "model", m.Name(), "error", plugin.Told(err))
}

// plugins returns all loaded plugins. The caller must Release them.
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
