// SPDX-License-Identifier: MIT

package lines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/tools/must"
)

// debugBuilds are the ways to build testdata/faults for debugging, with OUT for the module and
// TARGET for TinyGo's target.
var debugBuilds = []struct {
	name, tool, file, source string
	command, env             []string
	prints                   bool
}{
	{
		name: "tinygo", tool: "../../../build/tools/tinygo/bin/tinygo", file: "main.go.txt", source: "main.go", prints: true,
		command: []string{"build", "-target=TARGET", "-opt=2", "-gc=precise", "-panic=print", "-o", "OUT", "."},
	},
	{
		name: "go", tool: "go", file: "main.go.txt", source: "main.go", prints: true, env: []string{"GOOS=wasip1", "GOARCH=wasm", "GOWORK=off"},
		command: []string{"build", "-buildmode=c-shared", "-o", "OUT", "."},
	},
	{
		name: "rust", tool: "/usr/bin/rustc", file: "faults.rs", source: "faults.rs", // the one with the target
		command: []string{"--edition=2021", "--target=wasm32-unknown-unknown", "--crate-type=cdylib", "-Copt-level=1", "-Cdebuginfo=1", "-Cpanic=abort", "-o", "OUT", "faults.rs"},
	},
}

// A fault of a module that was built for debugging tells the line of the author's code, once lines
// are put in place of offsets, and what the guest printed: at once, with its code from the cache,
// and with its code compiled in the process. The server itself names no file. Memory that ran out
// is called so.
func TestFault_DebugBuild_NamesTheLine(t *testing.T) {
	for _, build := range debugBuilds {
		t.Run(build.name, func(t *testing.T) {
			t.Parallel()
			text := must.Get(os.ReadFile(filepath.Join("testdata", "faults", build.file)))(t)
			dir := t.TempDir()
			for name, text := range map[string]string{build.source: string(text), "go.mod": "module example.com/faults\n\ngo 1.24\n"} {
				must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
			}
			wasm := buildFaults(t, dir, build.tool, build.command, build.env)
			lines, cache := Of(wasm), t.TempDir()
			for _, dir := range []string{cache, cache, ""} {
				p, log := loadLogged(t, wasm, dir)
				for seed := 1; seed <= 4; seed++ {
					fault := failing(t, p, uint64(seed))
					want := fmt.Sprintf("%s:%d", build.source, lineOf(t, string(text), seed))
					if told := lines.In(fault.Told()); !strings.Contains(told, want) || strings.Contains(fault.Error(), build.source) {
						t.Errorf("%d: %s\n%s\nwant %s", seed, fault.Told(), told, want)
					}
					if build.prints && !strings.Contains(log.String(), fmt.Sprintf("seed is %d", seed)) {
						t.Errorf("%d: what it printed is not in the log:\n%s", seed, log)
					}
				}
				if fault := failing(t, p, 5); !strings.Contains(fault.Error(), "limit exceeded: out of memory: it asked for ") {
					t.Errorf("it takes memory without end: %s", fault.Told())
				}
			}
		})
	}
}

// buildFaults builds the sources in a folder.
func buildFaults(t *testing.T, dir, tool string, command, env []string) []byte {
	t.Helper()
	if path, err := exec.LookPath(tool); err != nil {
		t.Fatalf("%s is missing: run `make plugins` first", tool)
	} else if tool, err = filepath.Abs(path); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "faults.wasm")
	target := must.Get(filepath.Abs("../../../plugins/sdk/go/target-debug.json"))(t)
	args := append([]string(nil), command...)
	for i, arg := range args {
		args[i] = strings.NewReplacer("OUT", out, "TARGET", target).Replace(arg)
	}
	cmd := exec.Command(tool, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return must.Get(os.ReadFile(out))(t)
}

// lineOf is the line of the source that fails for a seed.
func lineOf(t *testing.T, source string, seed int) int {
	t.Helper()
	for i, line := range strings.Split(source, "\n") {
		if strings.Contains(line, fmt.Sprintf("// fails for %d", seed)) {
			return i + 1
		}
	}
	t.Fatalf("no line fails for %d", seed)
	return 0
}

// loadLogged loads a module; what it prints is in the buffer.
func loadLogged(t *testing.T, wasm []byte, cache string) (*load.Plugin, *bytes.Buffer) {
	t.Helper()
	log, limits := &bytes.Buffer{}, plugin.DefaultLimits()
	limits.Compile, limits.SetupTime, limits.LoadTime = time.Hour, time.Hour, time.Hour // machines under load
	l := load.New(plugin.HostOptions{ModelOptions: plugin.ModelOptions{Vocabulary: hosttest.Words{}}, CacheDir: cache, Limits: limits, Log: slog.New(slog.NewTextHandler(log, nil)), LogLines: true})
	p := must.Get(l.Load(context.Background(), wasm))(t)
	t.Cleanup(p.Release)
	return p, log
}

// failing runs open for a seed.
func failing(t *testing.T, p *load.Plugin, seed uint64) *plugin.Fault {
	t.Helper()
	i := must.Get(p.Module.NewInstance(t.Context(), p.Module.NewSession(&plugin.RequestInfo{Seed: seed})))(t)
	defer func() { _ = i.Close(false) }() // it faulted
	var fault *plugin.Fault
	if _, err := i.Call(guest.Open, 0, 0); !errors.As(err, &fault) {
		t.Fatalf("no fault but %v", err)
	}
	return fault
}
