// SPDX-License-Identifier: MIT

// Package toolchain builds plugins: it finds the compiler of a project's language, or says what to
// install.
package toolchain

import (
	"bytes"
	"context"
	"encoding/json"
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

// minGo is the Go that the SDK needs.
const minGo = "1.24"

// golang is Go's own compiler.
type golang struct {
	program string
	environ []string // of builds
}

var goVersion = regexp.MustCompile(`go version go(\d+\.\d+(?:\.\d+)?)`)

func findGo(ctx context.Context) (compiler, error) {
	program, err := goProgram(ctx)
	if err != nil {
		return nil, err
	}
	environ, err := isolateBuild(ctx, program)
	return golang{program, append(environ, "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")}, err
}

// goProgram finds a go of a sufficient version.
func goProgram(ctx context.Context) (string, error) {
	var reasons []string
	for _, program := range findPrograms("go", "/usr/local/go/bin/go") {
		found, err := askVersion(ctx, program, goVersion, "version")
		if err == nil && isAtLeast(found, minGo) {
			return program, nil
		}
		reasons = append(reasons, describeUnusable(program, found, minGo, err))
	}
	return "", missingError("Go "+minGo+" or newer", reasons, installGo())
}

// isolateBuild gives the variables that keep what lies around the project out of its build: a
// go.work in the folders above, and the state of a repository. That would change the module with
// each commit, and a repository that git refuses to read would fail the build.
func isolateBuild(ctx context.Context, goProgram string) ([]string, error) {
	flags, err := exec.CommandContext(ctx, goProgram, "env", "GOFLAGS").Output()
	if err != nil {
		return nil, fmt.Errorf("%s env GOFLAGS: %w", goProgram, err)
	}
	return []string{"GOWORK=off", "GOFLAGS=" + strings.TrimSpace(string(flags)) + " -buildvcs=false"}, nil
}

func (g golang) compile(ctx context.Context, p project.Project, file string, o Options) error {
	args := []string{"build", "-trimpath", "-buildmode=c-shared", "-o", absolutePath(file)}
	if !o.Debug {
		args = append(args, "-ldflags=-s -w")
	}
	return run(ctx, p, o, g.environ, g.program, append(args, ".")...)
}

// minTinyGo is the first version with go:wasmexport for modules without WASI, which the SDK needs.
const minTinyGo = "0.36"

// tinyGo is TinyGo, and the Go that it needs.
type tinyGo struct {
	program      string
	environ      []string // of builds
	hasLibraries bool     // the C libraries that the SDK's targets name are files of it
}

var tinyGoVersion = regexp.MustCompile(`tinygo version (\d+\.\d+(?:\.\d+)?)`)

func findTinyGo(ctx context.Context) (compiler, error) {
	goProgram, err := goProgram(ctx)
	if err != nil {
		return nil, fmt.Errorf("TinyGo needs Go: %w", err)
	}
	var reasons []string
	for _, program := range findPrograms(os.Getenv("TINYGO"), "tinygo", besideProgram("build/tools/tinygo/bin/tinygo")) {
		found, err := askVersion(ctx, program, tinyGoVersion, "version")
		if err != nil || !isAtLeast(found, minTinyGo) {
			reasons = append(reasons, describeUnusable(program, found, minTinyGo, err))
			continue
		}
		if len(findPrograms(os.Getenv("WASMOPT"), "wasm-opt")) == 0 {
			return nil, missingError("wasm-opt, which TinyGo needs,", nil, installBinaryen())
		}
		root, err := exec.CommandContext(ctx, program, "env", "TINYGOROOT").Output()
		if err != nil {
			return nil, fmt.Errorf("%s env TINYGOROOT: %w", program, err)
		}
		environ, err := isolateBuild(ctx, goProgram)
		if err != nil {
			return nil, err
		}
		environ = append(environ, "PATH="+filepath.Dir(goProgram)+string(os.PathListSeparator)+os.Getenv("PATH"))
		_, err = os.Stat(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm32", "libc.a"))
		return tinyGo{program, environ, err == nil}, nil
	}
	return nil, missingError("TinyGo "+minTinyGo+" or newer", reasons, installTinyGo())
}

func (t tinyGo) compile(ctx context.Context, p project.Project, file string, o Options) error {
	target, remove, err := t.target(p.Target(o.Debug))
	if err != nil {
		return err
	}
	defer remove()
	build := func(o Options, more ...string) error {
		args := append([]string{"build", "-target=" + target, "-opt=2", "-o", absolutePath(file)}, more...)
		return run(ctx, p, o, t.environ, t.program, append(args, ".")...)
	}
	if o.Debug {
		return build(o, "-panic=print")
	}
	release := []string{"-panic=trap", "-no-debug"}
	var said bytes.Buffer
	err = build(Options{Output: &said}, append(release, withoutDWARF)...)
	if errors.Is(err, ErrFailed) && !sourceLine.Match(said.Bytes()) {
		return build(o, release...)
	}
	if _, failed := o.Output.Write(said.Bytes()); failed != nil {
		return failed
	}
	return err
}

// withoutDWARF has TinyGo make no debug information. -no-debug alone has it make that, optimize
// with it, which takes a third of the build, and drop it at the end; the code is the same. TinyGo
// calls the flag internal, and may lose it.
const withoutDWARF = "-internal-nodwarf"

// sourceLine is a line of the sources in an error. The steps that come after type checking know it
// from debug information only.
var sourceLine = regexp.MustCompile(`\.go:\d+`)

// target is a target of the project as this TinyGo takes it. Penstock's own TinyGo has two C
// libraries as files, which the target names; others compile these from sources of their own.
func (t tinyGo) target(given string) (file string, remove func(), _ error) {
	if t.hasLibraries {
		return absolutePath(given), func() {}, nil
	}
	text, err := os.ReadFile(given)
	if err != nil {
		return "", nil, err
	}
	if text, err = withOwnLibraries(text); err != nil {
		return "", nil, fmt.Errorf("%s: %w", given, err)
	}
	f, err := os.CreateTemp("", "penstock-target-*.json")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.Remove(f.Name()) }
	if _, err := f.Write(text); err != nil {
		remove()
		return "", nil, err
	}
	return f.Name(), remove, f.Close()
}

// withOwnLibraries has a target link the C libraries that TinyGo compiles itself.
func withOwnLibraries(target []byte) ([]byte, error) {
	var all map[string]any
	if err := json.Unmarshal(target, &all); err != nil {
		return nil, err
	}
	flags, _ := all["ldflags"].([]any)
	all["ldflags"] = slices.DeleteFunc(flags, func(flag any) bool {
		text, ok := flag.(string)
		return ok && strings.HasPrefix(text, "{root}/")
	})
	all["rtlib"], all["libc"] = "compiler-rt", "wasmbuiltins"
	return json.MarshalIndent(all, "", "\t")
}

// minRust is the Rust that the SDK needs: Debian 12 has it.
const minRust = "1.63"

const wasmTarget = "wasm32-unknown-unknown"

// cargo is a cargo with its compiler.
type cargo struct{ program, rustc string }

var rustVersion = regexp.MustCompile(`rustc (\d+\.\d+(?:\.\d+)?)`)

// findCargo takes the first cargo that has the target for WebAssembly: the one on PATH, rustup's,
// then the distribution's.
func findCargo(ctx context.Context) (compiler, error) {
	var reasons []string
	home, _ := os.UserHomeDir() // without one there is no rustup
	for _, program := range findPrograms("cargo", filepath.Join(home, ".cargo", "bin", "cargo"), "/usr/bin/cargo") {
		c := cargo{program, filepath.Join(filepath.Dir(program), "rustc"+filepath.Ext(program))}
		found, err := askVersion(ctx, c.rustc, rustVersion, "--version")
		switch {
		case err != nil || !isAtLeast(found, minRust):
			reasons = append(reasons, describeUnusable(c.rustc, found, minRust, err))
		case !c.hasTarget(ctx):
			reasons = append(reasons, c.rustc+" lacks the target "+wasmTarget)
		default:
			return c, nil
		}
	}
	return nil, missingError("Rust "+minRust+" or newer with the target "+wasmTarget, reasons, installRust())
}

func (c cargo) hasTarget(ctx context.Context) bool {
	said, err := exec.CommandContext(ctx, c.rustc, "--print", "target-libdir", "--target", wasmTarget).Output()
	if err != nil {
		return false
	}
	std, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(said)), "libstd-*.rlib"))
	return err == nil && len(std) > 0
}

