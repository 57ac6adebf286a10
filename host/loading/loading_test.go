// SPDX-License-Identifier: MIT

package loading

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/model/kerneltest"
	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/host/spawn"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
)

func TestMain(m *testing.M) {
	kerneltest.Main()
	spawn.Run(model.Child())
	spawn.Run(compile.Child())
	goleak.VerifyTestMain(m)
}

const tinyModel = "../model/penstock-tiny.gguf"

// settings are flags for a test's model: one thread, which does not spin beside other tests.
func settings(t *testing.T, change map[string]any) config.Config {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	flags := map[string]any{"model.threads": "1", "model.ctx_size": "4096"}
	for k, v := range change {
		flags[k] = v
	}
	return must.Get(config.Load(config.Sources{Flags: flags}))(t)
}

// smallModel writes a small random model of a kind and returns its path.
func smallModel(t *testing.T, kind string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), kind+".gguf")
	must.Do(t, synth.SmallFile(path, kind, 1))
	return path
}

// What was opened is closed in the opposite order, once.
func TestClosers(t *testing.T) {
	var order []int
	var c closers
	for i := range 3 {
		c = append(c, func() error { order = append(order, i); return nil })
	}
	for range 2 {
		must.Do(t, c.Close())
	}
	if len(order) != 3 || order[0] != 2 || order[2] != 0 {
		t.Errorf("%v", order)
	}
}

func TestBesideBuiltIn(t *testing.T) {
	c := config.Config{Model: config.Model{Path: "m"}}
	if _, ok := besideBuiltIn(c); ok {
		t.Error("a model that generates nothing was accepted although nothing asks for what it can do")
	}
	c.Embedding.Enabled = true
	if got, ok := besideBuiltIn(c); !ok || got.Embedding.Model != "m" || got.Model.Path != "" {
		t.Errorf("%+v", got)
	}
	c.Rerank.Enabled = true
	if got, ok := besideBuiltIn(c); !ok || got.Rerank.Model != "m" || got.Embedding.Model != "" {
		t.Errorf("%+v", got)
	}
	c.Model.Path = ""
	if _, ok := besideBuiltIn(c); ok {
		t.Error("the built-in model beside itself")
	}
}
