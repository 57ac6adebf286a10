// SPDX-License-Identifier: MIT

package load_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

func TestLoader_Load_ReadsWhatTheModuleIs(t *testing.T) {
	g := asm.New(`{"name":"my-plugin","version":"1.2","summary":"s","hold":3,"candidates":9,"config_schema":{"type":"object"}}`)
	g.On(abi.ExportSample, asm.I32(-1)).On(abi.ExportStop, asm.I32(0))
	m := hosttest.Load(t, hosttest.Open(t, load.New), g)
	if m.Name != "my-plugin" || m.Manifest.Version != "1.2" || m.Manifest.Hold != 3 || m.Manifest.Candidates != 9 || m.Manifest.View != load.ViewCandidates {
		t.Errorf("manifest %+v", m.Manifest)
	}
	if len(m.SHA256) != 64 || !m.IsStage() || !m.IsStop() || m.IsTemplate() {
		t.Errorf("%q, stage %v, stop %v, template %v", m.SHA256, m.IsStage(), m.IsStop(), m.IsTemplate())
	}
	if want := "penstock_abi_v1 penstock_describe penstock_sample penstock_stop"; strings.Join(m.Exports, " ") != want {
		t.Errorf("exports %v", m.Exports)
	}
}

func TestLoader_Load_Refuses(t *testing.T) {
	wrongType := hosttest.Plain().Function(abi.Signature{Name: abi.ExportSample, Params: []string{"i64"}, Results: []string{"i32"}}, 0, asm.I32(0))
	importing := func(name string, params ...string) []byte {
		g := hosttest.Plain()
		g.Imports = append(g.Imports, abi.Signature{Name: name, Params: params})
		g.Funcs[1].Code = asm.Unreachable // its call of emit has moved
		return g.Wasm()
	}
	without := func(name string) []byte { g := hosttest.Plain(); g.Omit = name; return g.Wasm() }
	manifest := func(text string) []byte { return asm.New(text).Wasm() }
	many := hosttest.Plain()
	many.Pages = 2000
	mistaken := hosttest.Plain().Put(hosttest.AtScratch, "Sample is misspelt")
	mistaken.Funcs[1].Code = slices.Concat(asm.I32(hosttest.AtScratch), asm.I32(18), mistaken.Call(abi.ImportFail))
	outside := hosttest.Plain()
	outside.Put(4<<16, "x")
	for name, tc := range map[string]struct {
		wasm []byte
		want error
		text string
	}{
		"nothing":           {nil, plugin.ErrNotWasm, "\\0asm"},
		"text":              {[]byte("#!/bin/sh"), plugin.ErrNotWasm, "\\0asm"},
		"a component":       {[]byte("\x00asm\x0d\x00\x01\x00"), plugin.ErrNotWasm, "component"},
		"a cut module":      {hosttest.Plain().Wasm()[:60], plugin.ErrNotWasm, ""},
		"too large":         {bytes.Repeat([]byte("\x00"), abi.LimitModuleBytes+1), plugin.ErrTooLarge, "16777216"},
		"an empty module":   {[]byte("\x00asm\x01\x00\x00\x00"), plugin.ErrVersion, "penstock_abi_v1"},
		"no version":        {without("penstock_abi_v1"), plugin.ErrVersion, "penstock_abi_v1"},
		"no memory":         {without("memory"), plugin.ErrExport, "memory"},
		"no describe":       {without("penstock_describe"), plugin.ErrExport, "penstock_describe"},
		"a wrong type":      {wrongType.Wasm(), plugin.ErrExport, "(i32) → (i32)"},
		"unknown module":    {importing("env.abort"), plugin.ErrImport, `"env"`},
		"unknown function":  {importing("penstock.open_file"), plugin.ErrImport, "penstock.open_file"},
		"import's type":     {importing("penstock.random", "i32"), plugin.ErrImport, "() → (i64)"},
		"file access":       {importing("wasi_snapshot_preview1.sock_open"), plugin.ErrImport, "sock_open"},
		"memory":            {many.Wasm(), plugin.ErrLimit, "2000 pages"},
		"a segment outside": {outside.Wasm(), plugin.ErrNotWasm, "instantiated"},
		"no manifest":       {manifest(""), plugin.ErrManifest, "emit"},
		"a mistake":         {mistaken.Wasm(), plugin.ErrManifest, "bad manifest: Sample is misspelt"},
		"a wrong type in it": {manifest(`{"name":"a","config_schema":{"properties":{"x":{"type":"strin"}}}}`), plugin.ErrManifest,
			"config_schema.properties.x.type: value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'"},
		"a text manifest": {manifest("hello"), plugin.ErrManifest, "JSON"},
		"two manifests":   {manifest(`{"name":"a"}{"name":"b"}`), plugin.ErrManifest, "one JSON object"},
		"a bad name":      {manifest(`{"name":"../a"}`), plugin.ErrManifest, "[a-z0-9]"},
		"view, no sample": {manifest(`{"name":"a","view":"logits"}`), plugin.ErrManifest, "penstock_sample"},
		"a remote schema": {manifest(`{"name":"a","config_schema":{"$ref":"http://localhost/x"}}`), plugin.ErrManifest, "complete in itself"},
		"a file schema":   {manifest(`{"name":"a","config_schema":{"$ref":"file:///etc/passwd"}}`), plugin.ErrManifest, "complete in itself"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := hosttest.Open(t, load.New).Load(context.Background(), tc.wasm)
			if m != nil || !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("got %v, want %v with %q", err, tc.want, tc.text)
			}
		})
	}
}

