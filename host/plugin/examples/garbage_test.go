// SPDX-License-Identifier: MIT

package examples

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/scheduler/chain"
)

// A plugin of TinyGo with a table of up to 16 MiB collects its garbage within the fuel of a hook,
// however much it makes for a token.
func TestTinyGo_Garbage_IsCollectedWithinTheFuel(t *testing.T) {
	l := hosttest.Open(t, load.New, func(o *plugin.HostOptions) { o.Vocabulary = newWords() })
	p, err := l.Load(t.Context(), buildGarbage(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Release)
	for _, c := range []struct{ kib, garbage, tokens int }{
		{64, 4096, 2000}, {2048, 4096, 2000}, {16384, 4096, 500}, {2048, 1 << 20, 200}, {16384, 1 << 20, 200},
	} {
		config, err := p.CheckConfig(fmt.Appendf(nil, `{"kib":%d,"garbage":%d}`, c.kib, c.garbage))
		if err != nil {
			t.Fatal(err)
		}
		s, err := stage.New(p, plugin.RequestInfo{Config: config, MaxTokens: c.tokens, ContextSize: 4096})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Reset([]int32{1}, 1); err != nil {
			t.Fatal(err)
		}
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
	tool, err := filepath.Abs("../../../build/tools/tinygo/bin/tinygo")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(tool); err != nil {
		t.Fatal("TinyGo is missing: run `make plugins` first")
	}
	sdk, err := filepath.Abs("../../../plugins/sdk/go")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join("testdata", "garbage", "main.go.txt"))
	if err != nil {
		t.Fatal(err)
	}
	const module = "github.com/penstock/penstock/plugins/sdk/go"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.go": string(source),
		"go.mod":  "module garbage\n\ngo 1.24\n\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + sdk + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "garbage.wasm")
	build := exec.Command(tool, "build", "-target="+filepath.Join(sdk, "target.json"), "-opt=2", "-panic=trap", "-no-debug", "-o", out, ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOWORK=off")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}
