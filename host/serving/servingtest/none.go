// SPDX-License-Identifier: MIT

package servingtest

import (
	"context"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

// NoPlugins are those of a request that uses none.
type NoPlugins struct{}

// NewPolicy implements serving.Plugins: the policy has no stages.
func (NoPlugins) NewPolicy(sampling.Params, serving.AnswerInfo) (serving.Policy, error) {
	return serving.Policy{}, nil
}

// Branches implements serving.Plugins.
func (NoPlugins) Branches() int { return 0 }

// Renders implements serving.Plugins.
func (NoPlugins) Renders() bool { return false }

// Rewrite implements serving.Plugins: no plugin rewrites a conversation.
func (NoPlugins) Rewrite(_ context.Context, _ serving.Conversing, m []chat.Message) ([]chat.Message, error) {
	return m, nil
}

// Render implements serving.Plugins: no plugin writes a prompt.
func (NoPlugins) Render(context.Context, serving.Conversing, []chat.Message) (*string, error) {
	return nil, nil
}

// Used implements serving.Plugins: there are none.
func (NoPlugins) Used(chain []string) ([]serving.UsedPlugin, []string) { return nil, chain }

// RefuseTemplates implements serving.Plugins.
func (NoPlugins) RefuseTemplates(string, bool) error { return nil }

// Again implements serving.Plugins.
func (n NoPlugins) Again(context.Context, serving.Asker, []string) (serving.Plugins, error) {
	return n, nil
}

// Release implements serving.Plugins.
func (NoPlugins) Release() {}

// NoScheduler takes no request.
type NoScheduler struct{}

// Expect implements serving.Scheduler.
func (NoScheduler) Expect() (arrived func()) { return func() {} }

// SubmitBuilt implements serving.Scheduler.
func (NoScheduler) SubmitBuilt(string, int, func() ([]scheduler.Request, error)) ([]serving.Stream, error) {
	return nil, scheduler.ErrQueueShare
}

// Inspect implements serving.Scheduler.
func (NoScheduler) Inspect(context.Context, int) (scheduler.Snapshot, error) {
	return scheduler.Snapshot{}, scheduler.ErrClosed
}

// Load implements serving.Scheduler.
func (NoScheduler) Load(context.Context) (scheduler.Load, error) {
	return scheduler.Load{}, scheduler.ErrClosed
}
