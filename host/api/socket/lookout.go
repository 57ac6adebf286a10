// SPDX-License-Identifier: MIT

package socket

import (
	"context"
	"sync"
	"time"

	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

// lookout looks at what the models do, for all watchers together: a watcher that asks shortly after
// another gets the same result. So watchers cost a scheduler one look at a time, however many there
// are.
type lookout struct {
	once sync.Once
	turn chan struct{} // full while somebody looks
	at   time.Time     // of the last look
	seen []modelView
}

const (
	lookFor   = minWatch / 2 // so long a look is good for others
	mostTicks = 500          // of one model in a frame
)

// modelView is one model as it was at a look.
type modelView struct {
	name    string
	loaded  bool
	waiting int // requests that wait until it is loaded
	scheduler.Snapshot
	itl     serving.Histogram
	plugins []serving.PluginMeasures
}

// look describes the models that are in memory or being loaded. Its error is the context's. The
// caller changes nothing of what it gets.
func (l *lookout) look(ctx context.Context, models serving.Models) ([]modelView, error) {
	l.once.Do(func() { l.turn = make(chan struct{}, 1) })
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if !l.at.IsZero() && time.Since(l.at) < lookFor {
		return l.seen, nil
	}
	var seen []modelView
	for _, r := range models.Residents() {
		v := modelView{name: r.Name, waiting: r.Waiting}
		if r.Model != nil {
			if r.Model.EmbedsOnly || !v.lookAt(ctx, r.Model) {
				continue
			}
		}
		seen = append(seen, v)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	l.seen, l.at = seen, time.Now()
	return seen, nil
}

// lookAt looks at a loaded model; false where it is being unloaded.
func (v *modelView) lookAt(ctx context.Context, m *serving.Model) bool {
	var err error
	if v.Snapshot, err = m.Scheduler.Inspect(ctx, mostTicks); err != nil {
		return false
	}
	v.loaded = true
	if m.Measures != nil {
		v.itl, v.plugins = m.Measures.InterTokenLatency(), m.Measures.Plugins()
	}
	return true
}
