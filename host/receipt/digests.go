// SPDX-License-Identifier: MIT

package receipt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync"
)

// File is a file as it was when it was loaded.
type File struct {
	Role     string // see FileDigest
	Path     string
	size     int64
	modified int64 // in nanoseconds since 1970
}

// Note notes how a file is now. A file that cannot be looked at is found changed later.
func Note(role, path string) File {
	f := File{Role: role, Path: path}
	if info, err := os.Stat(path); err == nil {
		f.size, f.modified = info.Size(), info.ModTime().UnixNano()
	}
	return f
}

// ErrChanged means that a file is no longer what was loaded of it.
var ErrChanged = errors.New("the file has changed since it was loaded")

// Digests keeps the digests of files. It is safe for concurrent use.
type Digests struct {
	turn chan struct{} // has an element while a file is read: one at a time, so that it takes one processor

	mu    sync.Mutex
	known map[File]string
	begun map[File]*reading // whose readers have left; under turn
}

// reading is a file that is read in part.
type reading struct {
	hash hash.Hash
	at   int64
}

// NewDigests makes an empty one.
func NewDigests() *Digests {
	return &Digests{turn: make(chan struct{}, 1), known: map[File]string{}, begun: map[File]*reading{}}
}

// Of is the SHA-256 of a file, in hexadecimal digits. The first call reads the file, which may take
// long. It ends with ctx, and the next goes on from there.
func (d *Digests) Of(ctx context.Context, f File) (string, error) {
	if sum, ok := d.find(f); ok {
		return sum, nil
	}
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if sum, ok := d.find(f); ok { // who had the turn has read it
		return sum, nil
	}
	r := d.begun[f]
	if r == nil {
		r = &reading{hash: sha256.New()}
		d.begun[f] = r
	}
	if err := r.read(ctx, f); err != nil {
		if ctx.Err() == nil {
			delete(d.begun, f)
		}
		return "", err
	}
	delete(d.begun, f)
	sum := hex.EncodeToString(r.hash.Sum(nil))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known[f] = sum
	return sum, nil
}

func (d *Digests) find(f File) (sum string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	sum, ok = d.known[f]
	return sum, ok
}

// read reads the rest of a file.
func (r *reading) read(ctx context.Context, f File) error {
	if f.modified == 0 || Note(f.Role, f.Path) != f {
		return fmt.Errorf("%s: %w", f.Path, ErrChanged)
	}
	from, err := os.Open(f.Path)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // it was only read
	if _, err := from.Seek(r.at, io.SeekStart); err != nil {
		return err
	}
	part := make([]byte, 1<<20)
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := from.Read(part)
		r.hash.Write(part[:n])
		r.at += int64(n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if r.at != f.size || Note(f.Role, f.Path) != f {
		return fmt.Errorf("%s: %w", f.Path, ErrChanged)
	}
	return nil
}
