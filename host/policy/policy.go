// SPDX-License-Identifier: MIT

// Package policy builds the sampler chain and the stop rules of a request, and runs the plugin that writes its prompt.
package policy

import (
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/plugin/registry"
	"github.com/penstock/penstock/host/serving"
)

// Builder builds policies of one model and the plugins of one folder. It is a serving.Policies.
type Builder struct {
	engine   *engine.Engine
	registry *registry.Registry
	defaults []string // names of the operator's plugins, which every request uses
}

var _ serving.Policies = (*Builder)(nil)

// New makes a builder. Every request uses the default plugins, whether it names them or not.
func New(e *engine.Engine, r *registry.Registry, defaults []string) *Builder {
	return &Builder{engine: e, registry: r, defaults: defaults}
}
