// SPDX-License-Identifier: MIT

// Package docs runs the commands that README.md and the documents in docs tell their reader to run.
package docs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// patience is how long one block may take, on a machine that is busy with other tests.
const patience = 2 * time.Minute

// Each block of commands in README.md and docs does what it says, against a real server with the
// built-in model, or is in notRun with the reason why it is not run here. Those of README.md are
// run each time, and of the other documents some.
func TestCommands(t *testing.T) {
	place := newPlace(t)
	left := map[string]bool{}
	for first := range notRun {
		left[first] = true
	}
	all := documents(t)
	run := append(steadytest.Some(t, all[1:], 12), all[0])
	for _, doc := range all {
		if elsewhere[doc] != "" {
			continue
		}
		place.putModels(t)
		for _, b := range blocks(t, doc) {
			switch {
			case b.file != "":
				place.write(t, b.file, b.text)
			case b.language == "sh" || b.language == "js":
				if first := b.first(); notRun[first] != "" {
					delete(left, first)
					continue
				}
				if !slices.Contains(run, doc) {
					continue
				}
				t.Run(fmt.Sprintf("%s:%d", doc, b.line), func(t *testing.T) { place.run(t, b) })
			case notCommands[b.language] == "":
				t.Errorf("%s:%d: a block of %q; commands are sh or js, and what else there may be is in notCommands", doc, b.line, b.language)
			}
		}
	}
	for first := range left {
		t.Errorf("notRun has %q, but no document begins a block with it", first)
	}
}

// The README's plugin has the effect that the README shows.
func TestCommands_ReadmePlugin(t *testing.T) { readmePlugin(t, newPlace(t)) }

// readmePlugin runs what the README has its reader run, and compares the plugin's effect.
func readmePlugin(t *testing.T, place place) {
	t.Helper()
	said := follow(t, place, "README.md")
	text := read(t, "README.md")
	for _, shown := range []struct{ row, answer string }{
		{"| without the plugin |", place.run(t, block{language: "sh", text: plain})},
		{"| with it |", said[ask]},
	} {
		_, row, _ := strings.Cut(text, shown.row)
		begins, _, ok := strings.Cut(row, " …")
		if begins = strings.TrimSpace(begins); !ok || len(begins) < 40 || !strings.Contains(shown.answer, `"content":"`+begins) {
			t.Errorf("the README's row %s says %q; the answer is %s", shown.row, begins, shown.answer)
		}
	}
}

// ask is how the README begins to ask for a story, and plain asks for one without the plugin.
const (
	ask   = `curl http://127.0.0.1:8080/v1/chat/completions -H 'Content-Type: application/json' -d '{`
	plain = ask + `"messages": [{"role": "user", "content": "Tell me a story about a frog."}], "temperature": 0}'`
)

// place is a folder that looks like a checkout, and a server that a newcomer has started there.
// Extra is more of the environment.
type place struct {
	dir, url string
	extra    []string
}

// adminKey is that of the place's server.
const adminKey = "the-admin-key-of-the-tests"

func newPlace(t *testing.T) place {
	t.Helper()
	return newPlaceWith(t, filepath.Join("..", "..", "bin", "penstock"), nil, func(*testing.T, place, *exec.Cmd) {})
}

// newPlaceWith makes a place with any program and more of the environment. Its server is prepared
// before it starts.
func newPlaceWith(t *testing.T, program string, extra []string, prepare func(*testing.T, place, *exec.Cmd)) place {
	t.Helper()
	program = must.Get(filepath.Abs(program))(t)
	root := must.Get(filepath.Abs(filepath.Join("..", "..")))(t)
	p := place{dir: t.TempDir(), extra: extra}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v: run `make build` first", err)
	}
	p.link(t, filepath.Join(root, "plugins", "sdk"), "plugins/sdk")
	p.link(t, filepath.Join(root, "host", "api", "clients", "node_modules"), "node_modules")
	p.link(t, filepath.Join(root, "build", "plugins"), "build/plugins")
	p.write(t, "plugins/examples/go.mod", read(t, "plugins/examples/go.mod"))
	p.write(t, "bin/penstock", strings.ReplaceAll(untilReady, "PENSTOCK", program))
	p.write(t, "keys.txt", strings.Repeat("5f2b8c", 10)+" alice\n")
	p.write(t, "admin.key", adminKey)
	p.write(t, "plugin.wasm", "\x00asm\x01\x00\x00\x00")
	p.putModels(t)
	for _, name := range []string{"banned-phrases.wasm", "beam.wasm", "watermark.wasm"} {
		wasm, err := os.ReadFile(filepath.Join(root, "build", "plugins", name))
		if err != nil {
			t.Fatalf("%v: run `make plugins` first", err)
		}
		p.write(t, "plugins/"+name, string(wasm))
	}
	p.url = p.serve(t, program, prepare)
	return p
}

