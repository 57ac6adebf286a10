// SPDX-License-Identifier: MIT

package model

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/tools/steadytest"
)

// TestCorruptedFiles damages the built-in model in 20 ways, 10,000 in `make test-long`, and sends
// each through the header check, the trial in a child and, if both pass, a load in this
// process. Each must end in an error or in a working model. The header check is there so that the
// child rarely dies: a death is no failure, but it is counted.
func TestCorruptedFiles(t *testing.T) {
	from, count := steadytest.Seed(t), steadytest.InLongTest(10_000, 20)
	var total tally
	var wait sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	memory, files := residentMemory(), openFiles()
	for w := range workers {
		wait.Go(func() {
			c := corrupter{t: t, path: filepath.Join(t.TempDir(), "m.gguf"), total: &total}
			for seed := w; seed < count; seed += workers {
				c.one(from + uint64(seed))
			}
			c.close()
		})
	}
	wait.Wait()
	t.Log(total.String())
	if steadytest.Long() && (total.works == 0 || total.refused == 0 || total.header == 0) {
		t.Error("a way for files to go was never taken")
	}
	if grown := residentMemory() - memory; grown > 256<<20 {
		t.Errorf("this process grew by %d MiB", grown>>20)
	}
	if grown := openFiles() - files; grown > 0 {
		t.Errorf("%d files more are open than before", grown)
	}
}

// tally counts what became of the files.
type tally struct {
	mu                              sync.Mutex
	header, refused, crashed, works int
}

func (c *tally) add(n *int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*n++
}

func (c *tally) String() string {
	return fmt.Sprintf("%d refused by the header check, %d refused by llama.cpp in the child, %d ended the child, %d work",
		c.header, c.refused, c.crashed, c.works)
}

// corrupter sends damaged files through one path and one child, which it replaces when it dies.
type corrupter struct {
	t     *testing.T
	path  string
	child *child
	total *tally
}

func (c *corrupter) one(seed uint64) {
	data, did := mutate(builtIn, seed)
	_, err := gguf.Check(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		if !isTyped(err) {
			c.t.Errorf("seed %d (%.200s): the header check's error has no type: %v", seed, did, err)
		}
		c.total.add(&c.total.header)
		return
	}
	if err := os.WriteFile(c.path, data, 0o600); err != nil {
		c.t.Error(err)
		return
	}
	c.dryRun(seed, did)
	switch err := c.try(); {
	case errors.Is(err, ErrCrashed):
		c.t.Logf("seed %d (%.200s): %v", seed, did, err)
		c.total.add(&c.total.crashed)
	case errors.Is(err, ErrRefused), errors.Is(err, ErrUnknownArchitecture), errors.Is(err, ErrTemplate):
		c.total.add(&c.total.refused)
	case err != nil:
		c.t.Errorf("seed %d (%.200s): %v", seed, did, err)
	default:
		if _, err := runModelTrial(request{Path: c.path}, defaultTemplateLimits); err != nil {
			c.t.Errorf("seed %d (%.200s): passed the trial, but then: %v", seed, did, err)
		}
		c.total.add(&c.total.works)
	}
}

func isTyped(err error) bool {
	for _, kind := range []error{gguf.ErrNotGGUF, gguf.ErrTruncated, gguf.ErrMalformed, gguf.ErrVocabularyOnly, gguf.ErrUnsupported} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

func (c *corrupter) try() error {
	if err := c.start(); err != nil {
		return err
	}
	_, err := c.child.tryModel(c.t.Context(), request{Path: c.path, Timeout: time.Minute})
	c.bury()
	return err
}

// start makes sure that there is a child.
func (c *corrupter) start() (err error) {
	if c.child == nil {
		c.child, err = startChild(c.t.Context(), 0)
	}
	return err
}

// bury removes a child that has died.
func (c *corrupter) bury() {
	if !c.child.alive() {
		c.close()
	}
}

// dryRun has llama.cpp say what the file takes: it does, or there is an error with a type.
func (c *corrupter) dryRun(seed uint64, did string) {
	if err := c.start(); err != nil {
		c.t.Error(err)
		return
	}
	d := &DryRun{child: c.child, request: request{Task: dryRunTask, Path: c.path, Model: &native.ModelOptions{}, Timeout: time.Minute}}
	_, err := d.Need(c.t.Context(), native.ContextOptions{Cells: 1024, Sequences: 4, Unified: true})
	c.bury()
	if err != nil && !errors.Is(err, ErrCrashed) && !errors.Is(err, ErrRefused) && !errors.Is(err, ErrUnknownArchitecture) {
		c.t.Errorf("seed %d (%.200s): dry run: %v", seed, did, err)
	}
}

func (c *corrupter) close() {
	if c.child != nil {
		_ = c.child.close()
	}
	c.child = nil
}

// residentMemory is this process's memory in bytes, 0 where the system does not say. Models are
// mapped, so what Go's collector knows would not show a leak of one.
func residentMemory() int64 {
	runtime.GC()
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}

// openFiles counts this process's open files, 0 where the system does not say.
func openFiles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}
