// SPDX-License-Identifier: MIT

// Package policy builds the sampler chain and the stop rules of a request, and runs the plugin that writes its prompt.
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
