// SPDX-License-Identifier: MIT

package socket

import (
	"context"
	"time"

	"github.com/penstock/penstock/host/refusal"
)

// The bounds of every_ms in a watch frame, besides 0.
const (
	minWatch = 100 * time.Millisecond
	maxWatch = time.Minute
)

// watch begins to send live frames, changes how often they come, or ends them. A connection has
// one watch.
func (k *connection) watch(f clientFrame) error {
	if f.EveryMS == nil {
		return refusal.Invalid("every_ms", "every_ms is missing: the time between two live frames in milliseconds, or 0 for no more of them")
	}
	every := time.Duration(*f.EveryMS) * time.Millisecond
	if *f.EveryMS != 0 && (*f.EveryMS < minWatch.Milliseconds() || *f.EveryMS > maxWatch.Milliseconds()) {
		return refusal.Invalid("every_ms", "every_ms is %d; it must be from %d to %d, or 0 to end the watch", *f.EveryMS, minWatch.Milliseconds(), maxWatch.Milliseconds())
	}
	if k.unwatch != nil {
		k.unwatch()
		k.watcher.Wait() // no frame of the old watch is sent after this
		k.unwatch = nil
	}
	if every == 0 {
		return nil
	}
	ctx, stop := context.WithCancel(k.ctx)
	k.unwatch = stop
	k.watcher.Go(func() { k.sendLive(ctx, every) })
	return nil
}

// sendLive sends a live frame at once, and then every so often until ctx is done. A frame that the
// writer does not take in that time is dropped: the next one is newer. So a slow client has fewer
// of them, and none ever waits in front of a token.
func (k *connection) sendLive(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	seen := map[string]int{} // by model: ticks that a frame has had
	for {
		models, err := k.api.lookout.look(ctx, k.api.Models)
		if err != nil || k.allow() != nil {
			return
		}
		select {
		case k.live <- k.liveFrame(models, seen):
			for _, m := range models {
				seen[m.name] = m.TickCount
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
