// SPDX-License-Identifier: MIT

package compute

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"
)

// Cache is a folder of weights that hosts have sent, so that they need not send them again. ggml's
// server writes and reads the files, whose names are the FNV-1a hashes of their contents. It
// writes them in place and trusts what is there, so one that was cut short, because the process
// was killed or the disk was full, would become wrong weights without a word. CheckNew keeps that
// from happening.
type Cache struct {
	Folder string // empty: there is none
	mu     sync.Mutex
}

const (
	// checkedMark is a file whose time says that all files from before it were checked.
	checkedMark = ".checked"
	// clockSlack is how much older than it is a file system may say a file is.
	clockSlack = 2 * time.Second
)

var cacheName = regexp.MustCompile(`^[0-9a-f]{16}$`)

// CheckNew removes those files of the folder that are not what their names say, among those that
// were written since it was called last. It returns how many it removed.
func (c *Cache) CheckNew() (removed int, err error) {
	if c.Folder == "" {
		return 0, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := os.MkdirAll(c.Folder, 0o700); err != nil {
		return 0, err
	}
	mark := filepath.Join(c.Folder, checkedMark)
	var since time.Time
	if info, err := os.Stat(mark); err == nil {
		since = info.ModTime().Add(-clockSlack)
	}
	begin := time.Now()
	files, err := os.ReadDir(c.Folder)
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		info, err := f.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && (!cacheName.MatchString(f.Name()) || info.ModTime().Before(since)) {
			continue
		}
		path := filepath.Join(c.Folder, f.Name())
		if hash, err := hashOf(path); err == nil && hash == f.Name() {
			continue
		}
		if err := os.Remove(path); err != nil {
			return removed, fmt.Errorf("%s is damaged: %w", path, err)
		}
		removed++
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return removed, err
	}
	return removed, os.Chtimes(mark, begin, begin)
}

// hashOf is the name that a file of the cache should have.
func hashOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	sum := fnv.New64a()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%016x", sum.Sum64()), nil
}
