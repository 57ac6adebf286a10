// SPDX-License-Identifier: MIT

package toolchain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/author/project"
)

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
		environ, err := alone(ctx, goProgram)
		if err != nil {
			return nil, err
		}
		environ = append(environ, "PATH="+filepath.Dir(goProgram)+string(os.PathListSeparator)+os.Getenv("PATH"))
		_, err = os.Stat(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm32", "libc.a"))
		return tinyGo{program, environ, err == nil}, nil
	}
	return nil, missing("TinyGo "+minTinyGo+" or newer", reasons, installTinyGo())
}

func (t tinyGo) compile(ctx context.Context, p project.Project, file string, o Options) error {
	target, remove, err := t.target(p.Target(o.Debug))
	if err != nil {
		return err
	}
	defer remove()
	build := func(o Options, more ...string) error {
		args := append([]string{"build", "-target=" + target, "-opt=2", "-o", absolute(file)}, more...)
		return run(ctx, p, o, t.environ, t.program, append(args, ".")...)
	}
	if o.Debug {
		return build(o, "-panic=print")
	}
	release := []string{"-panic=trap", "-no-debug"}
	var said bytes.Buffer
	err = build(Options{Output: &said}, append(release, withoutDWARF)...)
	if errors.Is(err, ErrFailed) && !place.Match(said.Bytes()) {
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

// place is a line of the sources in an error. The steps that come after type checking know it from
// debug information only.
var place = regexp.MustCompile(`\.go:\d+`)

// target is a target of the project as this TinyGo takes it. Penstock's own TinyGo has two C
// libraries as files, which the target names; others compile these from sources of their own.
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
