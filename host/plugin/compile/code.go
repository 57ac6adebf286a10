// SPDX-License-Identifier: MIT

package compile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

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

// errNotKept is the error of code that wazero could not keep.
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
// processor can do. The error wraps errNotKept where there is no file.
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

// isDisk reports whether an error is of a file: it is not the module's.
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
