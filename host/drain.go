// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Run takes requests until ctx is done, then shuts down. At once /readyz says so. After
// server.shutdown_delay new requests are refused, and running ones go on for up to
// server.shutdown_timeout; what is left then ends as cancelled. The error is nil after an orderly
// end.
func (h *Host) Run(ctx context.Context) error {
	h.accepts.Store(true)
	h.log.Info("ready", slog.String("url", h.URL()))
	if h.ready != nil {
		h.ready(h.URL())
	}
	var failed error
	select {
	case <-ctx.Done():
		h.log.Info("asked to end", slog.Any("because", context.Cause(ctx)))
		h.announce()
	case failed = <-h.served:
		failed = fmt.Errorf("serve HTTP: %w", failed)
	}
	return errors.Join(failed, h.drain(), h.Close())
}

// announce has /readyz say that the host is about to end, and takes requests until proxies have
// noticed: those that are on their way would be refused otherwise.
func (h *Host) announce() {
	h.accepts.Store(false)
	if delay := h.config.Server.ShutdownDelay; delay > 0 {
		h.log.Info("shutting down soon; new requests are still taken", slog.Duration("for", delay))
		time.Sleep(delay)
	}
}

// drain refuses new requests and waits until running ones have ended and their clients have all of
// them, at most for server.shutdown_timeout.
func (h *Host) drain() error {
	h.accepts.Store(false)
	h.log.Info("shutting down", slog.Duration("at_most", h.config.Server.ShutdownTimeout))
	limit, stop := context.WithTimeout(context.Background(), h.config.Server.ShutdownTimeout)
	defer stop()
	close(h.draining)
	left, err := h.models.drain(limit.Done())
	if left > 0 {
		h.log.Warn("some answers were cut off", slog.Int("running", left))
	}
	select {
	case <-h.held.wait():
	case <-limit.Done():
	}
	return err
}

// hold has drain wait until release is called.
func (h *Host) hold() (release func()) {
	h.held.add()
	return h.held.done
}

// inFlight counts the requests that are being answered. Unlike a WaitGroup it may be waited for
// while new ones still come.
type inFlight struct {
	mu    sync.Mutex
	n     int
	empty chan struct{} // made by the first who waits, closed when n falls to 0
}

func (c *inFlight) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

func (c *inFlight) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n--
	if c.n == 0 && c.empty != nil {
		close(c.empty)
		c.empty = nil
	}
}

// wait returns a channel that is closed when no request is left.
func (c *inFlight) wait() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.empty != nil {
		return c.empty
	}
	empty := make(chan struct{})
	if c.n == 0 {
		close(empty)
	} else {
		c.empty = empty
	}
	return empty
}
