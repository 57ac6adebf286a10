// SPDX-License-Identifier: MIT

package compile

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/fuel"
)

// Compiler meters and compiles modules. Compile is not for concurrent use: compiling takes memory in proportion to the module, so
// it is done for one module at a time.
type Compiler struct {
	cache  *cache // nil: none
	limits fuel.Limits
	log    *slog.Logger
	spare  spare
}

// New makes a compiler that keeps code in a folder between runs, or nowhere where dir is empty. It logs why it does not use a
// folder that it cannot trust.
func New(dir string, limits fuel.Limits, log *slog.Logger) *Compiler {
	c := &Compiler{limits: limits, log: log}
	if dir == "" {
		return c
	}
	var err error
	if c.cache, err = openCache(dir, cacheBytes, log); err != nil {
		log.Warn("plugins are compiled anew at each start", "because", err)
	}
	return c
}

// Close ends the process that waits for the next module. What is compiled afterwards leaves none behind. It may be called again.
func (c *Compiler) Close() { c.spare.close() }

// Compile meters and compiles a module within a time, or takes from the cache what came of that before. sum is the module's
// SHA-256. The error wraps plugin.ErrNotWasm, ErrUnsupported or ErrLimit, or is the context's.
func (c *Compiler) Compile(caller context.Context, wasm []byte, sum [sha256.Size]byte, limit time.Duration) (*Code, error) {
	ctx, cancel := context.WithTimeout(caller, limit)
	defer cancel()
	entry := c.cache.entry(entryName(sum, version(), c.limits))
	code, err := c.obtain(ctx, wasm, entry, c.compileInChild)
	switch {
	case err == nil:
		c.cache.markUsed(entry)
	case caller.Err() != nil:
		err = caller.Err()
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("%w: compiling takes longer than %v; make the module smaller", plugin.ErrLimit, limit)
	}
	return code, err
}

// worthAChild is the size in bytes from which on a child compiles a module. Smaller ones compile in milliseconds, and starting a
// child takes longer.
const worthAChild = 64 << 10

// obtain opens a module's entry in the cache. If there is nothing in it, it is filled, for a large module by a child; another host
// may have done so in the meantime. Where there is no cache or no code could be kept, the module is compiled for this once.
func (c *Compiler) obtain(ctx context.Context, wasm []byte, entry string, child filler) (*Code, error) {
	if entry == "" || !c.cache.keepsCode(ctx) {
		return compileHere(ctx, wasm, c.limits)
	}
	code, err := openEntry(ctx, entry, c.limits.MemoryPages)
	if err == nil {
		return code, nil
	}
	if errors.Is(err, errDamaged) {
		c.log.Warn("compiled code of a plugin is damaged or was not finished; it is compiled anew", "file", filepath.Join(entry, codeFile))
	}
	fill := c.fillHere
	if len(wasm) >= worthAChild && canStartChild.Load() {
		fill = child
	}
	if err := c.cache.replace(entry, func(dir string) (bool, error) { return fill(ctx, wasm, dir) }); err != nil {
		return nil, err
	}
	if code, err := openEntry(ctx, entry, c.limits.MemoryPages); err == nil {
		return code, nil
	}
	return compileHere(ctx, wasm, c.limits)
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

// compileHere meters and compiles a module in this process, and keeps nothing of it.
func compileHere(ctx context.Context, wasm []byte, limits fuel.Limits) (*Code, error) {
	m, err := fuel.Rewrite(wasm, limits)
	if err != nil {
		return nil, rewriteError(err)
	}
	code, err := newCode(ctx, newConfig(), m.Wasm, nil, limits.MemoryPages)
	if err != nil {
		return nil, compileError(err)
	}
	m.Wasm = nil // compiled now
	code.Metered = m
	return code, nil
}

// compileError wraps wazero's error in one of package plugin's. An error of keeping code stays as it is: it is not the module's.
func compileError(err error) error {
	if errors.Is(err, plugin.ErrUnsupported) || errors.Is(err, errNotKept) {
		return err
	}
	return fmt.Errorf("%w: %w", plugin.ErrNotWasm, err)
}
