// SPDX-License-Identifier: MIT

package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// planning is a guest whose plan leaves out sample, asks for tokens, opens a grammar and leaves the
// first token in memory, by which prepare answers. A configuration that is not {} is refused.
func planning(text string) *asm.Guest {
	const at, tokens = 4096, 4300
	g := asm.New(`{"name":"guest"}`).Put(at, text).Put(at+64, `{"implements":["penstock_prepare"]}`).Put(at+128, "no such rule")
	g.On(abi.ExportPlan, asm.I32(0), asm.I32(0), g.Call(abi.ImportConfig), asm.I32(2), asm.Subtract,
		asm.When(asm.I32(at+128), asm.I32(12), g.Call(abi.ImportFail), asm.I32(1), asm.Return),
		asm.I32(at), asm.I32(len(text)), asm.I32(0), asm.I32(tokens), asm.I32(8), g.Call(abi.ImportTokenize), asm.Drop,
		asm.I32(0), asm.I32(at), asm.I32(len(text)), g.Call(abi.ImportGrammarOpen), asm.Drop,
		asm.I32(at+64), asm.I32(35), g.Call(abi.ImportEmit), asm.I32(0))
	return g.On(abi.ExportSample, asm.Unreachable).On(abi.ExportPrepare, asm.I32(tokens), asm.Load, asm.I32(0), asm.Multiply)
}

func TestRecorder_Plan_IsReplayed(t *testing.T) {
	p := hosttest.Load(t, hosttest.Open(t, load.New), planning("hello"))
	planned, err := p.With(t.Context(), "me", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer planned.Release()
	s, err := stage.New(planned, plugin.RequestInfo{})
	if err != nil {
		t.Fatal(err)
	}
	f := file(t, `"request":{"prompt":[1]},"calls":[]`)
	f.Sessions[0].Plan = New(planned, plugin.RequestInfo{}).Plan
	r := Record(s, func([]Token) {}, func(c Call) bool {
		f.Sessions[0].Calls = append(f.Sessions[0].Calls, c)
		return true
	})
	if err := r.Reset([]Token{1}, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Prepare(); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	var did []string
	for _, d := range f.Sessions[0].Plan {
		did = append(did, d.Do)
	}
	if got := strings.Join(did, " "); got != "tokenize grammar_open" {
		t.Errorf("the plan did %s", got)
	}
	var b bytes.Buffer
	if err := f.Stream(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if f, err = Read(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if d := play(t, f, planning("hello").Wasm()); d != nil {
		t.Error(d)
	}
	player, err := NewPlayer(t.Context(), load.File{Content: planning("another").Wasm()}, f, plugin.HostOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = player.Close() }()
	if _, err := player.Play(t.Context(), &f.Sessions[0]); err == nil || !strings.Contains(err.Error(), `the plan for request.config: it has "another" tokenized`) {
		t.Errorf("a plan that asks for something else: %v", err)
	}
	if _, err := Read(strings.NewReader(strings.Replace(text, `"do":"tokenize"`, `"do":"telepathy"`, 1))); err == nil || !strings.Contains(err.Error(), "plan[0]") {
		t.Errorf("a file with an unknown deed: %v", err)
	}
}

// What a plan refuses is how the session's first call comes out.
func TestPlayer_Play_RefusedPlan(t *testing.T) {
	for calls, want := range map[string]string{
		`{"call":"open","refusal":"no such rule"}`: "",
		`{"call":"open"},{"call":"prepare"}`:       `call 1, open, at answer token 1 (position 0): refusal: recorded none, came "no such rule"`,
	} {
		d := play(t, file(t, `"request":{"config":{"a":1}},"calls":[`+calls+`]`), planning("x").Wasm())
		if (d == nil) != (want == "") || d != nil && d.String() != want {
			t.Errorf("%s: %v, want %q", calls, d, want)
		}
	}
	faulty := hosttest.Plain().Put(4096, "x is null")
	faulty.On(abi.ExportPlan, asm.I32(4096), asm.I32(9), faulty.Call(abi.ImportFail), asm.Unreachable)
	if d := play(t, file(t, `"calls":[{"call":"open","fault":{"export":"penstock_plan","kind":"error"}}]`), faulty.Wasm()); d != nil {
		t.Error(d)
	}
	f := file(t, `"calls":[{"call":"open"}]`)
	p, err := NewPlayer(t.Context(), load.File{Content: faulty.Wasm()}, f, plugin.HostOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	if changed, err := p.Update(t.Context(), &f.Sessions[0]); err != nil || changed != 1 {
		t.Errorf("%d changed, %v", changed, err)
	}
	if text, err := json.Marshal(f.Sessions[0].Calls); err != nil || string(text) != `[{"call":"open","fault":{"export":"penstock_plan","kind":"error","detail":"x is null"}}]` {
		t.Errorf("%s, %v", text, err)
	}
}

// A request that went on without a plugin, since its plan had a fault, is replayed so.
func TestRecorder_Skipped_IsReplayed(t *testing.T) {
	faulty := hosttest.Plain().On(abi.ExportPlan, asm.Unreachable).On(abi.ExportAccept, asm.I32(0))
	p := hosttest.Load(t, hosttest.Open(t, load.New), faulty)
	_, err := p.With(t.Context(), "me", nil)
	var fault *plugin.Fault
	if !errors.As(err, &fault) {
		t.Fatal(err)
	}
	skipped, err := p.Skipped(fault)
	if err != nil {
		t.Fatal(err)
	}
	defer skipped.Release()
	s, err := stage.New(skipped, plugin.RequestInfo{Skip: true})
	if err != nil {
		t.Fatal(err)
	}
	f := file(t, `"request":{"prompt":[1]},"calls":[]`)
	r := Record(s, func([]Token) {}, func(c Call) bool {
		f.Sessions[0].Calls = append(f.Sessions[0].Calls, c)
		return true
	})
	if err := r.Reset([]Token{1}, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Accept(2); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if calls := f.Sessions[0].Calls; len(calls) != 1 || calls[0].Call != CallOpen || calls[0].Fault == nil || calls[0].Fault.Export != abi.ExportPlan {
		t.Errorf("%+v", calls)
	}
	if d := play(t, f, faulty.Wasm()); d != nil {
		t.Error(d)
	}
}
