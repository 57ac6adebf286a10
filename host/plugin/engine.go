// SPDX-License-Identifier: MIT

package plugin

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"syscall"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// engine is wazero for one module. Each module has one of its own, which costs a millisecond: what wazero keeps of a
// module, the code and the numbers of its types, is then gone with the module.
type engine struct {
	wazero   wazero.Runtime
	cache    wazero.CompilationCache // nil: none
	compiled wazero.CompiledModule
}

// newConfig lets wazero compile where it can, and interpret elsewhere: on processors it has no compiler for, and where memory
// cannot be made executable. A test may want it otherwise.
var newConfig = wazero.NewRuntimeConfig

// errNotKept is the error of code that wazero could not keep.
var errNotKept = errors.New("no code was kept")

// newEngine compiles a module. dir is where its code is kept, empty for nowhere; the error wraps errNotKept where it is that
// folder's or its disk's fault. Compiling is given up between two functions when ctx is done; that a single function cannot
// take long is the rewriter's doing.
func newEngine(ctx context.Context, config wazero.RuntimeConfig, wasm []byte, dir string, pages uint32) (_ *engine, err error) {
	config = config.WithCoreFeatures(api.CoreFeaturesV2).WithMemoryLimitPages(pages).WithDebugInfoEnabled(false)
	e := &engine{}
	if dir != "" {
		if e.cache, err = wazero.NewCompilationCacheWithDir(dir); err != nil {
			return nil, fmt.Errorf("%w: failed to open the cache of compiled plugins: %w", errNotKept, err)
		}
		config = config.WithCompilationCache(e.cache)
	}
	defer func() {
		if p := recover(); p != nil { // a defect of the compiler that a module can reach must not end the host
			err = fmt.Errorf("%w: the compiler gave up: %v", ErrUnsupported, p)
		}
		if err != nil {
			_ = e.close() // the first error is the one to tell
		}
	}()
	e.wazero = wazero.NewRuntimeWithConfig(ctx, config)
	// Only with more than one worker does wazero look at the context.
	e.compiled, err = e.wazero.CompileModule(experimental.WithCompilationWorkers(ctx, max(2, runtime.GOMAXPROCS(0)/2)), wasm)
	if system := syscall.Errno(0); dir != "" && errors.As(err, &system) { // nothing else of compiling asks the system
		err = fmt.Errorf("%w: %w", errNotKept, err)
	}
	return e, err
}

// close frees the code. No instance may be in use.
func (e *engine) close() (err error) {
	if e.wazero != nil {
		err = e.wazero.Close(context.Background())
	}
	if e.cache != nil {
		err = errors.Join(err, e.cache.Close(context.Background()))
	}
	return err
}