func TestLoader_Load_FaultsOfSetUp(t *testing.T) {
	sum := func(o *plugin.HostOptions) { o.Limits.SetupFuel = 1 << 20 }
	for name, tc := range map[string]struct {
		guest  *asm.Guest
		export string
		cause  error
	}{
		"describe":   {&asm.Guest{Pages: 1, Funcs: hosttest.Plain().On("penstock_describe", asm.Forever).Funcs[2:]}, abi.ExportDescribe, plugin.CauseFuel},
		"start":      {hosttest.Plain().Function(abi.Signature{Name: "begin"}, 0, asm.Forever), "start function", plugin.CauseFuel},
		"initialize": {hosttest.Plain().On(abi.ExportInitialize, asm.Unreachable), abi.ExportInitialize, plugin.CauseTrap},
		"warm":       {hosttest.Plain().On(abi.ExportWarm, asm.Forever), abi.ExportWarm, plugin.CauseFuel},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "describe" {
				tc.guest.On("penstock_abi_v1")
			}
			if name == "start" {
				tc.guest.Start = "begin"
			}
			_, err := hosttest.Open(t, load.New, sum).Load(context.Background(), tc.guest.Wasm())
			var f *plugin.Fault
			if !errors.As(err, &f) || f.Export != tc.export || !errors.Is(f.Cause, tc.cause) {
				t.Errorf("got %v, want %v in %s", err, tc.cause, tc.export)
			}
		})
	}
}

func TestLoader_Load_WarmMayRefuse(t *testing.T) {
	g := hosttest.Plain()
	g.Put(hosttest.AtScratch, "no such model")
	g.On(abi.ExportWarm, asm.I32(hosttest.AtScratch), asm.I32(13), g.Call("fail"), asm.I32(1))
	_, err := hosttest.Open(t, load.New).Load(context.Background(), g.Wasm())
	var refusal *plugin.Refusal
	if !errors.As(err, &refusal) || refusal.Message != "no such model" {
		t.Errorf("got %v", err)
	}
}

func TestLoader_Load_GivesUpOnTime(t *testing.T) {
	l := hosttest.Open(t, load.New, func(o *plugin.HostOptions) { o.Limits.Compile = time.Nanosecond })
	if _, err := l.Load(context.Background(), hosttest.Plain().Wasm()); !errors.Is(err, plugin.ErrLimit) {
		t.Errorf("got %v", err)
	}
}

