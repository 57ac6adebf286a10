// SPDX-License-Identifier: MIT

package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

func openRegistry(t *testing.T, dir string) *Registry {
	t.Helper()
	return openLocked(t, dir, nil)
}

func openLocked(t *testing.T, dir string, lock plugin.Lock) *Registry {
	t.Helper()
	return openWith(t, hosttest.Open(t, load.New), dir, lock)
}

func openWith(t *testing.T, l *load.Loader, dir string, lock plugin.Lock) *Registry {
	t.Helper()
	return openOptions(t, l, Options{Dir: dir, Lock: lock})
}

func openOptions(t *testing.T, l *load.Loader, o Options) *Registry {
	t.Helper()
	g := must.Get(Open(context.Background(), l, o))(t)
	must.Close(t, g)
	return g
}

// named is a module whose manifest has a name and a version.
func named(name, version string) []byte {
	return asm.New(fmt.Sprintf(`{"name":%q,"version":%q}`, name, version)).Wasm()
}

var written = time.Unix(1e9, 0)

// place writes a file with a time of its own: two writes in quick succession may have the same
// otherwise.
func place(t *testing.T, dir, base string, wasm []byte) {
	t.Helper()
	path := filepath.Join(dir, base)
	written = written.Add(time.Hour)
	must.Do(t, errors.Join(os.WriteFile(path, wasm, 0o600), os.Chtimes(path, written, written)))
}

func scan(t *testing.T, g *Registry) {
	t.Helper()
	must.Do(t, g.Scan(context.Background()))
}

// summary is name, version and state of each plugin.
func summary(g *Registry) string {
	var parts []string
	for _, i := range g.List() {
		version := ""
		if i.Manifest != nil {
			version = " " + i.Manifest.Version
		}
		parts = append(parts, i.Name+version+" "+string(i.State))
	}
	return strings.Join(parts, ", ")
}

func expect(t *testing.T, g *Registry, want string) {
	t.Helper()
	if got := summary(g); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRegistry_Scan_FollowsTheFolder(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "first.wasm", named("a", "1"))
	place(t, dir, "broken.wasm", []byte("\x00asm"))
	place(t, dir, "readme.txt", []byte("not a plugin"))
	place(t, dir, ".hidden.wasm", named("h", "1"))
	g := openRegistry(t, dir)
	expect(t, g, "a 1 ready, broken failed")

	place(t, dir, "first.wasm", named("a", "2"))
	place(t, dir, "broken.wasm", named("b", "1"))
	place(t, dir, "second.wasm", named("a", "3"))
	scan(t, g)
	expect(t, g, "a 2 ready, b 1 ready, second failed")

	place(t, dir, "first.wasm", []byte("\x00asm"))
	scan(t, g)
	expect(t, g, "a 2 ready, b 1 ready, second failed")
	if i, err := g.Get("a"); err != nil || i.Error == "" {
		t.Errorf("%+v, %v", i, err)
	}

	place(t, dir, "first.wasm", named("c", "1"))
	place(t, dir, "second.wasm", named("a", "4"))
	must.Do(t, os.Remove(filepath.Join(dir, "broken.wasm")))
	scan(t, g)
	expect(t, g, "a 4 ready, c 1 ready")
}

// A file that could not be loaded since another had its name is loaded once that one is gone, and
// one that is renamed goes on as the plugin that it was.
func TestRegistry_Scan_NamesBecomeFree(t *testing.T) {
	dir := t.TempDir()
	remove := func(base string) {
		t.Helper()
		must.Do(t, os.Remove(filepath.Join(dir, base)))
	}
	place(t, dir, "a.wasm", named("a", "1"))
	place(t, dir, "other.wasm", named("a", "2"))
	g := openRegistry(t, dir)
	expect(t, g, "a 1 ready, other failed")
	remove("a.wasm")
	scan(t, g)
	expect(t, g, "a 2 ready")

	remove("other.wasm")
	place(t, dir, "new.wasm", named("a", "3"))
	scan(t, g)
	expect(t, g, "a 3 ready")

	place(t, dir, "first.wasm", named("a", "4"))
	place(t, dir, "new.wasm", named("b", "1"))
	scan(t, g)
	scan(t, g)
	expect(t, g, "a 4 ready, b 1 ready")
}

