// SPDX-License-Identifier: MIT

//go:build unix

package plugin

import (
	"context"
	"errors"
	"testing"
	"time"
)

// precompiled lets a child compile a module into the cache, and returns how many files are there then.
func precompiled(ctx context.Context, t *testing.T, r *Runtime, wasm []byte) (int, error) {
	t.Helper()
	entry := r.cache.entry(wasm)
	err := r.precompile(ctx, wasm, entry)
	return len(cached(t, entry)), err
}

func TestPrecompile_ChildFillsTheCache(t *testing.T) {
	r := newTestRuntime(t, func(o *Options) { o.CacheDir = t.TempDir() })
	if n, err := precompiled(t.Context(), t, r, answering().Wasm()); err != nil || n != 1 {
		t.Fatalf("%d files, %v", n, err)
	}
	compilesInChild.Store(false) // as in a program whose main does not begin with CompileMain
	defer compilesInChild.Store(true)
	if n, err := precompiled(t.Context(), t, r, newGuest(`{"name":"other"}`).Wasm()); err != nil || n != 0 {
		t.Errorf("without a child: %d files, %v", n, err)
	}
}

// What is wrong with a module is found out by whoever loads it.
func TestPrecompile_ChildRefuses_IsNoError(t *testing.T) {
	r := newTestRuntime(t, func(o *Options) { o.CacheDir = t.TempDir() })
	wasm := newGuest(`{"name":"guest"}`).On("penstock_open", []byte{0x7c}).Wasm() // adds, but there is nothing on the stack
	if n, err := precompiled(t.Context(), t, r, wasm); err != nil || n != 0 {
		t.Errorf("%d files, %v", n, err)
	}
	if _, err := r.Load(t.Context(), wasm); !errors.Is(err, ErrNotWasm) {
		t.Errorf("got %v", err)
	}
}

// A child that takes too long is killed, and its work is not done again here.
func TestPrecompile_Late_ChildIsKilled(t *testing.T) {
	r := newTestRuntime(t, func(o *Options) { o.CacheDir = t.TempDir() })
	wasm := straight(16, 80_000, 0x42, 1, 0x42, 2, 0x7f, 0x1a).wasm() // two seconds
	if _, err := r.load(t.Context(), wasm, 300*time.Millisecond); !errors.Is(err, ErrLimit) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if n, err := precompiled(ctx, t, r, wasm); !errors.Is(err, context.Canceled) || n != 0 {
		t.Errorf("%d files, %v", n, err)
	}
}