// rustFlags are the variables with flags for rustc. Cargo takes them in place of those in the
// project's .cargo/config.toml, without which a stack that overflows writes over data.
var rustFlags = []string{"RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"}

// compile compiles with the flags of the project.
func (c cargo) compile(ctx context.Context, p project.Project, file string, o Options) error {
	environ := []string{"RUSTC=" + c.rustc}
	if o.Debug {
		environ = append(environ, "CARGO_PROFILE_RELEASE_DEBUG=1", "CARGO_PROFILE_RELEASE_STRIP=none")
	}
	folder := filepath.Join(p.Dir, "target")
	err := run(ctx, p, o, environ, c.program, "build", "--quiet", "--release", "--offline", "--target", wasmTarget, "--target-dir", absolutePath(folder))
	if err != nil {
		return err
	}
	module, err := os.ReadFile(filepath.Join(folder, wasmTarget, "release", strings.ReplaceAll(p.Name, "-", "_")+".wasm"))
	if err != nil {
		return err
	}
	return os.WriteFile(file, module, 0o644)
}

// isInstalled reports whether a program is on PATH.
func isInstalled(program string) bool { return len(findPrograms(program)) > 0 }

func installGo() string {
	if isInstalled("brew") {
		return "Install it with: brew install go"
	}
	return "Install it from https://go.dev/dl/ and put its bin folder on PATH."
}

func installTinyGo() string {
	switch {
	case isCheckout():
		return "Build it with `make plugins-go` in the checkout of Penstock (some minutes, once), or install it from https://tinygo.org/getting-started/install/."
	case isInstalled("brew"):
		return "Install it with: brew install tinygo-org/tools/tinygo"
	}
	return "Install it from https://tinygo.org/getting-started/install/ and put it on PATH, or name its command in TINYGO."
}

// isCheckout reports whether this program lies in a checkout that can build TinyGo from its
// sources.
func isCheckout() bool {
	_, err := os.Stat(besideProgram("scripts/tinygo.sh"))
	return err == nil && isInstalled("apt-get")
}

func installBinaryen() string {
	switch {
	case isInstalled("apt-get"):
		return "Install it with: sudo apt-get install binaryen"
	case isInstalled("brew"):
		return "Install it with: brew install binaryen"
	}
	return "Install Binaryen with this system's package manager, or name its command in WASMOPT."
}

func installRust() string {
	switch {
	case isInstalled("rustup"):
		return "Add the target with: rustup target add " + wasmTarget
	case isInstalled("apt-get"):
		return "Install it with: sudo apt-get install rustc cargo libstd-rust-dev-wasm32 lld gcc libc6-dev"
	}
	return "Install rustup from https://rustup.rs, then run: rustup target add " + wasmTarget
}
