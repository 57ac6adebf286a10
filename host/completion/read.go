// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/scheduler"
)

// readAll reads choices to their ends. take gets what every event adds. idle is called when no
// other event is ready, so that what take has gathered goes out at once. An error of either ends
// the reading.
//
// With several choices each has a goroutine that reads one event and waits until it is taken. So
// if take is slow, because the client is, the streams are not read: their rings fill and the
// scheduler parks their slots, while memory stays bounded.
func readAll(ctx context.Context, choices []*Choice, take func(*Choice, Delta) error, idle func() error) error {
	if len(choices) == 1 {
		return readOne(ctx, choices[0], take, idle)
	}
	ctx, stop := context.WithCancel(ctx)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer stop()
	offers := make(chan offer)
	for _, c := range choices {
		readers.Go(func() { c.offerAll(ctx, offers) })
	}
	for open := len(choices); open > 0; {
		var next offer
		select {
		case next = <-offers:
		default:
			if err := idle(); err != nil {
				return err
			}
			select {
			case next = <-offers:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if next.err != nil {
			return next.err
		}
		if err := take(next.choice, next.delta); err != nil {
			return err
		}
		next.taken <- struct{}{}
		if next.delta.Event.Kind == scheduler.KindEnd {
			open--
		}
	}
	return idle()
}

// offer is what an event adds to one of several choices, or the error of reading it.
type offer struct {
	choice *Choice
	delta  Delta
	err    error
	taken  chan<- struct{} // told when the choice may change again
}

// offerAll reads a choice to its end, and each event once the one before was taken.
func (c *Choice) offerAll(ctx context.Context, offers chan<- offer) {
	taken := make(chan struct{}, 1)
	for {
		d, err := c.next(ctx)
		select {
		case offers <- offer{c, d, err, taken}:
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

// MaxStops bounds the texts that end an answer.
const MaxStops = 64

// ReadStops reads the stop strings in a field: a text, a list of texts, or nothing.
func ReadStops(raw json.RawMessage, field string) ([]string, error) {
	if !IsSet(raw) {
		return nil, nil
	}
	var one string
	var list []string
	if json.Unmarshal(raw, &one) == nil {
		list = []string{one}
	} else if json.Unmarshal(raw, &list) != nil {
		return nil, refusal.Invalid(field, "%s must be a text or a list of texts", field)
	}
	if len(list) > MaxStops {
		return nil, refusal.Invalid(field, "%s has %d texts; at most %d are allowed", field, len(list), MaxStops)
	}
	if i := slices.Index(list, ""); i >= 0 {
		field = fmt.Sprintf("%s[%d]", field, i)
		return nil, refusal.Invalid(field, "%s is empty; it would end every answer at once", field)
	}
	return list, nil
}
