// SPDX-License-Identifier: MIT

package toolchain

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/penstock/penstock/plugins/author/project"
)

// minTinyGo is the first version with go:wasmexport for modules without WASI, which the SDK needs.
const minTinyGo = "0.36"

// tinyGo is TinyGo, and the Go that it needs.
type tinyGo struct {
	program, goProgram string
	hasLibraries       bool // the C libraries that the SDK's targets name are files of it
}

var tinyGoVersion = regexp.MustCompile(`tinygo version (\d+\.\d+(?:\.\d+)?)`)

func findTinyGo(ctx context.Context) (compiler, error) {
	goProgram, err := goProgram(ctx)
	if err != nil {
		return nil, fmt.Errorf("TinyGo needs Go: %w", err)
	}
	var reasons []string
	for _, program := range existing(os.Getenv("TINYGO"), "tinygo", besides("build/tools/tinygo/bin/tinygo")) {
		found, err := version(ctx, program, tinyGoVersion, "version")
		if err != nil || !atLeast(found, minTinyGo) {
			reasons = append(reasons, unusable(program, found, minTinyGo, err))
			continue
		}
		if len(existing(os.Getenv("WASMOPT"), "wasm-opt")) == 0 {
			return nil, missing("wasm-opt, which TinyGo needs,", nil, installBinaryen())
		}
		root, err := exec.CommandContext(ctx, program, "env", "TINYGOROOT").Output()
		if err != nil {
			return nil, fmt.Errorf("%s env TINYGOROOT: %w", program, err)
		}
		_, err = os.Stat(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm32", "libc.a"))
		return tinyGo{program, goProgram, err == nil}, nil
	}
	return nil, missing("TinyGo "+minTinyGo+" or newer", reasons, installTinyGo())
}

func (t tinyGo) compile(ctx context.Context, p project.Project, file string, o Options) error {
	target, remove, err := t.target(p.Target(o.Debug))
	if err != nil {
		return err
	}
	defer remove()
	args := []string{"build", "-target=" + target, "-opt=2", "-o", absolute(file)}
	if o.Debug {
		args = append(args, "-panic=print")
	} else {
		args = append(args, "-panic=trap", "-no-debug")
	}
	environ, err := alone(ctx, t.goProgram)
	if err != nil {
		return err
	}
	path := "PATH=" + filepath.Dir(t.goProgram) + string(os.PathListSeparator) + os.Getenv("PATH")
	return run(ctx, p, o, append(environ, path), t.program, append(args, ".")...)
}

// target is a target of the project as this TinyGo takes it. Penstock's own TinyGo has two C libraries as files, which the target names;
// others compile these from sources of their own.
func (t tinyGo) target(given string) (file string, remove func(), _ error) {
	if t.hasLibraries {
		return absolute(given), func() {}, nil
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
