// SPDX-License-Identifier: MIT

package encoder

import "context"

// job is a picture or a sound that is encoded for all requests that wait for it.
type job struct {
	key     key
	client  string // who asked first
	decode  func(context.Context) (Media, error)
	ctx     context.Context // done when nobody waits any more
	cancel  context.CancelFunc
	waiting int           // requests
	cost    int           // embeddings that were begun; the encoder's goroutine counts
	done    chan struct{} // closed once pieces and err are there
	pieces  []Piece
	err     error
}

func newJob(parent context.Context, k key, r Source) *job {
	j := &job{key: k, client: r.Client, decode: r.Decode, waiting: 1, done: make(chan struct{})}
	j.ctx, j.cancel = context.WithCancel(parent)
	return j
}
