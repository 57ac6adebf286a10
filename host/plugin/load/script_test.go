// SPDX-License-Identifier: MIT

package load

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

// interprets is a guest in the place of the one that runs scripts: whatever the source is, its plan
// is the same.
func interprets(plan string) []byte {
	g := asm.New(`{"name":"script","summary":"runs","config_schema":{"type":"object","required":["source"],"properties":{"source":{"type":"string","maxLength":20}}}}`).Put(4096, plan)
	g.On(abi.ExportPlan, asm.I32(4096), asm.I32(len(plan)), g.Call(abi.ImportEmit), asm.I32(0))
	return g.On(abi.ExportOpen, asm.I32(0)).On(abi.ExportSample, asm.I32(-1)).On(abi.ExportAccept, asm.I32(0)).Wasm()
}

func interpreting(t *testing.T, plan string) *Loader {
	t.Helper()
	return hosttest.Open(t, New, func(o *plugin.HostOptions) { o.Interpreter = func() []byte { return interprets(plan) } })
}

// A file is a plugin by its own name, with what its script says of itself; its configuration is the
// script's, and reaches the interpreter beside the source.
func TestLoader_LoadFile_Script(t *testing.T) {
	l := interpreting(t, `{"implements":["penstock_open","penstock_sample"],"summary":"mine","config_schema":{"type":"object","properties":{"n":{"type":"integer","default":3}}}}`)
	p := must.Get(l.LoadFile(t.Context(), File{"mine.js", []byte("the source")}))(t)
	defer p.Release()
	m, exports := p.Described()
	if p.Name != "mine" || m.Name != "mine" || m.Summary != "mine" || strings.Contains(strings.Join(exports, " "), abi.ExportAccept) || len(p.SHA256) != 64 {
		t.Errorf("%+v, %q", m, exports)
	}
	config, err := p.CheckConfig(nil)
	if err != nil || string(config) != `{"n":3}` {
		t.Errorf("%s, %v", config, err)
	}
	if _, err := p.CheckConfig([]byte(`{"n":"x"}`)); err == nil {
		t.Error("a wrong configuration is taken")
	}
	if got := string(p.configure(config)); got != `{"source":"the source","config":{"n":3}}` {
		t.Errorf("the interpreter is told %s", got)
	}
	q := must.Get(p.With(t.Context(), "me", config))(t)
	defer q.Release()
	if q.Name != "mine" || q.Module.Name != "mine" || q.Manifest.Summary != "mine" {
		t.Errorf("%+v", q.Manifest)
	}
}

func TestLoader_LoadFile_Script_Refused(t *testing.T) {
	for name, tc := range map[string]struct {
		plan string
		file File
		is   error
	}{
		"name":   {`{}`, File{"A b.js", nil}, plugin.ErrManifest},
		"bytes":  {`{}`, File{"a.js", []byte{0xff}}, plugin.ErrScript},
		"length": {`{}`, File{"a.js", []byte(strings.Repeat("x", 21))}, plugin.ErrScript},
		"plan":   {`{"hold":5}`, File{"a.js", nil}, plugin.ErrScript},
		"schema": {`{"config_schema":{"type":3}}`, File{"a.js", nil}, plugin.ErrScript},
		"module": {`{}`, File{"a.wasm", []byte("x")}, plugin.ErrNotWasm},
	} {
		if _, err := interpreting(t, tc.plan).LoadFile(t.Context(), tc.file); !errors.Is(err, tc.is) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := hosttest.Open(t, New).LoadFile(t.Context(), File{"a.js", nil}); !errors.Is(err, plugin.ErrUnsupported) {
		t.Errorf("without an interpreter: %v", err)
	}
}

// Closing does not wait until what runs scripts is compiled.
func TestLoader_Close_EndsLoading(t *testing.T) {
	l := interpreting(t, "{}")
	l.loading.Lock()
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if _, err := l.Interpreter(ctx); !errors.Is(err, plugin.ErrLoading) {
		t.Fatal(err)
	}
	over := make(chan error)
	go func() { over <- l.Close(t.Context()) }()
	closed := func() bool {
		l.interpreter.mu.Lock()
		defer l.interpreter.mu.Unlock()
		return l.interpreter.closed
	}
	for !closed() {
		runtime.Gosched() // nothing tells of it
	}
	l.loading.Unlock()
	if err := <-over; err != nil {
		t.Error(err)
	}
	if _, _, p, err := l.LoadedInterpreter(); p != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("it was loaded: %v", err)
	}
	if _, err := l.Interpreter(t.Context()); !errors.Is(err, plugin.ErrClosed) {
		t.Error(err)
	}
}
