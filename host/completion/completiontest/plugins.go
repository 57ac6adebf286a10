// SPDX-License-Identifier: MIT

package completiontest

import (
	"context"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/sampling"
)

// NoPlugins are those of a request that uses none.
type NoPlugins struct{}

// NewPolicy implements completion.Plugins: the policy has no stages.
func (NoPlugins) NewPolicy(sampling.Params, completion.Ends) (completion.Policy, error) {
	return completion.Policy{}, nil
}

// Renders implements completion.Plugins.
func (NoPlugins) Renders() bool { return false }

// Render implements completion.Plugins: no plugin writes a prompt.
func (NoPlugins) Render(context.Context, sampling.Params, []chat.Message) (*string, error) {
	return nil, nil
}

// RefuseTemplates implements completion.Plugins.
func (NoPlugins) RefuseTemplates() error { return nil }

// Again implements completion.Plugins.
func (n NoPlugins) Again(string, []string) (completion.Plugins, error) { return n, nil }

// Release implements completion.Plugins.
func (NoPlugins) Release() {}
