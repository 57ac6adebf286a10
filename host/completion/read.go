// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"sync"

	"github.com/penstock/penstock/scheduler"
)

// readAll reads streams to their ends. take gets every event. idle is called when no other event is ready, so that what take has
// gathered goes out at once. An error of either ends the reading.
//
// With several streams each has a goroutine that holds one event at most. So if take is slow, because the client is, the streams are
// not read: their rings fill and the scheduler parks their slots, while memory stays bounded.
func readAll(ctx context.Context, streams []Stream, take func(i int, e scheduler.Event) error, idle func() error) error {
	if len(streams) == 1 {
		return readOne(ctx, streams[0], take, idle)
	}
	ctx, stop := context.WithCancel(ctx)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer stop()
	type item struct {
		i   int
		e   scheduler.Event
		err error
	}
	events := make(chan item)
	for i, st := range streams {
		readers.Go(func() {
			for {
				e, err := st.Next(ctx)
				select {
				case events <- item{i, e, err}:
				case <-ctx.Done():
					return
				}
				if err != nil || e.Kind == scheduler.KindEnd {
					return
				}
			}
		})
	}
	handle := func(it item) error {
		if it.err != nil {
			return it.err
		}
		return take(it.i, it.e)
	}
	for open := len(streams); open > 0; {
		var next item
		select {
		case next = <-events:
		default:
			if err := idle(); err != nil {
				return err
			}
			select {
			case next = <-events:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := handle(next); err != nil {
			return err
		}
		if next.e.Kind == scheduler.KindEnd {
			open--
		}
	}
	return idle()
}

func readOne(ctx context.Context, st Stream, take func(int, scheduler.Event) error, idle func() error) error {
	for {
		e, ok := st.TryNext()
		if !ok {
			if err := idle(); err != nil {
				return err
			}
			var err error
			if e, err = st.Next(ctx); err != nil {
				return err
			}
		}
		if err := take(0, e); err != nil {
			return err
		}
		if e.Kind == scheduler.KindEnd {
			return idle()
		}
	}
}