// putModels puts a model wherever documents suppose one. Some commands remove it.
func (p place) putModels(t *testing.T) {
	t.Helper()
	model := read(t, "host/model/penstock-tiny.gguf")
	for _, name := range []string{"model.gguf", "path/to/model.gguf", "DIR/NAME.gguf", "data/penstock/models/NAME.gguf"} {
		p.write(t, name, model)
	}
}

// untilReady takes the place of bin/penstock: `serve` ends as soon as the server is ready, on a
// port that is free of this machine alone, whatever host the command names.
const untilReady = `#!/usr/bin/env bash
set -euo pipefail
[ "${1:-}" = serve ] || exec PENSTOCK "$@"
for ((i = 1; i < $#; i++)); do [ "${!i}" != --host ] || set -- "${@:1:i-1}" "${@:i+2}"; done
coproc SERVER { exec PENSTOCK "$@" --host 127.0.0.1 --port 0 --threads 1 --log-level error; }
server=$SERVER_PID
read -r url <&"${SERVER[0]}"
trap 'kill $server; wait $server' EXIT
for ((try = 0; try < 600; try++)); do
  ! command curl -sk --fail -o /dev/null "${url%/}/readyz" || exit 0
  sleep 0.1
done
exit 1
`

func (p place) link(t *testing.T, target, name string) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must.Do(t, os.Symlink(target, path))
}

func (p place) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must.Do(t, os.WriteFile(path, []byte(text), 0o700))
}

// environment has nothing of the machine's own configuration.
func (p place) environment() []string {
	var all []string
	for _, each := range os.Environ() {
		if !strings.HasPrefix(each, "PENSTOCK_") {
			all = append(all, each)
		}
	}
	all = append(all, p.extra...)
	all = append(all, "PENSTOCK_PLUGINS_BUNDLED=off") // a checkout may have them or not
	return append(all, "XDG_DATA_HOME="+filepath.Join(p.dir, "data"), "ADMIN_KEY="+adminKey, "HF_ENDPOINT=http://127.0.0.1:9",
		"PATH="+filepath.Join(p.dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// serve starts the server of which the documents say that it is there, and returns its address.
func (p place) serve(t *testing.T, binary string, prepare func(*testing.T, place, *exec.Cmd)) string {
	t.Helper()
	server := exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--admin-key", adminKey, "--threads", "1", "--log-level", "error")
	var log bytes.Buffer
	server.Dir, server.Env, server.Stderr = p.dir, p.environment(), &log
	prepare(t, p, server)
	out := must.Get(server.StdoutPipe())(t)
	must.Do(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
		if t.Failed() {
			t.Logf("the server's log:\n%s", log.Bytes())
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the server did not say its address: %v", err)
	}
	return strings.TrimSuffix(strings.TrimSpace(line), "/")
}

// prelude has curl fail where the server refuses.
const prelude = `set -euo pipefail
curl() { command curl -sS --fail-with-body --retry 20 --retry-connrefused "$@"; }
`

// run runs a block in the place and returns what it prints.
func (p place) run(t *testing.T, b block) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	text := strings.ReplaceAll(b.text, "http://127.0.0.1:8080", p.url)
	command := exec.CommandContext(ctx, "bash", "-c", prelude+text)
	if b.language == "js" {
		p.write(t, "snippet.mjs", text)
		command = exec.CommandContext(ctx, "node", "snippet.mjs")
	}
	var out bytes.Buffer
	command.Dir, command.Env, command.Stdout, command.Stderr = p.dir, p.environment(), &out, &out
	command.Stdin = strings.NewReader("y\n")
	if err := command.Run(); err != nil || out.Len() == 0 && b.language == "js" {
		t.Errorf("%v\n%s\nprinted\n%s", err, text, out.Bytes())
	}
	p.pluginsAreLoaded(t)
	return out.String()
}

// pluginsAreLoaded waits until the server has found what was put into its plugin folder.
func (p place) pluginsAreLoaded(t *testing.T) {
	t.Helper()
	var files []string
	for _, kind := range []string{"*.wasm", "*.js"} {
		some := must.Get(filepath.Glob(filepath.Join(p.dir, "plugins", kind)))(t)
		files = append(files, some...)
	}
	for begin := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		list := must.Get(exec.CommandContext(t.Context(), "curl", "-sS", p.url+"/v1/plugins").Output())(t)
		if readyFiles(t, list) == len(files) {
			return
		}
		if time.Since(begin) > patience {
			t.Fatalf("%d plugins are in the folder, and the server has %s", len(files), list)
		}
	}
}

// readyFiles is how many files of the plugin folder a server lists as ready. What runs scripts is
// no file.
func readyFiles(t *testing.T, list []byte) (n int) {
	t.Helper()
	var plugins struct {
		Data []struct{ File, State string }
	}
	must.Do(t, json.Unmarshal(list, &plugins))
	for _, p := range plugins.Data {
		if p.File != "" && p.State == "ready" {
			n++
		}
	}
	return n
}
