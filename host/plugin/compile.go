// SPDX-License-Identifier: MIT

package plugin

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/penstock/penstock/host/plugin/fuel"
)

// compile meters and compiles a module within a time, or takes from the cache what came of that before. The metered module may
// lack its bytes, of which the engine has made code. sum is the module's SHA-256.
func (r *Runtime) compile(caller context.Context, wasm []byte, sum [sha256.Size]byte, limit time.Duration) (*fuel.Module, *engine, error) {
	ctx, cancel := context.WithTimeout(caller, limit)
	defer cancel()
	entry := r.cache.entry(entryName(sum, maker(), r.limits.Module))
	m, e, err := r.obtain(ctx, wasm, entry, r.compileInChild)
	if err != nil {
		r.cache.removeEmpty(entry)
	}
	switch {
	case err == nil:
		r.cache.keep(entry)
	case caller.Err() != nil:
		err = caller.Err()
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("%w: compiling takes longer than %v; make the module smaller", ErrLimit, limit)
	}
	return m, e, err
}

// worthAChild is how large a module is, in bytes, that is left to a child: a smaller one takes milliseconds, and a child takes
// longer to start.
const worthAChild = 64 << 10

// obtain opens a module's entry in the cache, which a child fills where it must, or another host in the meantime. Where there
// is no entry, no child or no code to keep, and for a small module, all is done here.
func (r *Runtime) obtain(ctx context.Context, wasm []byte, entry string, child filler) (*fuel.Module, *engine, error) {
	pages := r.limits.Module.MemoryPages
	if entry == "" || len(wasm) < worthAChild || !r.cache.keepsCode(ctx) {
		return r.compileAndSeal(ctx, wasm, entry)
	}
	if m, e, err := openEntry(ctx, entry, pages); err == nil {
		return m, e, nil
	}
	if err := r.cache.replace(entry, func(dir string) (bool, error) { return child(ctx, wasm, dir) }); err != nil {
		return nil, nil, err
	}
	if m, e, err := openEntry(ctx, entry, pages); err == nil {
		return m, e, nil
	}
	return r.compileAndSeal(ctx, wasm, entry)
}

// filler fills a folder with what comes of a module; false where it could not.
type filler func(ctx context.Context, wasm []byte, dir string) (bool, error)

// compileAndSeal is compileHere, of which the entry gets the checksums. What a child made has its own: what else may lie beside
// it is not this process's.
func (r *Runtime) compileAndSeal(ctx context.Context, wasm []byte, entry string) (*fuel.Module, *engine, error) {
	m, e, err := compileHere(ctx, wasm, entry, r.limits.Module)
	if err == nil && entry != "" {
		if err := seal(entry); err != nil {
			r.log.Warn("compiled code of a plugin is not kept", "error", err)
		}
	}
	return m, e, err
}

// compileHere meters and compiles a module in this process. dir is where its code is kept, empty for nowhere; where it cannot be
// kept the module is compiled all the same.
func compileHere(ctx context.Context, wasm []byte, dir string, limits fuel.Limits) (*fuel.Module, *engine, error) {
	m, err := fuel.Rewrite(wasm, limits)
	if err != nil {
		return nil, nil, translate(err)
	}
	e, err := newEngine(ctx, newConfig(), m.Wasm, dir, limits.MemoryPages)
	if err != nil && !errors.Is(err, ErrUnsupported) && dir != "" && ctx.Err() == nil { // it may be the cache's fault: a full disk, say
		e, err = newEngine(ctx, newConfig(), m.Wasm, "", limits.MemoryPages)
	}
	if err != nil {
		return nil, nil, refusal(err)
	}
	return m, e, nil
}

// refusal says in this package's terms why a module was not compiled. That code was not kept is none of the module's fault.
func refusal(err error) error {
	if errors.Is(err, ErrUnsupported) || errors.Is(err, errNotKept) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrNotWasm, err)
}

// translate says in this package's terms what the rewriter refused.
func translate(err error) error {
	switch {
	case errors.Is(err, fuel.ErrLimit):
		return fmt.Errorf("%w: %w", ErrLimit, err)
	case errors.Is(err, fuel.ErrUnsupported):
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return fmt.Errorf("%w: %w", ErrNotWasm, err)
}
