// SPDX-License-Identifier: MIT

package plugin

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/plugins/abi"
)

func TestRuntime_Load_ReadsWhatTheModuleIs(t *testing.T) {
	g := newGuest(`{"name":"my-plugin","version":"1.2","summary":"s","hold":3,"candidates":9,"config_schema":{"type":"object"}}`)
	g.On(abi.ExportSample, i32(-1)).On(abi.ExportStop, i32(0))
	m := mustLoad(t, newTestRuntime(t), g)
	if m.Name != "my-plugin" || m.Manifest.Version != "1.2" || m.Manifest.Hold != 3 || m.Manifest.Candidates != 9 || m.Manifest.View != ViewCandidates {
		t.Errorf("manifest %+v", m.Manifest)
	}
	if len(m.SHA256) != 64 || !m.IsStage() || !m.IsStop() || m.IsTemplate() {
		t.Errorf("%q, stage %v, stop %v, template %v", m.SHA256, m.IsStage(), m.IsStop(), m.IsTemplate())
	}
	if want := "penstock_abi_v1 penstock_describe penstock_sample penstock_stop"; strings.Join(m.Exports, " ") != want {
		t.Errorf("exports %v", m.Exports)
	}
}

func TestRuntime_Load_Refuses(t *testing.T) {
	wrongType := plain().Function(abi.Signature{Name: abi.ExportSample, Params: []string{"i64"}, Results: []string{"i32"}}, 0, i32(0))
	importing := func(name string, params ...string) []byte {
		g := plain()
		g.Imports = append(g.Imports, abi.Signature{Name: name, Params: params})
		g.Funcs[1].Code = unreachable // its call of emit has moved
		return g.Wasm()
	}
	without := func(name string) []byte { g := plain(); g.Omit = name; return g.Wasm() }
	manifest := func(text string) []byte { return newGuest(text).Wasm() }
	many := plain()
	many.Pages = 2000
	outside := plain()
	outside.Put(4<<16, "x")
	for name, tc := range map[string]struct {
		wasm []byte
		want error
		text string
	}{
		"nothing":           {nil, ErrNotWasm, "\\0asm"},
		"text":              {[]byte("#!/bin/sh"), ErrNotWasm, "\\0asm"},
		"a component":       {[]byte("\x00asm\x0d\x00\x01\x00"), ErrNotWasm, "component"},
		"a cut module":      {plain().Wasm()[:60], ErrNotWasm, ""},
		"too large":         {bytes.Repeat([]byte("\x00"), abi.LimitModuleBytes+1), ErrTooLarge, "16777216"},
		"an empty module":   {[]byte("\x00asm\x01\x00\x00\x00"), ErrVersion, "penstock_abi_v1"},
		"no version":        {without("penstock_abi_v1"), ErrVersion, "penstock_abi_v1"},
		"no memory":         {without("memory"), ErrExport, "memory"},
		"no describe":       {without("penstock_describe"), ErrExport, "penstock_describe"},
		"a wrong type":      {wrongType.Wasm(), ErrExport, "(i32) → (i32)"},
		"unknown module":    {importing("env.abort"), ErrImport, `"env"`},
		"unknown function":  {importing("penstock.open_file"), ErrImport, "penstock.open_file"},
		"import's type":     {importing("penstock.random", "i32"), ErrImport, "() → (i64)"},
		"file access":       {importing("wasi_snapshot_preview1.sock_open"), ErrImport, "sock_open"},
		"memory":            {many.Wasm(), ErrLimit, "2000 pages"},
		"a segment outside": {outside.Wasm(), ErrNotWasm, "instantiated"},
		"no manifest":       {manifest(""), ErrManifest, "emit"},
		"a text manifest":   {manifest("hello"), ErrManifest, "JSON"},
		"two manifests":     {manifest(`{"name":"a"}{"name":"b"}`), ErrManifest, "one JSON object"},
		"a bad name":        {manifest(`{"name":"../a"}`), ErrManifest, "[a-z0-9]"},
		"view, no sample":   {manifest(`{"name":"a","view":"logits"}`), ErrManifest, "penstock_sample"},
		"a remote schema":   {manifest(`{"name":"a","config_schema":{"$ref":"http://localhost/x"}}`), ErrManifest, "complete in itself"},
		"a file schema":     {manifest(`{"name":"a","config_schema":{"$ref":"file:///etc/passwd"}}`), ErrManifest, "complete in itself"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := newTestRuntime(t).Load(context.Background(), tc.wasm)
			if m != nil || !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("got %v, want %v with %q", err, tc.want, tc.text)
			}
		})
	}
}

func TestRuntime_Load_FaultsOfSetUp(t *testing.T) {
	sum := func(o *Options) { o.Limits.SetupFuel = 1 << 20 }
	for name, tc := range map[string]struct {
		guest  *guestModule
		export string
		cause  error
	}{
		"describe":   {&guestModule{Pages: 1, Funcs: plain().On("penstock_describe", forever).Funcs[2:]}, abi.ExportDescribe, CauseFuel},
		"start":      {plain().Function(abi.Signature{Name: "begin"}, 0, forever), "start function", CauseFuel},
		"initialize": {plain().On(abi.ExportInitialize, unreachable), abi.ExportInitialize, CauseTrap},
		"warm":       {plain().On(abi.ExportWarm, forever), abi.ExportWarm, CauseFuel},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "describe" {
				tc.guest.On("penstock_abi_v1")
			}
			if name == "start" {
				tc.guest.Start = "begin"
			}
			_, err := newTestRuntime(t, sum).Load(context.Background(), tc.guest.Wasm())
			var f *Fault
			if !errors.As(err, &f) || f.Export != tc.export || !errors.Is(f.Cause, tc.cause) {
				t.Errorf("got %v, want %v in %s", err, tc.cause, tc.export)
			}
		})
	}
}

func TestRuntime_Load_WarmMayRefuse(t *testing.T) {
	g := plain()
	g.Put(atScratch, "no such model")
	g.On(abi.ExportWarm, i32(atScratch), i32(13), g.Call("fail"), i32(1))
	_, err := newTestRuntime(t).Load(context.Background(), g.Wasm())
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Message != "no such model" {
		t.Errorf("got %v", err)
	}
}

func TestRuntime_Load_GivesUpOnTime(t *testing.T) {
	r := newTestRuntime(t, func(o *Options) { o.Limits.Compile = time.Nanosecond })
	if _, err := r.Load(context.Background(), plain().Wasm()); !errors.Is(err, ErrLimit) {
		t.Errorf("got %v", err)
	}
}

func TestRuntime_Cache_IsPrivateAndUsed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	inCache := func(o *Options) { o.CacheDir = dir }
	mustLoad(t, newTestRuntime(t, inCache), plain())
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	entries, err := filepath.Glob(filepath.Join(dir, "*", "*", "*"))
	if err != nil || len(entries) == 0 {
		t.Errorf("nothing is cached: %v", err)
	}
	mustLoad(t, newTestRuntime(t, inCache), plain())
}
