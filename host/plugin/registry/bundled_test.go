// SPDX-License-Identifier: MIT

package registry

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/index"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/tools/must"
)

// bundle makes a folder of plugins with their index.
func bundle(t *testing.T, l *load.Loader, modules map[string][]byte) (dir string) {
	t.Helper()
	dir = t.TempDir()
	fill(t, l, dir, modules)
	return dir
}

// fill puts plugins and their index into a folder.
func fill(t *testing.T, l *load.Loader, dir string, modules map[string][]byte) {
	t.Helper()
	for base, wasm := range modules {
		place(t, dir, base, wasm)
	}
	text, err := index.Make(t.Context(), l, dir, index.Options{})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, index.FileName), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// versionOf is that of the plugin that a request finds.
func versionOf(t *testing.T, g *Registry, name string) string {
	t.Helper()
	p, err := g.Find(t.Context(), name)
	if err != nil {
		return err.Error()
	}
	defer p.Release()
	return p.Manifest.Version
}

func TestRegistry_Bundled_UsedAtOnce_IsLoadedOnce(t *testing.T) {
	l := hosttest.Open(t, load.New)
	g := openOptions(t, l, Options{Dir: t.TempDir(), Bundled: bundle(t, l, map[string][]byte{"a.wasm": named("a", "1"), "b.wasm": named("b", "1")})})
	if got := summary(g); got != "a 1 ready, b 1 ready" {
		t.Errorf("%s", got)
	}
	if info, err := g.Get("a"); err != nil || !info.Bundled || info.SHA256 != sumOf(named("a", "1")) || g.bundled["a"].plugin != nil {
		t.Errorf("%+v, %v; it must be listed and not loaded", info, err)
	}
	var all sync.WaitGroup
	for range 8 { // who come at once get the same
		all.Go(func() {
			if got := versionOf(t, g, "a"); got != "1" {
				t.Errorf("found %s", got)
			}
		})
	}
	all.Wait()
	if g.bundled["a"].plugin == nil || g.bundled["b"].plugin != nil {
		t.Error("not exactly what was used is loaded")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Find(gone, "b"); !errors.Is(err, plugin.ErrLoading) {
		t.Errorf("a client that has left: %v", err)
	}
	if got := versionOf(t, g, "b"); got != "1" { // which is remembered against nobody
		t.Errorf("after that: %s", got)
	}
}

// A file of the plugin folder hides the bundled plugin of its name, and gives way again.
func TestRegistry_Bundled_FolderWins(t *testing.T) {
	l, dir := hosttest.Open(t, load.New), t.TempDir()
	g := openOptions(t, l, Options{Dir: dir, Bundled: bundle(t, l, map[string][]byte{"a.wasm": named("a", "1")})})
	if got := versionOf(t, g, "a"); got != "1" {
		t.Errorf("found %s", got)
	}
	if _, created, err := g.Upload(t.Context(), named("a", "2")); err != nil || created {
		t.Errorf("created %v, %v: an upload takes the place of a bundled plugin", created, err)
	}
	if got := versionOf(t, g, "a") + "; " + summary(g); got != "2; a 2 ready" {
		t.Errorf("with an upload: %s", got)
	}
	if err := g.Remove(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if got := versionOf(t, g, "a"); got != "1" {
		t.Errorf("after its removal: %s", got)
	}
	if err := g.Remove(t.Context(), "a"); !errors.Is(err, ErrBundled) {
		t.Errorf("a bundled plugin was removed: %v", err)
	}
	place(t, dir, "a.wasm", []byte("broken"))
	scan(t, g)
	if _, err := g.Find(t.Context(), "a"); !errors.Is(err, plugin.ErrUnknown) || summary(g) != "a failed" {
		t.Errorf("a broken file in its place: %v, %s", err, summary(g))
	}
	place(t, dir, "a.wasm", named("other", "1"))
	scan(t, g)
	if got := summary(g); got != "other 1 ready" {
		t.Errorf("a file of its name with another plugin: %s", got)
	}
}

func TestRegistry_Bundled_Lock(t *testing.T) {
	l := hosttest.Open(t, load.New)
	lock := lockOf(t, plugin.LockEntry("a", sumOf(named("a", "1"))), plugin.LockEntry("b", sumOf(named("a", "1"))))
	g := openOptions(t, l, Options{Dir: t.TempDir(), Lock: lock, Bundled: bundle(t, l, map[string][]byte{"a.wasm": named("a", "1"), "b.wasm": named("b", "1")})})
	if got := summary(g); got != "a 1 ready" {
		t.Errorf("%s", got)
	}
	if got := versionOf(t, g, "a"); got != "1" {
		t.Errorf("found %s", got)
	}
}

// What is not what the index says is not run.
func TestRegistry_Bundled_Changed(t *testing.T) {
	l := hosttest.Open(t, load.New)
	dir := bundle(t, l, map[string][]byte{"a.wasm": named("a", "1"), "b.wasm": named("b", "1")})
	place(t, dir, "a.wasm", named("a", "2"))
	must.Do(t, os.Remove(filepath.Join(dir, "b.wasm")))
	g := openOptions(t, l, Options{Dir: t.TempDir(), Bundled: dir})
	for name, want := range map[string]string{"a": "SHA-256", "b": "no such file"} {
		if _, err := g.Find(t.Context(), name); !errors.Is(err, plugin.ErrUnknown) || !strings.Contains(err.Error(), "cannot be loaded") {
			t.Errorf("%s: %v", name, err)
		}
		if info, err := g.Get(name); err != nil || info.State != StateFailed || !strings.Contains(info.Error, want) || strings.Contains(info.Error, dir) {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
	place(t, dir, "a.wasm", named("a", "1"))
	if got := versionOf(t, g, "a"); got != "1" {
		t.Errorf("mended: %s", got)
	}
}

// The folder may come while the server runs, as where it is built, and change.
func TestRegistry_Bundled_ComesLater(t *testing.T) {
	l, dir, logged := hosttest.Open(t, load.New), filepath.Join(t.TempDir(), "later"), &strings.Builder{}
	g := openOptions(t, l, Options{Dir: t.TempDir(), Bundled: dir, Later: true, Log: slog.New(slog.NewTextHandler(logged, nil))})
	scan(t, g)
	if got := summary(g); got != "" || logged.Len() > 0 {
		t.Errorf("without the folder: %s; %s", got, logged)
	}
	must.Do(t, os.Mkdir(dir, 0o700))
	fill(t, l, dir, map[string][]byte{"a.wasm": named("a", "1"), "b.wasm": named("b", "1"), "c.wasm": named("c", "1")})
	scan(t, g)
	var used []*load.Plugin
	for _, name := range []string{"a", "b", "c"} {
		p := must.Get(g.Find(t.Context(), name))(t)
		p.Release() // the registry keeps it
		used = append(used, p)
	}

	must.Do(t, os.Remove(filepath.Join(dir, "c.wasm")))
	fill(t, l, dir, map[string][]byte{"b.wasm": named("b", "2"), "d.wasm": named("d", "1")})
	scan(t, g)
	if got := summary(g); got != "a 1 ready, b 2 ready, d 1 ready" {
		t.Errorf("after the change: %s", got)
	}
	if a, err := g.Find(t.Context(), "a"); err != nil || a != used[0] {
		t.Errorf("a, which is still the same: %p, %v; want %p", a, err, used[0])
	} else {
		a.Release()
	}
	for _, p := range used[1:] {
		if p.Retain() {
			t.Errorf("%s, which is gone, is kept", p.Name)
		}
	}
	if got := versionOf(t, g, "b"); got != "2" {
		t.Errorf("found %s", got)
	}

	place(t, dir, index.FileName, []byte("{"))
	for range 3 {
		scan(t, g)
	}
	must.Do(t, os.RemoveAll(dir))
	scan(t, g)
	if got := strings.Count(logged.String(), "stay as they were"); got != 1 || summary(g) != "a 1 ready, b 2 ready, d 1 ready" {
		t.Errorf("a broken index is logged %d times, and then there are %s", got, summary(g))
	}
}

// A plugin that is being loaded while the index changes belongs to the request that began it.
func TestRegistry_Bundled_ChangesWhileLoading(t *testing.T) {
	l := hosttest.Open(t, load.New)
	dir := bundle(t, l, map[string][]byte{"a.wasm": named("a", "1")})
	g := openOptions(t, l, Options{Dir: t.TempDir(), Bundled: dir})
	old := g.bundled["a"]
	place(t, dir, "b.wasm", named("a", "1"))
	must.Do(t, os.Remove(filepath.Join(dir, "a.wasm")))
	fill(t, l, dir, nil)
	scan(t, g)
	place(t, dir, "a.wasm", named("a", "1"))
	p := must.Get(g.loadBundled(t.Context(), old))(t)
	p.Release()
	if p.Retain() {
		t.Error("it is kept, and nothing would release it")
	}
	if got := versionOf(t, g, "a"); got != "1" {
		t.Errorf("found %s", got)
	}
}

func TestOpen_Bundled_Refusals(t *testing.T) {
	l := hosttest.Open(t, load.New)
	for text, want := range map[string]string{
		"":              "no such file",
		"x":             "one JSON object",
		`{"version":2}`: "update Penstock",
		`{"version":1,"plugins":[{"name":"a","sha256":"` + strings.Repeat("0", 64) + `","size":1,"url":"https://example.com/a","manifest":{"name":"a"}}]}`: "not beside the index",
	} {
		dir := t.TempDir()
		if text != "" {
			place(t, dir, index.FileName, []byte(text))
		}
		if _, err := Open(t.Context(), l, Options{Dir: t.TempDir(), Bundled: dir}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "plugins.bundled") {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}
