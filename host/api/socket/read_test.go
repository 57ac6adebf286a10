// SPDX-License-Identifier: MIT

package socket

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// steady is a frame of which so many bytes come each second.
type steady struct {
	ctx         context.Context
	rate, bytes int
}

// Read implements io.Reader.
func (s *steady) Read(p []byte) (int, error) {
	if s.bytes == 0 {
		return 0, io.EOF
	}
	select {
	case <-time.After(time.Second):
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	}
	n := min(s.rate, s.bytes, len(p))
	s.bytes -= n
	return n, nil
}

// A frame has the time of a body, and more for what has come of it, up to the largest.
func TestConnection_Hurried(t *testing.T) {
	for name, tc := range map[string]struct {
		rate, bytes int
		want        time.Duration // after which it is there
		late        bool
	}{
		"in time":         {4 << 20, 16 << 20, 4 * time.Second, false},
		"on a slow line":  {100 << 10, 16 << 20, 164 * time.Second, false},
		"almost nothing":  {1, 16 << 20, 60 * time.Second, true},
		"a slow trickle":  {64 << 10, 16 << 20, 119 * time.Second, true},
		"more than taken": {1 << 20, 1 << 30, 188 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				k := newConnection(ctx, &API{BodyTimeout: time.Minute, BodyLimit: 16 << 20})
				k.close = stop
				var told []any
				go func() { // the writer
					defer stop()
					for range 2 {
						select {
						case f := <-k.out:
							told = append(told, f)
						case <-ctx.Done():
							return
						}
					}
				}()
				began := time.Now()
				r, arrived := k.hurryReader(&steady{ctx, tc.rate, tc.bytes})
				_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, make([]byte, 8<<20))
				arrived()
				if took := time.Since(began).Truncate(time.Second); took != tc.want || (err != nil) != tc.late {
					t.Errorf("after %v: %v; want %v, late: %t", took, err, tc.want, tc.late)
				}
				time.Sleep(time.Hour) // nothing comes after it
				synctest.Wait()
				if want := map[bool]int{true: 2}[tc.late]; len(told) != want {
					t.Errorf("the client was told %v", told)
				}
			})
		})
	}
}
