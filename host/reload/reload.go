// SPDX-License-Identifier: MIT

// Package reload reads files again when they change, and keeps what it has while they are broken.
package reload

import (
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// interval is how often the files are looked at, at most.
const interval = time.Second

// Value is what was read from files, as new as the files are. Its methods may be called from any
// goroutine.
type Value[T any] struct {
	load  func() (T, error)
	files []string
	log   *slog.Logger

	mu      sync.Mutex
	value   T
	stamps  []stamp
	checked time.Time
}

// stamp tells whether a file has changed. Another file under the same name, as a renamed or linked
// one, has another time.
type stamp struct {
	modified time.Time
	size     int64
}

// New reads the files with load. From then on Get calls load again when one of them has changed.
// If that fails, it is logged, and the value stays.
func New[T any](log *slog.Logger, load func() (T, error), files ...string) (*Value[T], error) {
	v := &Value[T]{load: load, files: files, log: log, stamps: stamps(files), checked: time.Now()}
	var err error
	if v.value, err = load(); err != nil {
		return nil, err
	}
	return v, nil
}

// Get returns the value. It looks at the files no more than once a second.
func (v *Value[T]) Get() T {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	if now.Sub(v.checked) < interval {
		return v.value
	}
	v.checked = now
	current := stamps(v.files)
	if equal(current, v.stamps) {
		return v.value
	}
	v.stamps = current
	value, err := v.load()
	if err != nil {
		v.log.Error("changed files cannot be used; what was read before stays", slog.Any("files", v.files), slog.Any("error", err))
		return v.value
	}
	v.value = value
	v.log.Info("changed files were read again", slog.Any("files", v.files))
	return v.value
}

func stamps(files []string) []stamp {
	out := make([]stamp, len(files))
	for i, name := range files {
		if info, err := os.Stat(name); err == nil { // a missing file has a stamp of its own, the zero one
			out[i] = stamp{info.ModTime(), info.Size()}
		}
	}
	return out
}

func equal(a, b []stamp) bool {
	return slices.EqualFunc(a, b, func(a, b stamp) bool { return a.size == b.size && a.modified.Equal(b.modified) })
}
