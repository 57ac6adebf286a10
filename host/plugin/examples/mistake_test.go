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
	"github.com/penstock/penstock/host/plugin/load"
)

const goSDK = "github.com/penstock/penstock/plugins/sdk/go"

// builder builds plugins of one file with Go's own compiler.
type builder struct{ dir string }

func newBuilder(t *testing.T) builder {
	t.Helper()
	sdk, err := filepath.Abs(filepath.Join("..", "..", "..", "plugins", "sdk", "go"))
	if err != nil {
		t.Fatal(err)
	}
	b := builder{t.TempDir()}
	b.write(t, "go.mod", fmt.Sprintf("module coin\n\ngo 1.24\n\nrequire %s v0.0.0\n\nreplace %[1]s => %s\n", goSDK, sdk))
	return b
}

func (b builder) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
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
	wasm, err := os.ReadFile(filepath.Join(b.dir, "coin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
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
