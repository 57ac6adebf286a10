// SPDX-License-Identifier: MIT

// Package compile turns a module's bytes into metered machine code: in a child process where the
// module is large, and out of a cache if it was compiled before.
//
//	Check     refuses what is no plugin of this version, by its first bytes and its exports
//	Compiler  Compile: cache, or child, or this process
//	Main      what the child runs; a program's main begins with it
//	Code      the result: wazero's compiled module and what package fuel says of it
//
// Metering is package fuel's doing. Compiling is wazero's, which interprets instead if it has no
// compiler.
//
// # Why does each module have its own wazero runtime?
//
// wazero keeps some data of a module besides its code (the numbers of its types) until the whole
// runtime is closed, so uploads would fill the memory forever. A runtime takes 1.4 ms to set up.
// It also gives each module its own folder in the code cache, so that an entry can be checked on
// its own.
//
// # What keeps a module from taking long to load?
//
// There are three limits:
//
//   - The ABI's table bounds the counts in a module. wazero has loops over functions times
//     exports, types times values, and functions times locals: a module of 320 KB with 40,000
//     functions that declare 50,000 locals each took minutes.
//   - The rewriter estimates how long each function takes to compile, since compiling cannot be
//     interrupted. What counts is what lives across basic blocks: wazero keeps lists of the
//     values on the operand stack and maps of the locals for each block, and joins all locals
//     that a loop uses. So the rewriter follows the height of the stack and where each local is
//     set and used (host/plugin/fuel/shape.go). 60,000 values before 1,000 branches are 173 KB,
//     and took a minute and 4.3 GB.
//   - A child process that compiles ends itself after 30 s of processor time or with 1 GiB of
//     memory, and the module is refused.
//
// All three are limits of work, so a busy machine refuses no module that an idle one takes. The
// clock is the last resort: an upload is answered after two minutes.
// TestRegistry_Upload_Bombs_CostLittle prints what remains.
//
// # Why is a module metered each time it is loaded?
//
// Code is kept in wazero's own directory cache. Before wazero takes code from it, wazero decodes
// the module and validates each function. So an entry could hold the metered module, or only a
// skeleton of it, whose functions trap, with the code in the file where wazero looks for the
// skeleton's. Until November 2026 it was a skeleton, with guards against ever running it. Medians
// of 30 loads on 2 cores of an Intel Xeon that others kept busy, in ms, without the instance, and
// the heap that stays in use (BenchmarkOpen has the last column):
//
//	                               skeleton         metered module   metered at each load
//	min-p (TinyGo, 75 KB)          0.6 ms,  67 KB           2.1 ms         3.6 ms, 145 KB
//	best-of (Rust, 139 KB)         0.9 ms,  94 KB           4.1 ms         6.7 ms, 279 KB
//	regex-stop (TinyGo, 272 KB)    1.7 ms                   5.8 ms         9.4 ms
//	min-p (stock Go, 2.1 MB)        20 ms, 2.3 MB            50 ms          82 ms, 4.3 MB
//
// A plugin is loaded when the server starts or its file changes, and never for a request. That is
// not worth a format of our own. The worst module of 16 MB takes 0.8 s.
//
// For the same reason no child waits for the next module: starting one takes 10 ms.
//
// # What if wazero does not find the code?
//
// Then it compiles the module in the server. It should not come to that: the name of an entry has
// the path in it under which wazero keeps the code of an empty module, with its version and what
// the processor can do. So another machine, or another version, has other entries in the same
// folder.
//
// Sometimes wazero interprets: it has no compiler for the processor, or memory cannot be made
// executable, as under systemd's MemoryDenyWriteExecute. It then keeps no code of an empty module,
// so this shows beforehand. There every module is loaded without a child and without the cache.
//
// # Why does a compile job name the program that gave it?
//
// The child is this program started again from its path. If the file was replaced while the
// server runs, the child is the new version, and its output would be stored under the old
// version's name, after a rollback without the checks that a newer rewriter adds. So the child
// does nothing if it is another version; the server then compiles by itself and says so.
//
// # Why does the code cache have its own checksums?
//
// wazero checks the machine code in an entry, but not the table of where functions begin. A plugin
// whose entry is cut short would fail to load instead of being compiled. So an entry has a checksum
// of the file that wazero reads. It is compared before wazero gets anything. It is no signature:
// anybody who can write to the folder could write the checksum too. That is why it is xxHash and
// not SHA-256. The folder must therefore belong to the user alone, in a place where nobody else can
// replace it. Otherwise Penstock reports it and compiles at each start.
//
// # Why is a plugin not described from the cache, without running it?
//
// Describing takes a twentieth of a millisecond, much less than loading a module whose code is
// cached. A stored manifest would save no more, and would have to be forgotten whenever a host
// has other features.
package compile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/plugins/abi"
)