func TestLoader_Cache_IsPrivateAndUsed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	must.Do(t, os.Mkdir(dir, 0o755))
	inCache := func(o *plugin.HostOptions) { o.CacheDir = dir }
	hosttest.Load(t, hosttest.Open(t, load.New, inCache), hosttest.Plain())
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	entries, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(entries) == 0 {
		t.Errorf("nothing is cached: %v", err)
	}
	hosttest.Load(t, hosttest.Open(t, load.New, inCache), hosttest.Plain())
}

// Loading a module is nobody's request: it has more time, and no share to keep to.
func TestLoader_Load_HasTimeOfItsOwn(t *testing.T) {
	l := hosttest.Open(t, load.New, hosttest.Tireless, func(o *plugin.HostOptions) {
		o.Limits.SetupTime, o.Limits.LoadTime = time.Nanosecond, 50*time.Millisecond
	})
	if m, err := l.Load(t.Context(), hosttest.Plain().On(abi.ExportWarm, asm.I32(0)).Wasm()); err != nil {
		t.Error(err)
	} else {
		m.Release()
	}
	if _, err := l.Load(t.Context(), hosttest.Plain().On(abi.ExportWarm, asm.Forever).Wasm()); !errors.Is(err, plugin.CauseTime) && !errors.Is(err, plugin.CauseBusy) {
		t.Errorf("error %v", err)
	}
}

func TestManifest_UnknownFields_AreKept(t *testing.T) {
	m := hosttest.Load(t, hosttest.Open(t, load.New), asm.New(`{"name":"guest","Hold":3,"telepathy":{"range":[1,2]}}`))
	if m.Manifest.Hold != 0 {
		t.Errorf("Hold was taken for hold: %d", m.Manifest.Hold)
	}
	text := must.Get(json.Marshal(m.Manifest))(t)
	var shown map[string]any
	if err := json.Unmarshal(text, &shown); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	want := map[string]any{
		"name": "guest", "view": "none", "candidates": 256.0, "hold": 0.0, "place": "first", "Hold": 3.0,
		"telepathy": map[string]any{"range": []any{1.0, 2.0}},
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Error(diff)
	}
}

// A misspelt export is never called; the plugin would load and do nothing.
func TestLoader_Load_NamesMisspeltExports(t *testing.T) {
	for wrong, right := range map[string]string{
		"penstock_sampel": abi.ExportSample, "penstock_acept": abi.ExportAccept, "penstock_Stop": abi.ExportStop, "penstock_rewinds": abi.ExportRewind,
	} {
		g := hosttest.Plain().Function(abi.Signature{Name: wrong}, 0)
		_, err := hosttest.Open(t, load.New).Load(context.Background(), g.Wasm())
		if !errors.Is(err, plugin.ErrExport) || !strings.Contains(err.Error(), wrong+" ") || !strings.Contains(err.Error(), right+" ") {
			t.Errorf("%s: got %v, want it to name %s", wrong, err, right)
		}
	}
}

// What a child compiled is checked as what this process compiled.
func TestLoader_Load_RefusesWhatAChildCompiled(t *testing.T) {
	const large = 64 << 10                                                                           // bytes of a module that is left to a child
	g := asm.New(`{"name":"guest"}`).Function(abi.Signature{}, 0, bytes.Repeat([]byte{0x01}, large)) // nop
	g.Omit = abi.ExportDescribe
	_, here := hosttest.Open(t, load.New).Load(t.Context(), g.Wasm())
	dir := t.TempDir()
	_, child := hosttest.Open(t, load.New, func(o *plugin.HostOptions) { o.CacheDir = dir }).Load(t.Context(), g.Wasm())
	if !errors.Is(here, plugin.ErrExport) || !errors.Is(child, plugin.ErrExport) || here.Error() != child.Error() {
		t.Errorf("in the process: %v\nin a child: %v", here, child)
	}
	if entries, err := filepath.Glob(filepath.Join(dir, "*", "code")); err != nil || len(entries) != 1 {
		t.Errorf("%d entries are in the cache: %v", len(entries), err)
	}
}

