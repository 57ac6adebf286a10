// SPDX-License-Identifier: MIT

package compile

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/penstock/penstock/host/atomicfile"
)

// cache keeps compiled code between runs. The code is run without further checks, so nobody else may write to the folder, and
// files without the right checksum are removed before wazero looks.
//
// An entry is a folder, named by the module and by what decides how it is rewritten. It holds what fillEntry made, and beside each
// file its checksum.
type cache struct {
	dir   string
	limit int64 // bytes of all entries
	log   *slog.Logger
	keeps bool // see keepsCode
}

// cacheBytes bounds the cache: 25 modules of Go's own compiler, or some thousand small ones.
const cacheBytes = 256 << 20

// sumSuffix is what the files of checksums end with.
const sumSuffix = ".sum"

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
	if err := checkPrivate(dir); err != nil {
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

// keepsCode reports whether wazero compiles on this machine and keeps the code. If it interprets instead, a child would compile
// for nothing. A success is remembered; a failure is tried again, since the disk may have been full. It is not for concurrent use.
func (c *cache) keepsCode(ctx context.Context) bool {
	if !c.keeps {
		err := c.tryCode(ctx)
		if c.keeps = err == nil; !c.keeps {
			c.log.Warn("large plugins are compiled or interpreted in the server itself", "because", err)
		}
	}
	return c.keeps
}

// tryCode has wazero keep the code that it makes from an empty module.
func (c *cache) tryCode(ctx context.Context) error {
	dir, done, err := c.newFolder()
	if err != nil {
		return err
	}
	defer done()
	if err := compileTo(ctx, []byte("\x00asm\x01\x00\x00\x00"), dir, 1); err != nil {
		return err
	}
	if files, err := filesOf(dir); err != nil || len(files) == 0 {
		return errors.Join(errNotKept, err)
	}
	return nil
}

// entry returns the path of an entry, and makes its folder. If one of its files was damaged, the folder is empty. The path is ""
// where no folder can be made.
func (c *cache) entry(name string) string {
	if c == nil {
		return ""
	}
	entry := filepath.Join(c.dir, name)
	files, err := filesOf(entry)
	for _, path := range files {
		if !strings.HasSuffix(path, sumSuffix) && !intact(path) {
			c.log.Warn("compiled code of a plugin is damaged or was not finished; it is compiled anew", "file", path)
			err = errors.Join(err, os.RemoveAll(entry))
			break
		}
	}
	if err = errors.Join(err, os.MkdirAll(entry, 0o700)); err != nil {
		c.log.Warn("compiled code of a plugin is not kept", "error", err)
		return ""
	}
	return entry
}

// replace has a new folder filled and then puts it in place of an entry of no use, by one renaming, and makes room for it. An entry
// that another host has filled in the meantime stays.
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

// removeEmpty removes an entry in which there is no file.
func (c *cache) removeEmpty(entry string) (removed bool) {
	if entry == "" {
		return true
	}
	files, err := filesOf(entry)
	return err == nil && len(files) == 0 && os.RemoveAll(entry) == nil // wazero's empty folders may be in it
}

// markUsed makes an entry the most recently used.
func (c *cache) markUsed(entry string) {
	if c.removeEmpty(entry) {
		return
	}
	now := time.Now()
	if err := os.Chtimes(entry, now, now); err != nil {
		c.log.Warn("the cache of compiled plugins is not in order", "error", err)
	}
}

// seal writes the checksums of what is new in an entry.
func seal(entry string) error {
	files, err := filesOf(entry)
	for _, path := range files {
		if !strings.HasSuffix(path, sumSuffix) && !slices.Contains(files, path+sumSuffix) {
			sum, e := checksum(path)
			err = errors.Join(err, e, os.WriteFile(path+sumSuffix, sum, 0o600))
		}
	}
	return err
}

// evict removes the least recently used entries until the rest is within the limit. The one in use stays.
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
		i := item{e.Name(), info.ModTime(), 0}
		files, _ := filesOf(filepath.Join(c.dir, i.name))
		for _, path := range files {
			if info, err := os.Stat(path); err == nil {
				i.size += info.Size()
			}
		}
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

// intact reports whether a file has the checksum that lies beside it.
func intact(path string) bool {
	want, err := os.ReadFile(path + sumSuffix)
	if err != nil {
		return false
	}
	sum, err := checksum(path)
	return err == nil && bytes.Equal(sum, want)
}

// checksum finds damage, by a disk or by a host that was killed. It is no signature: who can write to the folder can write sums too.
func checksum(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	h := xxhash.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, err
	}
	return hex.AppendEncode(nil, h.Sum(nil)), nil
}
