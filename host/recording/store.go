// SPDX-License-Identifier: MIT

package recording

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/receipt"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
)

// Limits bound what is recorded and kept.
type Limits struct {
	Size    int64         // bytes of one recording in memory
	Keep    int           // recordings
	KeepFor time.Duration // of each
}

// together is how many recordings of the largest size may be in memory.
const together = 4

// sweepEvery is how often recordings that are too old are looked for.
const sweepEvery = 10 * time.Minute

// Store keeps recordings in a folder. Several processes may share it. It is safe for concurrent
// use.
type Store struct {
	path   string
	limits Limits
	log    *slog.Logger
	key    *receipt.Key // seals them; nil: nothing does

	running atomic.Int64 // bytes of recordings in memory
	writing sync.Mutex   // one file at a time: packing takes a processor
	writers sync.WaitGroup
	stop    context.CancelFunc

	mu      sync.Mutex
	pending map[string]*pending // recordings that are not on the disk yet
}

type pending struct {
	owner string
	ended atomic.Bool   // all answers have, and it will soon be on the disk
	done  chan struct{} // closed when it is on the disk, or will never be
}

// wait waits until a recording is on the disk.
func (p *pending) wait(ctx context.Context) error {
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return refusal.ErrGone
	}
}

// Open makes a store in a folder, which the first recording makes if need be.
func Open(path string, limits Limits, log *slog.Logger) *Store {
	ctx, stop := context.WithCancel(context.Background())
	s := &Store{path: path, limits: limits, log: log, stop: stop, pending: map[string]*pending{}}
	if _, err := os.Stat(path); err == nil {
		_ = atomicfile.RemoveLeftovers(path) // they only take room
	}
	s.writers.Go(func() { s.sweep(ctx) })
	return s
}

// SealWith has recordings sealed by a key. It is called before the first of them.
func (s *Store) SealWith(k *receipt.Key) { s.key = k }

// Close waits until all that was recorded is on the disk. No request may be running.
func (s *Store) Close() {
	s.stop()
	s.writers.Wait()
}

// sweep removes what is too old, also while nothing is recorded.
func (s *Store) sweep(ctx context.Context) {
	every := time.NewTicker(sweepEvery)
	defer every.Stop()
	for {
		s.prune()
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}

// take counts bytes of a recording in memory; false: there is no room for them.
func (s *Store) take(bytes int64) bool {
	if s.running.Add(bytes) <= together*s.limits.Size {
		return true
	}
	s.running.Add(-bytes)
	return false
}

// ownerOf tells whose a recording is, in a way that tells nobody else who that is.
func ownerOf(id, caller string) string {
	sum := sha256.Sum256([]byte(id + "\x00" + caller))
	return hex.EncodeToString(sum[:])
}

// owns reports whether a recording exists for a reader.
func owns(r serving.RecordingReader, id, owner string) bool {
	return r.Admin || ownerOf(id, r.Caller) == owner
}

var validID = regexp.MustCompile(`^rec_[A-Z2-7]{26}$`).MatchString

const suffix = ".json.gz"

// Get opens a recording, for whom it belongs to, and waits for one that is being written.
func (s *Store) Get(ctx context.Context, r serving.RecordingReader, id string) (*os.File, error) {
	if !validID(id) {
		return nil, absent(id)
	}
	s.mu.Lock()
	p := s.pending[id]
	s.mu.Unlock()
	if p != nil && owns(r, id, p.owner) {
		if err := p.wait(ctx); err != nil {
			return nil, err
		}
	}
	s.prune()
	root, err := os.OpenRoot(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, absent(id)
	}
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // nothing was written through it
	file, err := root.Open(id + suffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, absent(id)
	}
	if err != nil {
		return nil, err
	}
	if _, h, err := readHead(file); err != nil || !owns(r, id, h.Owner) {
		_ = file.Close() // it was only read
		return nil, absent(id)
	}
	if _, err := file.Seek(0, 0); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Remove removes a recording.
func (s *Store) Remove(ctx context.Context, r serving.RecordingReader, id string) error {
	file, err := s.Get(ctx, r, id)
	if err != nil {
		return err
	}
	_ = file.Close() // it was only read
	return s.remove(id)
}

func absent(id string) error {
	return &refusal.Error{Kind: refusal.KindNotFound, Code: "recording_not_found", Field: "id",
		Message: fmt.Sprintf("there is no recording %.40q of yours; GET /v1/recordings lists those there are", id)}
}
