// SPDX-License-Identifier: MIT

package registry

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/script"
	"github.com/penstock/penstock/tools/must"
)

// openScripted opens a registry that can run scripts.
func openScripted(t *testing.T, o Options) *Registry {
	t.Helper()
	l := hosttest.Open(t, load.New, func(o *plugin.HostOptions) {
		o.Vocabulary, o.Interpreter = nil, script.Module
	})
	g := must.Get(Open(context.Background(), l, o))(t)
	must.Close(t, g)
	return g
}

// source is a script with a summary.
func source(summary string) []byte {
	return []byte(`export const plugin = {summary: "` + summary + `"}; export function sample(c) {}`)
}

// Nothing is compiled until a script is used, and then once for all who use one.
func TestRegistry_Script_LoadedAtFirstUse(t *testing.T) {
	g := openScripted(t, Options{Dir: t.TempDir(), Scripts: true})
	expect(t, g, "script ready")
	if i, err := g.Get(script.Name); err != nil || i.Manifest != nil || i.SHA256 == "" || i.File != "" {
		t.Errorf("before: %+v, %v", i, err)
	}
	m := withModel(t, g, plugin.ModelOptions{Model: plugin.Model{Name: "one"}, Vocabulary: hosttest.Words{}})
	var group sync.WaitGroup
	found := make([]*load.Plugin, 4)
	for n := range found {
		group.Go(func() {
			var err error
			if found[n], err = g.FindFor(t.Context(), script.Name, m); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for range abi.LimitFaults { // of one client's script, of which others are not told
		found[0].Module.Faulted(&plugin.Fault{Plugin: "theirs", Export: abi.ExportSample, Cause: plugin.CauseTrap}, &plugin.RequestInfo{Client: "bob"})
	}
	if found[0].Health().Faults == 0 {
		t.Error("the faults are not counted")
	}
	expect(t, g, "script 1.0.0 ready")
	for _, p := range found {
		if p != found[0] {
			t.Error("it was loaded more than once")
		}
		p.Release()
	}
	if i, err := g.Get(script.Name); err != nil || i.Manifest == nil || i.Manifest.Name != script.Name || i.Faults != 0 || i.LastFault != "" {
		t.Errorf("after: %+v, %v", i, err)
	}
}

// Who waits for the first load may leave.
func TestRegistry_Script_LoadingIsLeft(t *testing.T) {
	g := openScripted(t, Options{Dir: t.TempDir(), Scripts: true})
	m := withModel(t, g, plugin.ModelOptions{Vocabulary: hosttest.Words{}})
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if _, err := g.FindFor(ctx, script.Name, m); !errors.Is(err, plugin.ErrLoading) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	p := must.Get(g.FindFor(t.Context(), script.Name, m))(t)
	p.Release()
}

// Scripts of the folder follow their files, the name of the built-in plugin is nobody's, and a
// module and a script do not replace each other.
func TestRegistry_Script_Folder(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "a.js", source("one"))
	place(t, dir, "b.wasm", named("b", "1"))
	place(t, dir, "broken.js", []byte("export {"))
	place(t, dir, "script.wasm", named("script", "1"))
	place(t, dir, "twice.js", source("script"))
	place(t, dir, "twice.wasm", named("twice", "module"))
	g := openScripted(t, Options{Dir: dir})
	expect(t, g, "a  ready, b 1 ready, broken failed, script failed, twice  ready, twice failed")
	if i, err := g.Get("a"); err != nil || i.Manifest.Summary != "one" || len(i.Exports) == 0 || i.SHA256 != sumOf(source("one")) {
		t.Errorf("%+v, %v", i, err)
	}
	place(t, dir, "a.js", source("two"))
	scan(t, g)
	if i, err := g.Get("a"); err != nil || i.Manifest.Summary != "two" {
		t.Errorf("%+v, %v", i, err)
	}
	place(t, dir, "a.js", []byte("\n\nexport {"))
	scan(t, g)
	if i, err := g.Get("a"); err != nil || i.Manifest.Summary != "two" || !strings.Contains(i.Error, "script.js:3:") {
		t.Errorf("%+v, %v", i, err)
	}
	for name, tc := range map[string]struct {
		upload func() (Info, bool, error)
		is     error
	}{
		"a script for a module": {func() (Info, bool, error) { return g.UploadScript(t.Context(), "b", source("x")) }, ErrOtherKind},
		"a module for a script": {func() (Info, bool, error) { return g.Upload(t.Context(), named("a", "1")) }, ErrOtherKind},
		"a reserved name":       {func() (Info, bool, error) { return g.TryScript(t.Context(), script.Name, source("x")) }, ErrReserved},
		"a module of that name": {func() (Info, bool, error) { return g.Try(t.Context(), named(script.Name, "1")) }, ErrReserved},
		"a name out of the way": {func() (Info, bool, error) { return g.UploadScript(t.Context(), "../c", source("x")) }, plugin.ErrManifest},
		"a mistake":             {func() (Info, bool, error) { return g.UploadScript(t.Context(), "c", []byte("(")) }, plugin.ErrScript},
		"text that is none":     {func() (Info, bool, error) { return g.UploadScript(t.Context(), "c", []byte("// \xff")) }, plugin.ErrScript},
		"a schema that is broken": {func() (Info, bool, error) {
			return g.UploadScript(t.Context(), "c", []byte(`export const plugin = {config: {type: 3}}; export function sample() {}`))
		}, plugin.ErrScript},
	} {
		if _, _, err := tc.upload(); !errors.Is(err, tc.is) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if i, created, err := g.UploadScript(t.Context(), "a", source("three")); err != nil || created || i.File != "a.js" {
		t.Errorf("%+v, %v, %v", i, created, err)
	}
	if text, err := g.Source("a"); err != nil || string(text) != string(source("three")) {
		t.Errorf("%s, %v", text, err)
	}
	if _, err := g.Source("b"); !errors.Is(err, ErrNoScript) {
		t.Errorf("%v", err)
	}
	if err := g.Remove(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	expect(t, g, "b 1 ready, broken failed, script failed, twice  ready, twice failed")
}

// Without an interpreter scripts of the folder are listed with the reason.
func TestRegistry_Script_NothingRunsThem(t *testing.T) {
	dir := t.TempDir()
	place(t, dir, "a.js", source("one"))
	g := openRegistry(t, dir)
	expect(t, g, "a failed")
}

// Where no request may bring a script, none can have what runs them compiled, either.
func TestRegistry_Script_Off(t *testing.T) {
	g := openScripted(t, Options{Dir: t.TempDir()})
	m := withModel(t, g, plugin.ModelOptions{Vocabulary: hosttest.Words{}})
	if _, err := g.FindFor(t.Context(), script.Name, m); !errors.Is(err, plugin.ErrUnknown) {
		t.Errorf("%v", err)
	}
	if _, _, p, _ := g.loader.LoadedInterpreter(); p != nil {
		t.Error("it is loaded")
	}
}
