// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"sync"

	"github.com/penstock/penstock/scheduler"
)

// readAll reads choices to their ends. take gets what every event adds. idle is called when no other event is ready, so that what take
// has gathered goes out at once. An error of either ends the reading.
//
// With several choices each has a goroutine that reads one event and waits until it is taken. So if take is slow, because the client is,
// the streams are not read: their rings fill and the scheduler parks their slots, while memory stays bounded.
func readAll(ctx context.Context, choices []*Choice, take func(*Choice, Delta) error, idle func() error) error {
	if len(choices) == 1 {
		return readOne(ctx, choices[0], take, idle)
	}
	ctx, stop := context.WithCancel(ctx)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer stop()
	type item struct {
		c   *Choice
		d   Delta
		err error

		taken chan struct{} // the choice may change again
	}
	events := make(chan item)
	for _, c := range choices {
		readers.Go(func() {
			taken := make(chan struct{}, 1)
			for {
				d, err := c.next(ctx)
				select {
				case events <- item{c, d, err, taken}:
				case <-ctx.Done():
					return
				}
				select {
				case <-taken:
				case <-ctx.Done():
					return
				}
				if err != nil || d.Event.Kind == scheduler.KindEnd {
					return
				}
			}
		})
	}
	handle := func(it item) error {
		if it.err != nil {
			return it.err
		}
		return take(it.c, it.d)
	}
	for open := len(choices); open > 0; {
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
		next.taken <- struct{}{}
		if next.d.Event.Kind == scheduler.KindEnd {
			open--
		}
	}
	return idle()
}

func readOne(ctx context.Context, c *Choice, take func(*Choice, Delta) error, idle func() error) error {
	for {
		d, ok, err := c.tryNext()
		if !ok {
			if err := idle(); err != nil {
				return err
			}
			d, err = c.next(ctx)
		}
		if err != nil {
			return err
		}
		if err := take(c, d); err != nil {
			return err
		}
		if d.Event.Kind == scheduler.KindEnd {
			return idle()
		}
	}
}
