// SPDX-License-Identifier: MIT

package compile

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/fuel"
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

// entryPath returns the path of an entry, which need not exist.
func (c *cache) entryPath(name string) string { return filepath.Join(c.dir, name) }

// replace has a new folder filled, moves it into the place of an unusable entry by one renaming,
// and makes room for it. An entry that another host has filled in the meantime stays.
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

// sizeOf adds up the sizes of all files below a folder.
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

// An entry of the code cache has a folder in which wazero keeps the metered module's code, and a
// file with the xxHash of that code, in hexadecimal.
const (
	codeDir = "code"
	sumFile = "sum"
)

// entryFormat is raised with each change of an entry's content.
const entryFormat = 7

// version names the way in which this program fills an entry. If the program's file was replaced
// while it runs, the child is another program than the parent, so each tells its version.
func version() string { return fmt.Sprintf("%d %s", entryFormat, fuel.Version()) }

// entryName names an entry. The same module may become other code with another maker, which is a
// program on a kind of processor, or with other limits.
func entryName(sum [sha256.Size]byte, maker string, limits fuel.Limits) string {
	name := sha256.Sum256(fmt.Appendf(nil, "%x %s %+v", sum, maker, limits))
	return hex.EncodeToString(name[:])
}

var (
	// errDamaged refuses an entry that a disk damaged or that a killed host left unfinished.
	errDamaged = errors.New("it is damaged or was not finished")
	// errOtherVersion refuses the order of another version of this program.
	errOtherVersion = errors.New("another version of this program")
)

// fillEntry meters and compiles a module and leaves in dir what openEntry needs. If the code
// cannot be kept, the error wraps errNotKept, and the module is not compiled again.
func fillEntry(ctx context.Context, wasm []byte, dir string, limits fuel.Limits) error {
	m, err := fuel.Rewrite(wasm, limits)
	if err != nil {
		return rewriteError(err)
	}
	path, err := makeCode(ctx, m.Wasm, filepath.Join(dir, codeDir))
	if err != nil {
		return compileError(err)
	}
	sum, err := checksumOf(path)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, sumFile), []byte(sum), 0o600)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errNotKept, err)
	}
	return nil
}

// checksumOf returns the checksum of a file, to find damage. It is no signature: who can write to
// the folder can write the sum too.
func checksumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it was only read
	sum := xxhash.New()
	_, err = io.Copy(sum, f)
	return strconv.FormatUint(sum.Sum64(), 16), err
}

// openEntry loads a module with its code from an entry. It removes an unusable entry; the error
// wraps errDamaged if the checksum is wrong. wazero compiles anew if the code is not for this
// processor or for its own version.
func openEntry(ctx context.Context, wasm []byte, entry string, limits fuel.Limits) (_ *Code, err error) {
	want, err := os.ReadFile(filepath.Join(entry, sumFile))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(entry))
		}
	}()
	path, err := onlyFile(filepath.Join(entry, codeDir))
	if err != nil {
		return nil, errors.Join(errDamaged, err)
	}
	if sum, err := checksumOf(path); err != nil || sum != string(want) {
		return nil, errors.Join(errDamaged, err)
	}
	return compileHere(ctx, wasm, limits, filepath.Join(entry, codeDir))
}

// Code is a metered and compiled module, in a runtime of wazero of its own. That costs a
// millisecond, and what wazero keeps of a module, the code and the numbers of its types, is then
// gone with the module.
type Code struct {
	Runtime  wazero.Runtime
	Compiled wazero.CompiledModule
	Metered  *fuel.Module // without the bytes: they are compiled

	cache wazero.CompilationCache // nil: none
}

// newConfig lets wazero compile where it can, and interpret elsewhere: on processors it has no
// compiler for, and where memory cannot be made executable. A test may want it otherwise.
var newConfig = wazero.NewRuntimeConfig

// errNotKept means that wazero could not keep the code.
var errNotKept = errors.New("no code was kept")

// newCode compiles a metered module. wazero keeps the code in the folder dir, or takes it from
// there if it has it; "" is no folder. Compiling is given up between two functions when ctx is
// done; that a single function cannot take long is the rewriter's doing.
func newCode(ctx context.Context, wasm []byte, dir string) (_ *Code, err error) {
	config := newConfig().WithCoreFeatures(api.CoreFeaturesV2)
	c := &Code{}
	if dir != "" {
		if c.cache, err = wazero.NewCompilationCacheWithDir(dir); err != nil {
			return nil, fmt.Errorf("%w: %w", errNotKept, err)
		}
		config = config.WithCompilationCache(c.cache)
	}
	defer func() {
		if p := recover(); p != nil { // a defect of the compiler that a module can reach must not end the host
			err = fmt.Errorf("%w: the compiler gave up: %v", plugin.ErrUnsupported, p)
		}
		if err != nil {
			_ = c.Close() // the first error is the one to tell
		}
	}()
	c.Runtime = wazero.NewRuntimeWithConfig(ctx, config)
	c.Compiled, err = c.Runtime.CompileModule(withWorkers(ctx), wasm)
	return c, err
}

// makeCode has wazero compile a module, and returns the file below dir, a new folder, in which it
// keeps the code. The file's path below dir names the module, wazero's version and what the
// processor can do. The error wraps errNotKept if there is no file.
func makeCode(ctx context.Context, wasm []byte, dir string) (file string, err error) {
	code, err := newCode(ctx, wasm, dir)
	if isDisk(err) {
		err = fmt.Errorf("%w: %w", errNotKept, err)
	}
	if err != nil {
		return "", err
	}
	if err := code.Close(); err != nil {
		return "", errors.Join(errNotKept, err)
	}
	return onlyFile(dir)
}

// isDisk reports whether a file operation failed, for which the module is not at fault.
func isDisk(err error) bool {
	var path *fs.PathError
	var link *os.LinkError
	return errors.As(err, &path) || errors.As(err, &link)
}

// onlyFile returns the one file below a folder. If there is none, or another one, the error wraps
// errNotKept.
func onlyFile(dir string) (string, error) {
	files, err := filesOf(dir)
	if err != nil || len(files) != 1 {
		return "", errors.Join(errNotKept, err)
	}
	return files[0], nil
}

// withWorkers has wazero compile on half of the processors, unless the context says otherwise.
// Only with more than one worker does wazero look at the context.
func withWorkers(ctx context.Context) context.Context {
	if experimental.GetCompilationWorkers(ctx) > 1 {
		return ctx
	}
	return experimental.WithCompilationWorkers(ctx, max(2, runtime.GOMAXPROCS(0)/2))
}

// Close frees the code. No instance may be in use.
func (c *Code) Close() (err error) {
	if c.Runtime != nil {
		err = c.Runtime.Close(context.Background())
	}
	if c.cache != nil {
		err = errors.Join(err, c.cache.Close(context.Background()))
	}
	return err
}
