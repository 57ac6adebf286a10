// SPDX-License-Identifier: MIT

package cost

import (
	"bytes"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

// sampler leaves its candidates as they are, and grows its memory by a page for each token.
func sampler() []byte {
	g := asm.New(`{"name":"guest"}`)
	g.On(abi.ExportOpen, g.Bind(abi.BufferCandidates, 8192, 2048), asm.I32(0))
	g.On(abi.ExportSample, asm.I32(-1))
	return g.On(abi.ExportAccept, asm.I32(1), asm.GrowMemory, asm.Drop, asm.I32(0)).Wasm()
}

func TestModule_MeasuresAllHooks(t *testing.T) {
	r := must.Get(Module(t.Context(), load.File{Content: sampler()}, Options{Vocabulary: 1000, Tokens: 10}))(t)
	var got []string
	for _, f := range append(r.Hooks, r.BuiltIn[:2]...) {
		got = append(got, f.Name+" "+f.Input)
		if f.Median <= 0 || f.P99 < f.Median {
			t.Errorf("%+v", f)
		}
	}
	want := "penstock_sample whole row,penstock_accept ,penstock_sample best 256,min_p 0.05 whole row,min_p 0.05 best 256"
	if strings.Join(got, ",") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if r.Hooks[0].Fuel <= 0 || r.Hooks[0].Fuel > r.Hooks[0].Limit || len(r.BuiltIn) != 2*len(builtIn) {
		t.Errorf("%+v", r)
	}
	if grown := r.Memory.End - r.Memory.Opened; grown != 10<<16 {
		t.Errorf("memory grew by %d bytes", grown)
	}
	var out bytes.Buffer
	if err := r.Print(&out); err != nil || !strings.Contains(out.String(), "min_p 0.05") || !strings.Contains(out.String(), "640 KiB more") {
		t.Errorf("%v\n%s", err, &out)
	}
}

// Drafts are measured with the call after which the host asks for them, and grammars are there.
func TestModule_DraftsAndGrammars(t *testing.T) {
	g := asm.New(`{"name":"guest","view":"none"}`).Put(12000, "root ::= [a-z]")
	g.On(abi.ExportOpen, g.Bind(abi.BufferSplice, 8192, 64), asm.I32(abi.GrammarGBNF), asm.I32(12000), asm.I32(14), g.Call(abi.ImportGrammarOpen), asm.I32(0), asm.Less, asm.When(asm.Unreachable), asm.I32(0))
	g.On(abi.ExportDraft, asm.Poke(8200, 7), asm.I32(1))
	r, err := Module(t.Context(), load.File{Content: g.Wasm()}, Options{Vocabulary: 1000, Tokens: 10})
	if err != nil || len(r.Hooks) != 1 || r.Hooks[0].Name != abi.ExportAccept || r.Hooks[0].Input != "with a draft" || r.Hooks[0].Fuel <= 0 {
		t.Errorf("%+v %v", r, err)
	}
}

// Of a program the stretches from wait to wait are measured.
func TestModule_Programs(t *testing.T) {
	g := asm.New(`{"name":"guest","branches":3}`)
	g.On(abi.ExportRun, asm.I32(0), asm.I32(0), g.Call(abi.ImportBranchOpen), asm.SetLocal(0), asm.Each(1, asm.I32(9),
		asm.Poke(400, 0), asm.I32(400), asm.I32(1), asm.I32(1), asm.I32(0), g.Call(abi.ImportBranchesWait), asm.Drop,
		asm.I32(440), asm.Local(0), asm.I32(0), g.Call(abi.ImportBranchSample), asm.Store,
		asm.I32(0), asm.I32(440), asm.I32(0), asm.I32(1), g.Call(abi.ImportShow), asm.Drop,
		asm.Local(0), asm.I32(440), asm.I32(1), asm.I32(0), g.Call(abi.ImportBranchAppend), asm.Drop), asm.I32(0))
	r, err := Module(t.Context(), load.File{Content: g.Wasm()}, Options{Vocabulary: 1000, Tokens: 10})
	if err != nil || len(r.Hooks) != 1 || len(r.BuiltIn) == 0 {
		t.Fatalf("%+v %v", r, err)
	}
	if f := r.Hooks[0]; f.Name != abi.ExportRun || f.Input != "each wait, 3 branches" || f.Median <= 0 || f.Fuel <= 0 || f.Fuel > f.Limit {
		t.Errorf("%+v", f)
	}
}

func TestModule_Templates(t *testing.T) {
	g := asm.New(`{"name":"guest","view":"none"}`)
	g.On(abi.ExportTemplate, asm.I32(8), asm.I32(4), g.Call(abi.ImportEmit), asm.I32(0))
	r, err := Module(t.Context(), load.File{Content: g.Wasm()}, Options{Vocabulary: 300, Tokens: 3})
	if err != nil || len(r.Hooks) != 1 || r.Hooks[0].Median <= 0 || len(r.BuiltIn) != 0 {
		t.Errorf("%+v %v", r, err)
	}
}

func TestModule_Errors(t *testing.T) {
	for want, wasm := range map[string][]byte{
		"token 1: plugin guest: penstock_sample: trap": asm.New(`{"name":"guest","view":"none"}`).On(abi.ExportSample, asm.Unreachable).Wasm(),
		"missing property 'x'":                         asm.New(`{"name":"guest","config_schema":{"required":["x"]}}`).Wasm(),
	} {
		if _, err := Module(t.Context(), load.File{Content: wasm}, Options{Vocabulary: 300, Tokens: 3}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// What the host tells a request is there, and the built-in samplers are left out where nobody asks.
func TestModule_Alone(t *testing.T) {
	g := asm.New(`{"name":"guest"}`)
	g.On(abi.ExportMessages, asm.I32(abi.ParamTime), g.Call(abi.ImportParam), asm.I64(-1), asm.Equal64, asm.When(asm.Unreachable), asm.I32(0))
	r, err := Module(t.Context(), load.File{Content: g.Wasm()}, Options{Vocabulary: 1000, Tokens: 10})
	if err != nil || len(r.Hooks) != 1 || r.Hooks[0].Name != abi.ExportMessages {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = Module(t.Context(), load.File{Content: sampler()}, Options{Vocabulary: 1000, Tokens: 10, Alone: true})
	if err != nil || len(r.Hooks) != 3 || len(r.BuiltIn) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
