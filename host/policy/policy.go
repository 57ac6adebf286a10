// SPDX-License-Identifier: MIT

// Package policy builds the sampler chain and the stop rules of a request, and runs the plugin
// that writes its prompt.
//
// # Why is this a package of its own?
//
// What decides an answer is assembled from two sides: llama.cpp's samplers come from host/engine,
// plugins from host/plugin, and neither knows the other. host/policy puts both in the order that
// a request asks for, adds the operator's plugins, and turns what is wrong into errors of the
// API. Without it, package host would do this besides opening and closing the parts.
//
// # What happens when a default plugin faults?
//
// Its request fails, and the next request tries the plugin anew. It is never skipped or
// quarantined. It may enforce a policy, which would otherwise disappear without notice, and
// refusing it would refuse all requests. An operator who prefers to go on without it removes it
// from plugins.default.
package policy

import (
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/registry"
	"github.com/penstock/penstock/host/serving"
)

// Builder builds policies of one model and the plugins of the server. It is a serving.PluginFinder.
type Builder struct {
	engine   *engine.Engine
	registry *registry.Registry
	model    *load.Model // the engine's
	defaults []string    // names of the operator's plugins, which every request uses
}

var _ serving.PluginFinder = (*Builder)(nil)

// New makes a builder. Every request uses the default plugins, whether it names them or not.
func New(e *engine.Engine, r *registry.Registry, m *load.Model, defaults []string) *Builder {
	return &Builder{engine: e, registry: r, model: m, defaults: defaults}
}
