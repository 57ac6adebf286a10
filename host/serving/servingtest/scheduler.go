// SPDX-License-Identifier: MIT

package servingtest

import (
	"context"

	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

// NoScheduler takes no request.
type NoScheduler struct{}

// Expect implements serving.Scheduler.
func (NoScheduler) Expect() (arrived func()) { return func() {} }

// SubmitBuilt implements serving.Scheduler.
func (NoScheduler) SubmitBuilt(int, func() ([]scheduler.Request, error)) ([]serving.Stream, error) {
	return nil, scheduler.ErrQueueFull
}

// Inspect implements serving.Scheduler.
func (NoScheduler) Inspect(context.Context, int) (scheduler.Snapshot, error) {
	return scheduler.Snapshot{}, scheduler.ErrClosed
}

// Load implements serving.Scheduler.
func (NoScheduler) Load(context.Context) (scheduler.Load, error) {
	return scheduler.Load{}, scheduler.ErrClosed
}
