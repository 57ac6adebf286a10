// SPDX-License-Identifier: MIT

package host

import (
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// reloadInterval is how often files are looked at, at most.
const reloadInterval = time.Second

// reloaded is what was read from files. It is read again when they change, and stays while they
// are broken. Its methods may be called from any goroutine.
type reloaded[T any] struct {
	load  func() (T, error)
	files []string
	log   *slog.Logger

	mu      sync.Mutex
	value   T
	stamps  []fileStamp
	checked time.Time
	failed  string // why the files as they are now could not be used
}

// fileStamp tells whether a file has changed. Another file under the same name, as a renamed or
// linked one, has another time.
type fileStamp struct {
	modified time.Time
	size     int64
}

// newReloaded reads the files with load. From then on Get calls load again when one of them has
// changed. If that fails, it is logged, and the value stays.
func newReloaded[T any](log *slog.Logger, load func() (T, error), files ...string) (*reloaded[T], error) {
	v := &reloaded[T]{load: load, files: files, log: log, stamps: stampsOf(files), checked: time.Now()}
	var err error
	if v.value, err = load(); err != nil {
		return nil, err
	}
	return v, nil
}

// Get returns the value. It looks at the files no more than once a second.
func (v *reloaded[T]) Get() T {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	if now.Sub(v.checked) < reloadInterval {
		return v.value
	}
	v.checked = now
	current := stampsOf(v.files)
	if v.failed == "" && slices.EqualFunc(current, v.stamps, fileStamp.equal) {
		return v.value
	}
	v.stamps = current
	value, err := v.load()
	if err != nil {
		if v.failed != err.Error() { // what the files name may come to be there without a change of theirs
			v.log.Error("changed files cannot be used; what was read before stays until they can be", slog.Any("files", v.files), slog.Any("error", err))
		}
		v.failed = err.Error()
		return v.value
	}
	v.value, v.failed = value, ""
	v.log.Info("changed files were read again", slog.Any("files", v.files))
	return v.value
}

func stampsOf(files []string) []fileStamp {
	out := make([]fileStamp, len(files))
	for i, name := range files {
		if info, err := os.Stat(name); err == nil { // a missing file has a stamp of its own, the zero one
			out[i] = fileStamp{info.ModTime(), info.Size()}
		}
	}
	return out
}

func (s fileStamp) equal(o fileStamp) bool { return s.size == o.size && s.modified.Equal(o.modified) }
