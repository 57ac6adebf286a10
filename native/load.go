// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
// extern _Bool penstockProgress(float progress, uintptr_t user);
import "C"

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/cgo"
	"unsafe"
)

// LoadModel loads a GGUF file. It stops soon after ctx is done. If the file is at fault the error
// is ErrNotFound, ErrNotGGUF, ErrUnsupported, ErrTooLarge or ErrBadModel and carries the reason;
// if the options are, ErrInvalid.
//
// llama.cpp aborts the process on some damaged files: check an unknown file first, as package
// host/model does.
func LoadModel(ctx context.Context, path string, o ModelOptions) (*Model, error) {
	return openModel(ctx, path, o, false)
}

func openModel(ctx context.Context, path string, o ModelOptions, dry bool) (*Model, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("load %s: %w: %w", path, ErrCancelled, context.Cause(ctx))
	}
	if err := checkFile(path); err != nil {
		return nil, err
	}
	c, err := loadModel(ctx, path, o, dry)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", path, err)
	}
	m := &Model{}
	m.own(unsafe.Pointer(c), nil, func() { C.ps_model_free(c) })
	if err := m.describe(!dry); err != nil {
		_ = m.Close()
		return nil, fmt.Errorf("load %s: %w", path, err)
	}
	return m, nil
}

func checkFile(path string) error {
	info, err := os.Stat(path) // before Open, which waits on a pipe
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: %s", ErrNotFound, path)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadModel, err)
	}
	if info.IsDir() {
		return fmt.Errorf("%w: %s is a folder; name the .gguf file in it", ErrNotGGUF, path)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is no regular file", ErrNotGGUF, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadModel, err)
	}
	defer func() { _ = f.Close() }()
	var magic [4]byte
	if _, err := io.ReadFull(f, magic[:]); err != nil || string(magic[:]) != "GGUF" {
		return fmt.Errorf("%w: %s (%d bytes) does not begin with GGUF", ErrNotGGUF, path, info.Size())
	}
	return nil
}

// progress is what the callback of a load needs.
type progress struct {
	ctx    context.Context
	report func(float32)
}

//export penstockProgress
func penstockProgress(done C.float, user C.uintptr_t) C._Bool {
	p := cgo.Handle(user).Value().(progress)
	if p.report != nil {
		p.report(float32(done))
	}
	return p.ctx.Err() == nil
}

func loadModel(ctx context.Context, path string, o ModelOptions, dry bool) (*C.ps_model, error) {
	cpath := C.CString(path)
	defer freeString(cpath)
	user := cgo.NewHandle(progress{ctx: ctx, report: o.Progress})
	defer user.Delete()

	var pin runtime.Pinner
	defer pin.Unpin()
	params, err := o.params(&pin)
	if err != nil {
		return nil, err
	}
	params.no_alloc = C._Bool(dry)
	var e C.ps_error
	var out *C.ps_model
	code := C.ps_model_load(cpath, &params, C.ps_progress_fn(C.penstockProgress), C.uintptr_t(user), &out, &e)
	err = failure(code, &e)
	switch {
	case errors.Is(err, ErrCancelled):
		return nil, fmt.Errorf("%w: %w", err, context.Cause(ctx))
	case errors.Is(err, ErrNoMemory):
		return nil, fmt.Errorf("%w: %w", ErrTooLarge, err)
	case errors.Is(err, ErrFailed):
		return nil, fmt.Errorf("%w: %w", ErrBadModel, err)
	case err != nil:
		return nil, err
	}
	return out, nil
}
