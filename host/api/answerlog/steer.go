// SPDX-License-Identifier: MIT

package answerlog

import (
	"context"
	"encoding/json"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/integer"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
)

// running returns what computes the answer, or scheduler.ErrEnded.
func (l *Log) running() (*source, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.source == nil {
		return nil, scheduler.ErrEnded
	}
	return l.source, nil
}

// Cancel ends the answer, if it has not ended.
func (l *Log) Cancel() {
	if s, err := l.running(); err == nil {
		s.stream.Cancel()
	}
}

// Pause holds the answer, or has it go on, and tells who reads it by then. What two connections ask
// for at the same time happens and is told in the same order.
func (l *Log) Pause(ctx context.Context, pause bool) error {
	s, err := l.running()
	if err != nil {
		return err
	}
	act, state := s.stream.Resume, resumed
	if pause {
		act, state = s.stream.Pause, paused
	}
	select {
	case l.pausing <- struct{}{}:
		defer func() { <-l.pausing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := act(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.paused = pause; l.reader != nil {
		l.reader.tell(state)
		l.reader.Wake()
	}
	return nil
}

// Rewind takes back the last n tokens.
func (l *Log) Rewind(ctx context.Context, n int) error {
	s, err := l.running()
	if err != nil {
		return err
	}
	return s.choice.Rewind(ctx, n)
}

// Inject adds a text to the answer.
func (l *Log) Inject(ctx context.Context, text string) error {
	s, err := l.running()
	if err != nil {
		return err
	}
	return s.service.Inject(ctx, s.choice, text)
}

// Set changes sampling parameters; those that are left out of the object stay as they are.
func (l *Log) Set(ctx context.Context, change json.RawMessage) error {
	s, err := l.running()
	if err != nil {
		return err
	}
	return s.service.Set(ctx, s.choice, len(change), func(fields *sampling.ParamFields) error { return readSampling(change, fields) })
}

// Fork makes the request for an answer that goes on where this one is, with its sampling
// parameters, of which an object may change some.
func (l *Log) Fork(ctx context.Context, change json.RawMessage) (*completion.Prompted, error) {
	s, err := l.running()
	if err != nil {
		return nil, err
	}
	return s.service.Fork(ctx, s.choice.Request, s.stream, len(change), func(fields *sampling.ParamFields) error {
		if !completion.IsSet(change) {
			return nil
		}
		return readSampling(change, fields)
	})
}

// readSampling reads sampling parameters over others. Unlike the body of a request, the object has
// only sampling parameters, so an unknown name in it is refused.
func readSampling(raw json.RawMessage, fields *sampling.ParamFields) error {
	if err := wire.Decode(raw, fields); err != nil {
		return err
	}
	if err := integer.UnmarshalKnown(raw, &sampling.ParamFields{}); err != nil {
		return refusal.Invalid("sampling", "sampling has a field that is no sampling parameter: %v", err)
	}
	return nil
}