// A request that names a file's plugin hears that it is being loaded, also while it waits for
// another one.
func TestRegistry_Find_BeingLoaded_SaysSo(t *testing.T) {
	dir := t.TempDir()
	g := openRegistry(t, dir)
	var heard []error // of both, when the first is done, and when the second is
	g.log = slog.New(listener(func() {
		for _, name := range []string{"slow", "waiting"} {
			_, err := g.Get(name)
			heard = append(heard, err)
		}
	}))
	broken := asm.New("{") // what is logged of it is logged before it is done
	place(t, dir, "slow.wasm", broken.Wasm())
	place(t, dir, "waiting.wasm", broken.Wasm())
	must.Do(t, g.Scan(t.Context()))
	for i, want := range []string{"slow.wasm is new", "waiting.wasm is new", "no such plugin", "waiting.wasm is new"} {
		if len(heard) != 4 || !strings.Contains(heard[i].Error(), want) {
			t.Fatalf("heard %v, want %s", heard, want)
		}
	}
	if _, err := g.Get("slow"); !errors.Is(err, plugin.ErrUnknown) {
		t.Error(err)
	}
}

// listener is a log's handler that calls itself for each line.
type listener func()

func (listener) Enabled(context.Context, slog.Level) bool    { return true }
func (l listener) Handle(context.Context, slog.Record) error { l(); return nil }
func (l listener) WithAttrs([]slog.Attr) slog.Handler        { return l }
func (l listener) WithGroup(string) slog.Handler             { return l }

func TestRegistry_Scan_NoFolder(t *testing.T) {
	expect(t, openRegistry(t, filepath.Join(t.TempDir(), "none")), "")
}

func TestRegistry_Find_KeepsThePlugin(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "a.wasm", named("a", "1"))
	g := openRegistry(t, dir)
	old := must.Get(g.Find(t.Context(), "a"))(t)
	place(t, dir, "a.wasm", named("a", "2"))
	scan(t, g)
	if s, err := stage.New(old, plugin.RequestInfo{}); err != nil {
		t.Errorf("a plugin in use is gone: %v", err)
	} else if err := errors.Join(s.Reset([]int32{1}, 1), s.Close()); err != nil {
		t.Error(err)
	}
	next, err := g.Find(t.Context(), "a")
	if err != nil || next.Manifest.Version != "2" {
		t.Errorf("%+v, %v", next, err)
	}
	old.Release()
	next.Release()
	if old.Retain() {
		t.Error("the old plugin has users")
	}
	if _, err := g.Find(t.Context(), "b"); !errors.Is(err, plugin.ErrUnknown) {
		t.Errorf("got %v", err)
	}
}

