// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/plugins/tck"
	"github.com/penstock/penstock/tools/lab/bench"
)

// The names of what the server is given.
const (
	tiny    = "tiny"   // the model that stays loaded
	small   = "small"  // one that is loaded and unloaded
	steady  = "steady" // the adapter that stays loaded
	passing = "passing"
)

const adminKey = "the-admin-key-of-the-soak"

// keys of clients; quarantine and prompt caches are each key's own. Those of hostile plugins are
// used for nothing else.
var (
	goodKeys    = []string{"alice-0123456789", "bob-0123456789", "carol-0123456789"}
	hostileKeys = []string{"mallory-0123456789", "mallet-0123456789", "eve-0123456789", "trudy-0123456789"}
)

// place is a server with its folders.
type place struct {
	*bench.Process
	dir string
	log *os.File
}

func (p *place) folder(name string) string { return filepath.Join(p.dir, name) }

// dropped is a file in the plugin folder that comes and goes.
func (p *place) dropped() string { return p.folder("plugins/dropped.wasm") }

// prepare makes the folders and starts the server.
func prepare(ctx context.Context, o options, dir string) (*place, error) {
	p := &place{dir: dir}
	for _, name := range []string{"models", "plugins", "slots", "cache", "data", "other"} {
		if err := os.Mkdir(p.folder(name), 0o700); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(p.writeKeys(0), p.writeModels(o.model), p.writePlugins(o.plugins)); err != nil {
		return nil, err
	}
	var err error
	if p.log, err = os.Create(p.folder("log")); err != nil {
		return nil, err
	}
	size := bench.Size{Slots: 8, Context: 4096}
	c := bench.Penstock(o.penstock, tiny, size,
		"--models-dir", p.folder("models"), "--plugin-dir", p.folder("plugins"), "--slot-save-path", p.folder("slots"),
		"--api-key-file", p.folder("keys"), "--admin-key", adminKey, "--embeddings", "--pooling", "mean", "--rerank-model", p.folder("other/reranker.gguf"),
		"--lora", p.folder("models/"+steady+".gguf"), "--lora-init-without-apply",
		"--cache-ram", "16MiB", "--max-queue", "64", "--log-format", "text")
	c.Env = environment(dir)
	c.Output = p.log
	if p.Process, err = bench.Start(ctx, c); err != nil {
		return nil, errors.Join(err, p.log.Close())
	}
	return p, nil
}

// writeTimeout is how long a client of the server may read nothing.
const writeTimeout = 10 * time.Second

// environment has nothing of this machine's own configuration.
func environment(dir string) []string {
	own := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PENSTOCK_") })
	return append(own, "XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "XDG_DATA_HOME="+filepath.Join(dir, "data"), "PENSTOCK_SERVER_WRITE_TIMEOUT="+writeTimeout.String())
}

// writeKeys writes the file of API keys, with one more that changes.
func (p *place) writeKeys(n int) error {
	lines := append(append(slices.Clone(goodKeys), hostileKeys...), fmt.Sprintf("visitor-%d-0123456789", n))
	return replaceFile(p.folder("keys"), []byte(strings.Join(lines, "\n")+"\n"))
}

func (p *place) writeModels(model string) error {
	data, err := os.ReadFile(model)
	if err != nil {
		return err
	}
	path := p.folder("models/" + tiny + ".gguf")
	errs := []error{os.WriteFile(path, data, 0o600),
		synth.SmallFile(p.folder("models/"+small+".gguf"), "cohere2", 1), synth.SmallFile(p.folder("other/reranker.gguf"), "reranker", 1)}
	for seed, name := range []string{steady, passing} {
		file, err := os.Create(p.folder("models/" + name + ".gguf"))
		if err != nil {
			return err
		}
		errs = append(errs, synth.Adapter{Model: path, Seed: uint64(seed + 1)}.Write(file), file.Close())
	}
	return errors.Join(errs...)
}

// writePlugins fills the plugin folder with the example plugins, and with those of the conformance
// kit that break rules.
func (p *place) writePlugins(examples string) error {
	for _, name := range exampleNames() {
		data, err := os.ReadFile(filepath.Join(examples, name+".wasm"))
		if err != nil {
			return fmt.Errorf("%w: run `make plugins` first", err)
		}
		if err := os.WriteFile(p.folder("plugins/"+name+".wasm"), data, 0o600); err != nil {
			return err
		}
	}
	modules := map[string][]byte{}
	for _, c := range faultyCases() {
		modules[c.Modules[0].File] = c.Modules[0].Wasm
	}
	for _, file := range slices.Sorted(maps.Keys(modules)) {
		if err := os.WriteFile(p.folder("plugins/"+file), modules[file], 0o600); err != nil {
			return err
		}
	}
	return nil
}

// faultyCases are those of the conformance kit whose request ends with the fault of its one plugin.
func faultyCases() []tck.Case {
	return slices.DeleteFunc(tck.Hostile(), func(c tck.Case) bool { return c.Want.Outcome != tck.Faulted || len(c.Modules) != 1 })
}

// replaceFile writes beside the target and renames: the server may read it at any time.
func replaceFile(path string, data []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".soak-*")
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// crashed says that the server has ended, where it has.
func (p *place) crashed() error {
	select {
	case <-p.Ended():
		return fmt.Errorf("the server has ended by itself: %w", p.said())
	case <-time.After(2 * time.Second): // a connection may be lost before the end is known
		return nil
	}
}

// said is what the server has printed.
func (p *place) said() error {
	text, err := os.ReadFile(p.folder("log"))
	if err != nil {
		return err
	}
	const most = 16 << 10
	if len(text) > 2*most {
		return fmt.Errorf("it printed\n%s\n[…]\n%s", text[:most], text[len(text)-most:])
	}
	return fmt.Errorf("it printed\n%s", text)
}

// end stops the server, which must heed the request to, and must not have logged a panic.
func (p *place) end() error {
	if err := p.crashed(); err != nil {
		return err
	}
	p.Stop()
	if code := p.ExitCode(); code != 0 {
		return fmt.Errorf("the server ended with status %d: %w", code, p.said())
	}
	if _, err := p.log.Seek(0, io.SeekStart); err != nil {
		return err
	}
	text, err := io.ReadAll(p.log)
	if err == nil && strings.Contains(string(text), "panic") {
		err = fmt.Errorf("the server's log tells of a panic: %w", p.said())
	}
	return err
}

// stop stops the server, if it still runs.
func (p *place) stop() {
	p.Stop()
	_ = p.log.Close() // it was read, if at all
}
