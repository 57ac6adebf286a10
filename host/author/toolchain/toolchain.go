// SPDX-License-Identifier: MIT

// Package toolchain builds plugins: it finds the compiler of a project's language, or says what to
// install.
package toolchain

import (
	"context"
	"errors"
	"fmt"
	goversion "go/version"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
		return slices.Contains(rustFlags, name)
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

// findPrograms returns the absolute paths of the programs that exist, each once. A name without a
// folder is looked up on PATH.
func findPrograms(programs ...string) []string {
	var found []string
	for _, program := range programs {
		if program == "" {
			continue
		}
		if path, err := exec.LookPath(program); err == nil && !slices.Contains(found, absolutePath(path)) {
			found = append(found, absolutePath(path))
		}
	}
	return found
}

// besideProgram is the path of a file of the checkout in whose bin folder this program lies.
func besideProgram(file string) string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	if followed, err := filepath.EvalSymlinks(self); err == nil {
		self = followed
	}
	return filepath.Join(filepath.Dir(self), "..", filepath.FromSlash(file))
}

// absolutePath makes a path valid in any folder: compilers run in the project's.
func absolutePath(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// askVersion asks a program for its version, which is the first group of pattern.
func askVersion(ctx context.Context, program string, pattern *regexp.Regexp, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = os.TempDir() // in a module, go would look for the version that go.mod names
	said, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %.200s", err, said)
	}
	found := pattern.FindSubmatch(said)
	if found == nil {
		return "", fmt.Errorf("it says %.200q", said)
	}
	return string(found[1]), nil
}

// isAtLeast compares versions such as 1.24 and 1.24.3.
func isAtLeast(found, least string) bool { return goversion.Compare("go"+found, "go"+least) >= 0 }

// describeUnusable says why a program that is there cannot be used.
func describeUnusable(program, found, least string, err error) string {
	if err != nil {
		return fmt.Sprintf("%s does not say its version (%v)", program, err)
	}
	return fmt.Sprintf("%s is version %s, and %s is needed", program, found, least)
}

// missingError says that no usable compiler was found.
func missingError(what string, reasons []string, install string) error {
	found := "none was found"
	if len(reasons) > 0 {
		found = strings.Join(reasons, "; ")
	}
	return fmt.Errorf("%s is %w: %s\n%s", what, ErrMissing, found, install)
}
