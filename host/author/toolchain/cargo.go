// SPDX-License-Identifier: MIT

package toolchain

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/penstock/penstock/host/author/project"
)

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
	for _, program := range existing("cargo", filepath.Join(home, ".cargo", "bin", "cargo"), "/usr/bin/cargo") {
		c := cargo{program, filepath.Join(filepath.Dir(program), "rustc"+filepath.Ext(program))}
		found, err := version(ctx, c.rustc, rustVersion, "--version")
		switch {
		case err != nil || !atLeast(found, minRust):
			reasons = append(reasons, unusable(c.rustc, found, minRust, err))
		case !c.hasTarget(ctx):
			reasons = append(reasons, c.rustc+" lacks the target "+wasmTarget)
		default:
			return c, nil
		}
	}
	return nil, missing("Rust "+minRust+" or newer with the target "+wasmTarget, reasons, installRust())
}

func (c cargo) hasTarget(ctx context.Context) bool {
	said, err := exec.CommandContext(ctx, c.rustc, "--print", "target-libdir", "--target", wasmTarget).Output()
	if err != nil {
		return false
	}
	std, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(said)), "libstd-*.rlib"))
	return err == nil && len(std) > 0
}

// flags are the variables with flags for rustc. Cargo takes them in place of those in the
// project's .cargo/config.toml, without which a stack that overflows writes over data.
var flags = []string{"RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"}

// compile compiles with the flags of the project.
func (c cargo) compile(ctx context.Context, p project.Project, file string, o Options) error {
	environ := []string{"RUSTC=" + c.rustc}
	if o.Debug {
		environ = append(environ, "CARGO_PROFILE_RELEASE_DEBUG=1", "CARGO_PROFILE_RELEASE_STRIP=none")
	}
	folder := filepath.Join(p.Dir, "target")
	err := run(ctx, p, o, environ, c.program, "build", "--quiet", "--release", "--offline", "--target", wasmTarget, "--target-dir", absolute(folder))
	if err != nil {
		return err
	}
	module, err := os.ReadFile(filepath.Join(folder, wasmTarget, "release", strings.ReplaceAll(p.Name, "-", "_")+".wasm"))
	if err != nil {
		return err
	}
	return os.WriteFile(file, module, 0o644)
}
