// SPDX-License-Identifier: MIT

package examples

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

const goSDK = "github.com/penstock/penstock/plugins/sdk/go"

// builder builds plugins of one file with Go's own compiler.
type builder struct{ dir string }

func newBuilder(t *testing.T) builder {
	t.Helper()
	sdk := must.Get(filepath.Abs(filepath.Join("..", "..", "..", "plugins", "sdk", "go")))(t)
	b := builder{t.TempDir()}
	b.write(t, "go.mod", fmt.Sprintf("module coin\n\ngo 1.24\n\nrequire %s v0.0.0\n\nreplace %[1]s => %s\n", goSDK, sdk))
	return b
}

func (b builder) write(t *testing.T, name, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600))
}

// plugin writes a plugin with these methods.
func (b builder) plugin(t *testing.T, methods string) {
	t.Helper()
	b.write(t, "main.go", "package main\n\nimport \""+goSDK+"/penstock\"\n\ntype coin struct{}\n\n"+
		"var _ = penstock.Register[coin](penstock.Manifest{Name: \"coin\"})\n\nfunc main() {}\n\n"+methods)
}

// build is its module, or what the compiler says.
func (b builder) build(t *testing.T) (wasm []byte, said string) {
	t.Helper()
	build := exec.Command("go", "build", "-buildmode=c-shared", "-o", "coin.wasm", ".")
	build.Dir, build.Env = b.dir, append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, string(out)
	}
	wasm = must.Get(os.ReadFile(filepath.Join(b.dir, "coin.wasm")))(t)
	return wasm, ""
}

const (
	stops = "func (coin) Stop(penstock.Token, []byte) penstock.Verdict { return penstock.End }\n"
	takes = "func (coin) Sample(c *penstock.Candidates) penstock.Choice { return penstock.Take(c.IDs()[0]) }\n"
)

// TestGo_Load_Mistakes wants to hear of a method that would not be called when the module is
// loaded, before any request. What else is found is in the SDK's own tests.
func TestGo_Load_Mistakes(t *testing.T) {
	b := newBuilder(t)
	limits := plugin.DefaultLimits()
	limits.Compile, limits.LoadTime = time.Minute, time.Minute
	loader := load.New(plugin.HostOptions{ModelOptions: plugin.ModelOptions{Vocabulary: newWords()}, Limits: limits})
	b.plugin(t, stops+strings.Replace(takes, "c *penstock.Candidates", "c penstock.Candidates", 1))
	wasm, said := b.build(t)
	if said != "" {
		t.Fatal(said)
	}
	want := "the plugin's type has a method that nothing calls, since its parameters or results are others; it must be Sample(*penstock.Candidates) penstock.Choice"
	p, err := loader.Load(t.Context(), wasm)
	if err == nil {
		p.Release()
	}
	if err == nil || !strings.Contains(plugin.Told(err), want) {
		t.Errorf("got %v, told as %q, want %q", err, plugin.Told(err), want)
	}
	if err := loader.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A plugin of TinyGo with a table of up to 16 MiB collects its garbage within the fuel of a hook,
// however much it makes for a token.
func TestTinyGo_Garbage_IsCollectedWithinTheFuel(t *testing.T) {
	l := hosttest.Open(t, load.New, func(o *plugin.HostOptions) { o.Vocabulary = newWords() })
	p := must.Get(l.Load(t.Context(), buildGarbage(t)))(t)
	t.Cleanup(p.Release)
	for _, c := range []struct{ kib, garbage, tokens int }{
		{64, 4096, 2000}, {2048, 4096, 2000}, {16384, 4096, 500}, {2048, 1 << 20, 200}, {16384, 1 << 20, 200},
	} {
		config := must.Get(p.CheckConfig(fmt.Appendf(nil, `{"kib":%d,"garbage":%d}`, c.kib, c.garbage)))(t)
		s := must.Get(stage.New(p, plugin.RequestInfo{Config: config, MaxTokens: c.tokens, ContextSize: 4096}))(t)
		must.Do(t, s.Reset([]int32{1}, 1))
		most := int64(0)
		for n := range c.tokens {
			if err := s.Apply(&chain.View{ID: []int32{1, 2}, Logit: []float32{2, 1}, N: 2, Chosen: -1}); err != nil {
				t.Fatalf("%d KiB and %d bytes of garbage, token %d: %v", c.kib, c.garbage, n, err)
			}
			most = max(most, s.Usage().Fuel)
		}
		if limit := plugin.DefaultLimits().HookFuel; most > limit/4 {
			t.Errorf("%d KiB and %d bytes of garbage: a token used %d of %d units of fuel", c.kib, c.garbage, most, limit)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// buildGarbage builds testdata/garbage with TinyGo and the target of this checkout's SDK.
func buildGarbage(t *testing.T) []byte {
	t.Helper()
	tool := must.Get(filepath.Abs("../../../build/tools/tinygo/bin/tinygo"))(t)
	if _, err := os.Stat(tool); err != nil {
		t.Fatal("TinyGo is missing: run `make plugins` first")
	}
	sdk := must.Get(filepath.Abs("../../../plugins/sdk/go"))(t)
	source := must.Get(os.ReadFile(filepath.Join("testdata", "garbage", "main.go.txt")))(t)
	const module = "github.com/penstock/penstock/plugins/sdk/go"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.go": string(source),
		"go.mod":  "module garbage\n\ngo 1.24\n\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + sdk + "\n",
	} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	out := filepath.Join(dir, "garbage.wasm")
	build := exec.Command(tool, "build", "-target="+filepath.Join(sdk, "target.json"), "-opt=2", "-panic=trap", "-no-debug", "-o", out, ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOWORK=off")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return must.Get(os.ReadFile(out))(t)
}
