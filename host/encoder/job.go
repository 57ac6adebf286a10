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
	done    chan struct{} // closed once all pieces, or err, are there
	pieces  []Piece       // so far
	readers []func(Piece) // that are told of each
	err     error
}

func newJob(parent context.Context, k key, r Source) *job {
	j := &job{key: k, client: r.Client, decode: r.Decode, waiting: 1, done: make(chan struct{})}
	j.ctx, j.cancel = context.WithCancel(parent)
	return j
}

// join has a request be told of each piece, which may want that: of those so far at once. The
// encoder's lock is held.
func (j *job) join(reader func(Piece)) {
	if reader != nil {
		tell(reader, j.pieces)
		j.readers = append(j.readers, reader)
	}
}

// tell tells a reader, if there is one, of pieces.
func tell(reader func(Piece), pieces []Piece) {
	if reader == nil {
		return
	}
	for _, p := range pieces {
		reader(p)
	}
}