func TestRegistry_Upload_SurvivesARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plugins")
	g := openRegistry(t, dir)
	for _, step := range []struct {
		version string
		created bool
	}{{"1", true}, {"2", false}, {"2", false}} {
		info, created, err := g.Upload(context.Background(), named("a", step.version))
		if err != nil || created != step.created || info.State != StateReady || info.Manifest.Version != step.version || len(info.SHA256) != 64 {
			t.Errorf("%+v, created %v, %v", info, created, err)
		}
	}
	before := g.file("a.wasm").plugin
	scan(t, g)
	if g.file("a.wasm").plugin != before {
		t.Error("a scan loaded an uploaded plugin again")
	}
	expect(t, openRegistry(t, dir), "a 2 ready")
	if left, err := filepath.Glob(filepath.Join(dir, ".upload*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

func TestRegistry_Upload_KeepsOtherFiles(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "b.wasm", named("a", "1"))
	g := openRegistry(t, dir)
	must.Both(g.Upload(context.Background(), named("b", "1")))(t)
	must.Both(g.Upload(context.Background(), named("a", "2")))(t)
	expect(t, g, "a 2 ready, b 1 ready")
	expect(t, openRegistry(t, dir), "a 2 ready, b 1 ready")
}

func TestRegistry_Upload_RefusedLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	g := openRegistry(t, dir)
	if _, _, err := g.Upload(context.Background(), named("../x", "1")); !errors.Is(err, plugin.ErrManifest) {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := g.Upload(canceled, named("a", "1")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestRegistry_Try_ChangesNothing: it says what an upload would do.
func TestRegistry_Try_ChangesNothing(t *testing.T) {
	dir := t.TempDir()
	g := openRegistry(t, dir)
	if info, created, err := g.Try(context.Background(), named("a", "1")); err != nil || !created || info.File != "a.wasm" || info.Manifest.Version != "1" || info.Size == 0 {
		t.Errorf("%+v, created %v, %v", info, created, err)
	}
	expect(t, g, "")
	must.Both(g.Upload(context.Background(), named("a", "1")))(t)
	if info, created, err := g.Try(context.Background(), named("a", "2")); err != nil || created || info.Manifest.Version != "2" {
		t.Errorf("%+v, created %v, %v", info, created, err)
	}
	if _, _, err := g.Try(context.Background(), []byte("hello")); !errors.Is(err, plugin.ErrNotWasm) {
		t.Errorf("got %v", err)
	}
	scan(t, g)
	expect(t, g, "a 1 ready")
}

func TestRegistry_Remove_DeletesTheFile(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "a.wasm", named("a", "1"))
	g := openRegistry(t, dir)
	must.Do(t, g.Remove(context.Background(), "a"))
	if err := g.Remove(context.Background(), "a"); !errors.Is(err, plugin.ErrUnknown) {
		t.Errorf("got %v", err)
	}
	expect(t, g, "")
	expect(t, openRegistry(t, dir), "")
}

func TestRegistry_Reset_EndsAQuarantine(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "a.wasm", named("a", "1"))
	g := openRegistry(t, dir)
	p := must.Get(g.Find(t.Context(), "a"))(t)
	defer p.Release()
	for range abi.LimitFaults {
		p.Module.Faulted(&plugin.Fault{Plugin: "a", Export: abi.ExportSample, Cause: plugin.CauseTrap}, &plugin.RequestInfo{Client: "bob"})
	}
	if other, err := g.Find(t.Context(), "a"); err != nil { // for those who did nothing
		t.Error(err)
	} else {
		other.Release()
	}
	expect(t, g, "a 1 quarantined")
	if i, err := g.Reset("a"); err != nil || i.State != StateReady {
		t.Errorf("%+v, %v", i, err)
	}
	if _, err := g.Reset("b"); !errors.Is(err, plugin.ErrUnknown) {
		t.Errorf("got %v", err)
	}
}

func TestRegistry_Hammer_UploadsAndUses(t *testing.T) {
	g := openRegistry(t, t.TempDir())
	must.Both(g.Upload(context.Background(), named("a", "0")))(t)
	var group sync.WaitGroup
	for n := range 4 {
		group.Go(func() {
			for v := range 10 {
				if _, _, err := g.Upload(context.Background(), named("a", fmt.Sprint(n*10+v))); err != nil {
					t.Error(err)
				}
			}
		})
		group.Go(func() {
			for range 50 {
				m, err := g.Find(t.Context(), "a")
				if err != nil {
					t.Error(err)
					return
				}
				begin(t, m)
				m.Release()
			}
		})
	}
	group.Wait()
	scan(t, g)
	if len(g.List()) != 1 {
		t.Errorf("%s", summary(g))
	}
}

func TestRegistry_Watch_SeesAChange(t *testing.T) {
	dir := t.TempDir()
	g := openRegistry(t, dir)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(context.Background())
		go g.Watch(ctx)
		place(t, dir, "a.wasm", named("a", "1"))
		synctest.Wait()
		expect(t, g, "")
		time.Sleep(watchInterval)
		synctest.Wait()
		expect(t, g, "a 1 ready")
		stop()
	})
}

func lockOf(t *testing.T, entries ...string) plugin.Lock {
	t.Helper()
	return must.Get(plugin.NewLock(entries))(t)
}

// With a lock nothing else is loaded: not from the folder, not in the place of what is there, and
// not by upload.
func TestRegistry_Lock_AllowsNothingElse(t *testing.T) {
	dir := t.TempDir()
	one, two, other := named("a", "1"), named("a", "2"), named("b", "1")
	place(t, dir, "a.wasm", one)
	place(t, dir, "b.wasm", other)
	g := openLocked(t, dir, lockOf(t, plugin.LockEntry("a", sumOf(one)), plugin.LockEntry("a", sumOf(two)), plugin.LockEntry("c", sumOf(other))))
	if got := summary(g); got != "a 1 ready, b failed" {
		t.Errorf("%s", got)
	}
	if _, err := g.Find(t.Context(), "b"); !errors.Is(err, plugin.ErrUnknown) {
		t.Errorf("b can be used: %v", err)
	}
	place(t, dir, "a.wasm", named("a", "3"))
	scan(t, g)
	if got := summary(g); got != "a 1 ready, b failed" {
		t.Errorf("a new file in the place of a: %s", got)
	}
	place(t, dir, "a.wasm", two)
	scan(t, g)
	if got := summary(g); got != "a 2 ready, b failed" {
		t.Errorf("the other version that is allowed: %s", got)
	}
	for name, tc := range map[string]struct {
		wasm []byte
		says string
	}{
		"unknown":            {named("a", "4"), "add NAME@sha256:" + sumOf(named("a", "4"))},
		"under another name": {other, "the entry would be b@sha256:" + sumOf(other)},
	} {
		for _, upload := range []func(context.Context, []byte) (Info, bool, error){g.Upload, g.Try} {
			if _, _, err := upload(t.Context(), tc.wasm); !errors.Is(err, plugin.ErrLocked) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, _, err := g.Upload(t.Context(), one); err != nil {
		t.Errorf("what is allowed: %v", err)
	}
}