// Compiler meters and compiles modules. Neither Compile nor CompileAnew is for concurrent use, but
// one of each may run: compiling takes memory in proportion to the module.
type Compiler struct {
	cache  *cache // nil: none
	limits fuel.Limits
	bounds bounds // of a child
	log    *slog.Logger
}

// mostMemory is how many bytes a child may have. Stock Go needs an eighth of it.
const mostMemory = 1 << 30

// New makes a compiler that keeps code in a folder between runs, or nowhere where dir is empty. It
// logs why it does not use a folder that it cannot trust. limit is the processor time that
// compiling a module may take.
func New(dir string, limits fuel.Limits, limit time.Duration, log *slog.Logger) *Compiler {
	c := &Compiler{limits: limits, bounds: bounds{limit, mostMemory}, log: log}
	if dir == "" {
		return c
	}
	var err error
	if c.cache, err = openCache(dir, cacheBytes, log); err != nil {
		log.Warn("plugins are compiled anew at each start", "because", err)
	}
	return c
}

// With returns a compiler with other limits. It shares the cache, whose entries are named by
// limits.
func (c *Compiler) With(limits fuel.Limits) *Compiler {
	other := *c
	other.limits = limits
	return &other
}

// patience bounds the time of compiling by the clock, as a multiple of its processor time. It is
// the last resort on a busy machine.
const patience = 20

// Compile meters and compiles a module, or takes its code from the cache. sum is the module's
// SHA-256. The error wraps plugin.ErrNotWasm, ErrUnsupported or ErrLimit, or is the context's.
func (c *Compiler) Compile(caller context.Context, wasm []byte, sum [sha256.Size]byte) (*Code, error) {
	ctx, cancel := context.WithTimeout(caller, patience*c.bounds.Time)
	defer cancel()
	entry := ""
	if c.cache != nil && c.cache.keepsCode(ctx) {
		entry = c.cache.entryPath(entryName(sum, c.cache.maker, c.limits))
	}
	code, err := c.obtain(ctx, wasm, entry, c.compileInChild)
	return code, c.explainEnd(caller, err)
}

// explainEnd returns why compiling ended: it took too long if only the caller's context goes on.
func (c *Compiler) explainEnd(caller context.Context, err error) error {
	switch {
	case err == nil:
	case caller.Err() != nil:
		return caller.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: compiling takes longer than %v; make the module smaller, or try again when the machine has less to do",
			plugin.ErrLimit, patience*c.bounds.Time)
	}
	return err
}

// CompileAnew is Compile for a module of a client. It takes nothing from the cache and leaves
// nothing there, so that nobody learns from the time whether the server has had the module before,
// and no client's code takes the room of the operator's. A module that is not light is compiled by
// a child or not at all. take is told how many bytes the code has before it is loaded into memory,
// and may refuse them. The error may also be take's, or wrap plugin.ErrBusy.
func (c *Compiler) CompileAnew(caller context.Context, wasm []byte, take func(bytes int64) error) (*Code, error) {
	ctx, cancel := context.WithTimeout(caller, patience*c.bounds.Time)
	defer cancel()
	code, err := c.compileAnew(ctx, wasm, take)
	return code, c.explainEnd(caller, err)
}

// lightFactor bounds how many bytes of code a byte of a light module becomes: a division becomes
// 27. Of other modules the size is known; their conversions of numbers become 60.
const lightFactor = 32

func (c *Compiler) compileAnew(ctx context.Context, wasm []byte, take func(bytes int64) error) (*Code, error) {
	if c.isLight(wasm) {
		if err := take(lightFactor * int64(len(wasm))); err != nil {
			return nil, err
		}
		return compileHere(ctx, wasm, c.limits, "")
	}
	if c.cache == nil || !canStartChild.Load() || !c.cache.keepsCode(ctx) {
		return nil, fmt.Errorf("%w: this server cannot compile it in a process of its own, and then takes small modules only", plugin.ErrLimit)
	}
	dir, done, err := c.cache.newFolder()
	if err != nil {
		c.log.Warn("a client's module could not be compiled", "error", err)
		return nil, plugin.ErrBusy
	}
	defer done()
	switch filled, err := c.compileInChild(ctx, wasm, dir); {
	case err != nil:
		return nil, err
	case !filled:
		return nil, plugin.ErrBusy
	}
	if err := take(sizeOf(dir)); err != nil {
		return nil, err
	}
	return openEntry(ctx, wasm, dir, c.limits)
}

// A child compiles a module of that many bytes, or of that much estimated work for all of its
// functions (see fuel.Limits). Others take 100 ms at most, and starting a child takes as long.
const (
	worthAChild = 64 << 10
	lightWork   = 1 << 20
)

