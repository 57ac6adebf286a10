// SPDX-License-Identifier: MIT

package plugin

import (
	"context"
	"errors"
	"fmt"
	"runtime"

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

// newEngine compiles a module. dir is where its code is kept, empty for nowhere. Compiling is given up between two
// functions when ctx is done; that a single function cannot take long is the rewriter's doing.
func newEngine(ctx context.Context, wasm []byte, dir string, pages uint32) (_ *engine, err error) {
	config := wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2).WithMemoryLimitPages(pages).WithDebugInfoEnabled(false)
	e := &engine{}
	if dir != "" {
		if e.cache, err = wazero.NewCompilationCacheWithDir(dir); err != nil {
			return nil, fmt.Errorf("failed to open the cache of compiled plugins: %w", err)
		}
		config = config.WithCompilationCache(e.cache)
	}
	e.wazero = wazero.NewRuntimeWithConfig(ctx, config)
	defer func() {
		if p := recover(); p != nil { // a defect of the compiler that a module can reach must not end the host
			err = fmt.Errorf("%w: the compiler gave up: %v", ErrUnsupported, p)
		}
		if err != nil {
			_ = e.close() // the first error is the one to tell
		}
	}()
	// Only with more than one worker does wazero look at the context.
	e.compiled, err = e.wazero.CompileModule(experimental.WithCompilationWorkers(ctx, max(2, runtime.GOMAXPROCS(0)/2)), wasm)
	return e, err
}

// close frees the code. No instance may be in use.
func (e *engine) close() error {
	err := e.wazero.Close(context.Background())
	if e.cache != nil {
		err = errors.Join(err, e.cache.Close(context.Background()))
	}
	return err
}
