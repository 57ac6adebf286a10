// SPDX-License-Identifier: MIT

// Package toolchain builds plugins: it finds the compiler of a project's language, or says what to
// install.
package toolchain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/penstock/penstock/host/author/project"
)

// Options say how to build.
type Options struct {
	Debug  bool      // keep the names of functions and the numbers of lines, for messages of faults
	Output io.Writer // what the compiler says
}

// ErrMissing means that a compiler is not there, or none that can be used. The message says which,
// where it was looked for, and how to get it.
var ErrMissing = errors.New("missing")

// ErrFailed means that a compiler found something wrong. It has said so on Options.Output.
var ErrFailed = errors.New("the plugin does not compile; what is wrong is said above")

// Toolchain is a compiler that was found.
type Toolchain struct{ compiler compiler } // nil: the language needs none

// compiler compiles a project into a file.
type compiler interface {
	compile(ctx context.Context, p project.Project, file string, o Options) error
}

// Find finds the compiler of a language. The error wraps ErrMissing.
func Find(ctx context.Context, l project.Language) (Toolchain, error) {
	var c compiler
	var err error
	switch l {
	case project.JavaScript:
	case project.Rust:
		c, err = findCargo(ctx)
	case project.TinyGo:
		c, err = findTinyGo(ctx)
	default:
		c, err = findGo(ctx)
	}
	return Toolchain{c}, err
}

// Build compiles a project into its module file, which has the old contents or the new ones at any
// time. The error wraps ErrFailed or the context's.
func (t Toolchain) Build(ctx context.Context, p project.Project, o Options) error {
	if t.compiler == nil {
		return nil
	}
	file := filepath.Join(p.Dir, "."+p.Name+".wasm.new")
	defer func() { _ = os.Remove(file) }() // it is gone after success
	if err := t.compiler.compile(ctx, p, file, o); err != nil {
		return err
	}
	return os.Rename(file, p.Module())
}

// run runs a compiler in the project's folder. environ is added to this process's.
func run(ctx context.Context, p project.Project, o Options, environ []string, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = p.Dir, append(os.Environ(), environ...)
	cmd.Env = slices.DeleteFunc(cmd.Env, func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(flags, name)
	})
	cmd.Stdout, cmd.Stderr = o.Output, o.Output
	cmd.WaitDelay = time.Second // a compiler that is ended may leave children that hold its output open
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &exit):
		return ErrFailed
	case err != nil:
		return fmt.Errorf("failed to run %s: %w", program, err)
	}
	return nil
}