// isLight reports whether compiling a module takes almost no time. Compiling finds whatever else is
// wrong with it.
func (c *Compiler) isLight(wasm []byte) bool {
	if len(wasm) >= worthAChild {
		return false
	}
	l := c.limits
	l.FunctionWork, l.Work = lightWork, lightWork
	_, err := fuel.Rewrite(wasm, l)
	return !errors.Is(err, fuel.ErrLimit)
}

// obtain opens a module's entry in the cache. An empty entry is filled, by a child unless the
// module is light; another host may have filled it in the meantime. If there is no cache or the
// code could not be kept, the module is compiled for this use only.
func (c *Compiler) obtain(ctx context.Context, wasm []byte, entry string, child filler) (*Code, error) {
	if entry == "" {
		return compileHere(ctx, wasm, c.limits, "")
	}
	code, err := openEntry(ctx, wasm, entry, c.limits)
	if err == nil {
		c.cache.markUsed(entry)
		return code, nil
	}
	if errors.Is(err, errDamaged) {
		c.log.Warn("compiled code of a plugin is damaged or was not finished; it is compiled anew", "folder", entry)
	}
	fill := c.fillHere
	if canStartChild.Load() && !c.isLight(wasm) {
		fill = child
	}
	if err := c.cache.replace(entry, func(dir string) (bool, error) { return fill(ctx, wasm, dir) }); err != nil {
		return nil, err
	}
	if code, err := openEntry(ctx, wasm, entry, c.limits); err == nil {
		return code, nil
	}
	return compileHere(ctx, wasm, c.limits, "")
}

// filler fills a folder with a compiled module. It returns false if it could not.
type filler func(ctx context.Context, wasm []byte, dir string) (bool, error)

// fillHere fills a folder in this process.
func (c *Compiler) fillHere(ctx context.Context, wasm []byte, dir string) (bool, error) {
	err := fillEntry(ctx, wasm, dir, c.limits)
	if errors.Is(err, errNotKept) && ctx.Err() == nil {
		c.log.Warn("compiled code of a plugin is not kept", "error", err)
		return false, nil
	}
	return err == nil, err
}

// compileHere meters and compiles a module in this process. wazero takes the code from the folder
// dir if it has it, or keeps it there; "" is no folder.
func compileHere(ctx context.Context, wasm []byte, limits fuel.Limits, dir string) (*Code, error) {
	m, err := fuel.Rewrite(wasm, limits)
	if err != nil {
		return nil, rewriteError(err)
	}
	code, err := newCode(ctx, m.Wasm, dir)
	if err != nil {
		return nil, compileError(err)
	}
	m.Wasm = nil // compiled now
	code.Metered = m
	return code, nil
}

// compileError wraps wazero's error in one of package plugin's. An error of keeping code is
// returned unchanged, since the module is not at fault.
func compileError(err error) error {
	if errors.Is(err, plugin.ErrUnsupported) || errors.Is(err, errNotKept) {
		return err
	}
	return fmt.Errorf("%w: %w", plugin.ErrNotWasm, err)
}

// Check refuses at once a module that is no plugin of this version.
func Check(wasm []byte, limits fuel.Limits) error {
	if err := checkHeader(wasm, limits.ModuleBytes); err != nil {
		return err
	}
	if versioned, err := fuel.Exports(wasm, abi.ExportABIV1, limits); err != nil {
		return rewriteError(err)
	} else if !versioned {
		return fmt.Errorf("%w: it does not export %s; a plugin in Rust needs #[penstock::export] before its impl, and others an SDK of this version", plugin.ErrVersion, abi.ExportABIV1)
	}
	return nil
}

// checkHeader checks the size and the first bytes.
func checkHeader(wasm []byte, limit int) error {
	header := []byte("\x00asm\x01\x00\x00\x00")
	switch {
	case len(wasm) > limit:
		return fmt.Errorf("%w: %d bytes, at most %d are allowed; strip debug information or optimise for size", plugin.ErrTooLarge, len(wasm), limit)
	case len(wasm) < 4 || !bytes.Equal(wasm[:4], header[:4]):
		return fmt.Errorf("%w: it does not begin with the bytes \\0asm; upload the .wasm file itself", plugin.ErrNotWasm)
	case len(wasm) < 8 || !bytes.Equal(wasm[4:8], header[4:]):
		return fmt.Errorf("%w: its format is not version 1; a component must be built as a core module instead", plugin.ErrNotWasm)
	}
	return nil
}

// rewriteError wraps an error of package fuel in one of package plugin's.
func rewriteError(err error) error {
	switch {
	case errors.Is(err, fuel.ErrLimit):
		return fmt.Errorf("%w: %w", plugin.ErrLimit, err)
	case errors.Is(err, fuel.ErrUnsupported):
		return fmt.Errorf("%w: %w", plugin.ErrUnsupported, err)
	}
	return fmt.Errorf("%w: %w", plugin.ErrNotWasm, err)
}
