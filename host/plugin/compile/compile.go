// SPDX-License-Identifier: MIT

package compile

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/fuel"
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

// With is the compiler for modules that may take up other limits. It shares the cache, in which
// code lies by limits.
func (c *Compiler) With(limits fuel.Limits) *Compiler {
	other := *c
	other.limits = limits
	return &other
}

// patience is how many times the processor time that compiling may take it may last. It is the
// last resort on a machine that does something else.
const patience = 20

// Compile meters and compiles a module, or takes from the cache what came of that before. sum is
// the module's SHA-256. The error wraps plugin.ErrNotWasm, ErrUnsupported or ErrLimit, or is the
// context's.
func (c *Compiler) Compile(caller context.Context, wasm []byte, sum [sha256.Size]byte) (*Code, error) {
	ctx, cancel := context.WithTimeout(caller, patience*c.bounds.Time)
	defer cancel()
	entry := ""
	if c.cache != nil && c.cache.keepsCode(ctx) {
		entry = c.cache.entry(entryName(sum, c.cache.maker, c.limits))
	}
	code, err := c.obtain(ctx, wasm, entry, c.compileInChild)
	return code, c.ended(caller, err)
}

// ended is why compiling ended, which took longer than it may if the caller's context goes on.
func (c *Compiler) ended(caller context.Context, err error) error {
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
// and no client's code takes the room of the operator's. What is not light is compiled by a child
// or not at all. take is told how many bytes the code has before it comes into memory, and may
// refuse that. The error is also take's, or wraps plugin.ErrBusy.
func (c *Compiler) CompileAnew(caller context.Context, wasm []byte, take func(bytes int64) error) (*Code, error) {
	ctx, cancel := context.WithTimeout(caller, patience*c.bounds.Time)
	defer cancel()
	code, err := c.compileAnew(ctx, wasm, take)
	return code, c.ended(caller, err)
}

// lightFactor is how many bytes of code a byte of a light module becomes at most: divisions become
// 27. Of others the size is known; conversions of numbers become 60.
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

// isLight reports whether a module is compiled in no time. Whatever else is wrong with it,
// compiling finds.
func (c *Compiler) isLight(wasm []byte) bool {
	if len(wasm) >= worthAChild {
		return false
	}
	l := c.limits
	l.FunctionWork, l.Work = lightWork, lightWork
	_, err := fuel.Rewrite(wasm, l)
	return !errors.Is(err, fuel.ErrLimit)
}

// obtain opens a module's entry in the cache. If there is nothing in it, it is filled, by a child
// unless the module is light; another host may have done so in the meantime. Where there is no
// cache or no code could be kept, the module is compiled for this once.
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

// filler fills a folder with what comes of a module; false where it could not.
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

// compileError wraps wazero's error in one of package plugin's. An error of keeping code stays as
// it is: it is not the module's.
func compileError(err error) error {
	if errors.Is(err, plugin.ErrUnsupported) || errors.Is(err, errNotKept) {
		return err
	}
	return fmt.Errorf("%w: %w", plugin.ErrNotWasm, err)
}
