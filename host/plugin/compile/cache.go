// SPDX-License-Identifier: MIT

package compile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/penstock/penstock/host/atomicfile"
)

// cache keeps compiled code between runs. The code is run without further checks, so nobody else
// may write to the folder. Checksums find what is damaged.
//
// An entry is a folder, named by the module and by what decides how it is rewritten. It holds what
// fillEntry made.
type cache struct {
	dir   string
	limit int64 // bytes of all entries
	log   *slog.Logger

	mu    sync.Mutex // guards maker
	maker string     // of the code: this program, wazero's version and the processor; "" until keepsCode has told
}

// cacheBytes bounds the cache: 25 modules of Go's own compiler, or some thousand small ones.
const cacheBytes = 256 << 20

// openCache makes the folder if need be and checks that it is the user's alone.
func openCache(dir string, limit int64, log *slog.Logger) (*cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("failed to make the cache of compiled plugins: %w", err)
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("failed to find the cache of compiled plugins: %w", err)
	}
	if err := atomicfile.CheckPrivate(dir, "compiled code"); err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, fmt.Errorf("failed to close the cache of compiled plugins to others: %w", err)
	}
	c := &cache{dir: dir, limit: limit, log: log}
	if err := atomicfile.RemoveLeftovers(dir); err != nil {
		log.Warn("the cache of compiled plugins is not in order", "error", err)
	}
	return c, nil
}

// newFolder makes a folder to be filled, which the caller closes.
func (c *cache) newFolder() (dir string, done func(), err error) {
	dir, release, err := atomicfile.MkdirTemp(c.dir)
	return dir, func() {
		_ = os.RemoveAll(dir) // by the next start at last
		release()
	}, err
}

// keepsCode reports whether wazero compiles on this machine and keeps the code. If it interprets
// instead, a child would compile for nothing. A success is remembered; a failure is tried again,
// since the disk may have been full.
func (c *cache) keepsCode(ctx context.Context) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.maker == "" {
		key, err := c.tryCode(ctx)
		if err != nil {
			c.log.Warn("large plugins are compiled or interpreted in the server itself", "because", err)
			return false
		}
		c.maker = version() + " " + key
	}
	return true
}

// tryCode has wazero keep the code of an empty module, and returns what it keeps that under: its
// own version and what the processor can do are in it.
func (c *cache) tryCode(ctx context.Context) (key string, err error) {
	dir, done, err := c.newFolder()
	if err != nil {
		return "", err
	}
	defer done()
	file, err := makeCode(ctx, []byte("\x00asm\x01\x00\x00\x00"), dir)
	if err != nil {
		return "", err
	}
	return filepath.Rel(dir, file)
}

// entry returns the path of an entry, which need not exist.
func (c *cache) entry(name string) string { return filepath.Join(c.dir, name) }

// replace has a new folder filled and then puts it in place of an entry of no use, by one
// renaming, and makes room for it. An entry that another host has filled in the meantime stays.
func (c *cache) replace(entry string, fill func(dir string) (bool, error)) error {
	dir, done, err := c.newFolder()
	if err != nil {
		c.log.Warn("compiled code of a plugin is not kept", "error", err)
		return nil
	}
	defer done()
	if err := os.RemoveAll(entry); err != nil {
		c.log.Warn("compiled code of a plugin is not kept", "error", err)
		return nil
	}
	if filled, err := fill(dir); err != nil || !filled {
		return err
	}
	if err := os.Rename(dir, entry); err != nil && !errors.Is(err, fs.ErrExist) {
		c.log.Warn("compiled code of a plugin is not kept", "error", err)
	}
	if err := c.evict(filepath.Base(entry)); err != nil {
		c.log.Warn("the cache of compiled plugins is not in order", "error", err)
	}
	return nil
}

// markUsed makes an entry the most recently used.
func (c *cache) markUsed(entry string) {
	now := time.Now()
	if err := os.Chtimes(entry, now, now); err != nil && !errors.Is(err, fs.ErrNotExist) { // another host may have removed it
		c.log.Warn("the cache of compiled plugins is not in order", "error", err)
	}
}

// evict removes the least recently used entries until the rest is within the limit. The one in use
// stays.
func (c *cache) evict(inUse string) error {
	type item struct {
		name string
		used time.Time
		size int64
	}
	entries, err := os.ReadDir(c.dir)
	var items []item
	var total int64
	for _, e := range entries {
		info, gone := e.Info()
		if gone != nil || atomicfile.IsTemp(e.Name()) {
			continue // by another host, or being filled
		}
		i := item{e.Name(), info.ModTime(), sizeOf(filepath.Join(c.dir, e.Name()))}
		items, total = append(items, i), total+i.size
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Or(a.used.Compare(b.used), strings.Compare(a.name, b.name)) })
	for _, i := range items {
		if total <= c.limit {
			break
		}
		if i.name != inUse {
			err = errors.Join(err, os.RemoveAll(filepath.Join(c.dir, i.name)))
			total -= i.size
		}
	}
	return err
}

// sizeOf is how many bytes all files below a folder have.
func sizeOf(dir string) (bytes int64) {
	files, _ := filesOf(dir)
	for _, path := range files {
		if info, err := os.Stat(path); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}

// filesOf lists all files below a folder; none where the folder does not exist.
func filesOf(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	return files, err
}
