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

// compile meters and compiles a module within a time, or takes from the cache what came of that before. The metered module
// lacks its code then, which is the engine's. sum is the module's SHA-256.
func (r *Runtime) compile(caller context.Context, wasm []byte, sum [sha256.Size]byte, limit time.Duration) (*fuel.Module, *engine, error) {
	ctx, cancel := context.WithTimeout(caller, limit)
	defer cancel()
	entry := r.cache.entry(entryName(sum, fuel.Version(), r.limits.Module))
	m, e, err := r.obtain(ctx, wasm, entry)
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

// obtain opens a module's entry in the cache, which a child fills where it must. Where there is no entry or no child, and for a
// small module, all is done here.
func (r *Runtime) obtain(ctx context.Context, wasm []byte, entry string) (*fuel.Module, *engine, error) {
	limits := r.limits.Module
	if entry == "" || len(wasm) < worthAChild {
		return compileHere(ctx, wasm, entry, limits)
	}
	if m, e, err := openEntry(ctx, entry, limits.MemoryPages); err == nil {
		return m, e, nil
	}
	made, err := r.cache.replace(entry, func(dir string) (bool, error) { return compileInChild(ctx, wasm, dir, limits) })
	if err != nil {
		return nil, nil, err
	}
	if made {
		if m, e, err := openEntry(ctx, entry, limits.MemoryPages); err == nil {
			return m, e, nil
		}
	}
	return compileHere(ctx, wasm, entry, limits)
}

// compileHere meters and compiles a module in this process. dir is where its code is kept, empty for nowhere.
func compileHere(ctx context.Context, wasm []byte, dir string, limits fuel.Limits) (*fuel.Module, *engine, error) {
	m, err := fuel.Rewrite(wasm, limits)
	if err != nil {
		return nil, nil, translate(err)
	}
	e, err := newEngine(ctx, m.Wasm, dir, limits.MemoryPages)
	if err != nil && !errors.Is(err, ErrUnsupported) && dir != "" && ctx.Err() == nil { // it may be the cache's fault: a full disk, say
		e, err = newEngine(ctx, m.Wasm, "", limits.MemoryPages)
	}
	switch {
	case errors.Is(err, ErrUnsupported):
		return nil, nil, err
	case err != nil:
		return nil, nil, fmt.Errorf("%w: %w", ErrNotWasm, err)
	}
	return m, e, nil
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