// A stage that nobody closes does not hold up a shutdown for longer than that may take.
func TestLoader_Close_GivesUpWithItsContext(t *testing.T) {
	l := hosttest.Open(t, load.New)
	m := hosttest.Load(t, l, asm.New(`{"name":"left"}`).On(abi.ExportAccept, asm.I32(0)))
	s := must.Get(stage.New(m, plugin.RequestInfo{}))(t)
	must.Do(t, s.Reset([]int32{1}, 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Close(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "1 requests") {
		t.Errorf("closed with a stage open: %v", err)
	}
	if _, err := stage.New(m, plugin.RequestInfo{}); !errors.Is(err, plugin.ErrClosed) {
		t.Errorf("a stage of a closed loader: %v", err)
	}
	if _, err := s.Accept(2); err != nil { // the guest is as it was
		t.Error(err)
	}
	waiting := make(chan error, 1)
	go func() { waiting <- l.Close(context.Background()) }()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-waiting; err != nil {
		t.Error(err)
	}
}

// reasons are why a module may be refused.
var reasons = []error{plugin.ErrNotWasm, plugin.ErrTooLarge, plugin.ErrUnsupported, plugin.ErrVersion, plugin.ErrImport, plugin.ErrExport, plugin.ErrManifest, plugin.ErrLimit}

func isReason(err error) bool {
	var fault *plugin.Fault
	var refusal *plugin.Refusal
	for _, r := range reasons {
		if errors.Is(err, r) {
			return true
		}
	}
	return errors.As(err, &fault) && fault.Kind() != "" || errors.As(err, &refusal)
}

// A module of any bytes is refused for one of the reasons, or it is a plugin whose manifest is in
// bounds. It takes neither long nor memory that stays, and comes to the same end when its code is
// taken from the cache.
func FuzzLoader_Load(f *testing.F) {
	sample := hosttest.Plain().On(abi.ExportSample, asm.I32(-1)).On(abi.ExportStop, asm.I32(0))
	for _, g := range []*asm.Guest{hosttest.Plain(), hosttest.Warmed(), sample, asm.New(`{"name":"a","config_schema":{"type":"object","properties":{"x":{"$ref":"#"}}}}`)} {
		f.Add(g.Wasm())
	}
	little := func(o *plugin.HostOptions) { o.Limits.SetupFuel, o.Limits.Memory = 1<<20, 64<<20 }
	plain := hosttest.Open(f, load.New, little)
	f.Fuzz(func(t *testing.T, wasm []byte) {
		caching := hosttest.Open(t, load.New, little, func(o *plugin.HostOptions) { o.CacheDir = t.TempDir() })
		want := loaded(t, plain, wasm)
		for _, way := range []string{"into the cache", "from the cache"} {
			if got := loaded(t, caching, wasm); got != want {
				t.Errorf("%s: %s; without a cache: %s", way, got, want)
			}
		}
	})
}

// loaded is what comes of a module: the plugin's manifest, or why there is none.
func loaded(t *testing.T, l *load.Loader, wasm []byte) string {
	t.Helper()
	begin := time.Now()
	p, err := l.Load(context.Background(), wasm)
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	if err != nil {
		if p != nil || !isReason(err) {
			t.Errorf("%v and %v", p, err)
		}
		return err.Error()
	}
	if m := p.Manifest; m.Candidates < 1 || m.Candidates > abi.LimitCandidates || m.Hold < 0 || m.Hold > abi.LimitHold || p.Name != m.Name {
		t.Errorf("%s has manifest %+v", p.Name, m)
	}
	manifest, err := json.Marshal(p.Manifest)
	if err != nil {
		t.Error(err)
	}
	p.Release()
	if used, _ := l.MemoryUse(); used != 0 {
		t.Errorf("%d bytes of memory are left in use", used)
	}
	return string(manifest)
}
