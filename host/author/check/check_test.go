// SPDX-License-Identifier: MIT

package check

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patient are limits for machines under load.
func patient() plugin.Limits {
	l := plugin.DefaultLimits()
	l.Compile, l.HookTime, l.SetupTime = time.Minute, time.Minute, time.Minute
	return l
}

// configs are what examples cannot do without, by name of the plugin.
var configs = map[string]string{
	"answer-length": `{"tokens":32}`, "reasoning-budget": `{"tokens":8}`, "banned-phrases": `{"phrases":["frog","As an AI","ver"]}`, "regex-stop": `{"pattern":"pon[a-z]+ (☃|sky)"}`,
	"multiple-choice": `{"choices":["green frog","not very old","☃"]}`, "watermark": `{"key":"5f1d7a84db00d2fce00b31a7fc73224f5f1d7a84db00d2fce00b31a7fc73224f","scheme":"green"}`, "grammar": `{"grammar":"root ::= [a-z]"}`,
	"choice": `{"choices":["green frog","not very old"]}`, "form": `{"template":"Who: {who}\nWhere: {where}\n"}`, "smc": `{"without":"e"}`, "shorten": `{"bytes":100000}`, "probe": `{"layers":[{"weights":[[1]],"bias":[0]}]}`,
	"alphabet": `{"scripts":["Latin"]}`, "grammar-aligned": `{"grammar":"root ::= [a-z]+"}`, "sql": `{"tables":{"users":["id","name"]}}`,
	"json-schema": `{"schema":{"type":"object","properties":{"name":{"type":"string"},"list":{"type":"array","items":{"type":"integer"}}}}}`,
}

// The check finds nothing in plugins that are right.
func TestModule_Examples_HaveNoFindings(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "build", "plugins")
	files := must.Get(filepath.Glob(filepath.Join(dir, "*.wasm")))(t)
	if len(files) == 0 {
		t.Fatalf("there are no plugins in %s: run `make plugins` first", dir)
	}
	for _, file := range steadytest.Some(t, files, 6) {
		name := strings.TrimSuffix(filepath.Base(file), ".wasm")
		t.Run(name, func(t *testing.T) {
			wasm := must.Get(os.ReadFile(file))(t)
			r := must.Get(Module(context.Background(), load.File{Content: wasm}, Options{Config: []byte(configs[strings.TrimSuffix(name, "-rust")]), Conversations: 8, Limits: patient()}))(t)
			for _, f := range r.Findings {
				t.Error(f)
			}
			if len(r.Exports) == 0 {
				t.Error("nothing was called")
			}
		})
	}
}

// A module is tried with several configurations at once. The code of one that was compiled is kept.
func TestModule_AtOnce(t *testing.T) {
	wasm, dir := asm.New(`{"name":"guest","view":"none"}`).On(abi.ExportSample, asm.I32(0)).On(abi.ExportAccept, asm.I32(0)).Wasm(), filepath.Join(t.TempDir(), "code")
	var tries sync.WaitGroup
	for range 3 {
		tries.Go(func() {
			r, err := Module(context.Background(), load.File{Content: wasm}, Options{Conversations: 4, Tokens: 4, Limits: patient(), CacheDir: dir})
			if err != nil || len(r.Findings) > 0 {
				t.Errorf("%v, %+v", err, r)
			}
		})
	}
	tries.Wait()
	if kept, err := os.ReadDir(dir); err != nil || len(kept) != 1 {
		t.Errorf("%d modules are kept, %v", len(kept), err)
	}
}

func TestModule_Findings(t *testing.T) {
	plain := func() *asm.Guest { return asm.New(`{"name":"guest","view":"none"}`) }
	counted := func(rewind ...[]byte) *asm.Guest {
		g := plain()
		g.Globals = 1
		g.On(abi.ExportAccept, asm.Global(0), asm.I32(1), asm.Add, asm.SetGlobal(0), asm.I32(0))
		g.On(abi.ExportSample, asm.Global(0), asm.I32(256), asm.Remainder)
		return g.On(abi.ExportRewind, append(rewind, asm.I32(0))...)
	}
	right := counted()
	right.Funcs[len(right.Funcs)-1].Code = bytes.Join([][]byte{asm.Local(0), asm.I32(abi.ParamPromptTokens), right.Call(abi.ImportParam), asm.Wrap, asm.Subtract, asm.SetGlobal(0), asm.I32(0)}, nil)
	grows := plain()
	grows.On(abi.ExportAccept, asm.I32(1), asm.GrowMemory, asm.Drop, asm.I32(0))
	back := asm.New(`{"name":"guest","hold":1}`)
	back.On(abi.ExportOpen, back.Bind(abi.BufferSplice, 8192, 16), asm.I32(0)).On(abi.ExportAccept, asm.Poke(8192, 1), asm.I32(abi.AcceptSplice))
	text := plain()
	text.On(abi.ExportOpen, text.Bind(abi.BufferText, 8192, 256), asm.I32(0)).On(abi.ExportStop, asm.Local(1), asm.EqualZero, asm.When(asm.Unreachable), asm.I32(0))
	shows := plain()
	shows.Globals = 1
	shows.On(abi.ExportTemplate, asm.Global(0), asm.I32(1), asm.Add, asm.SetGlobal(0), asm.I32(8), asm.I32(4), shows.Call(abi.ImportEmit), asm.I32(0))
	long := plain()
	long.On(abi.ExportTemplate, asm.I32(8192), asm.I32(1<<17), long.Call(abi.ImportMessages), asm.I32(1000), asm.Less, asm.EqualZero, asm.When(asm.Unreachable),
		asm.I32(8), asm.I32(4), long.Call(abi.ImportEmit), asm.I32(0))
	words := plain()
	words.Put(12000, `{"role":"user"}`).On(abi.ExportMessages, asm.I32(12000), asm.I32(15), words.Call(abi.ImportEmit), asm.I32(0))
	row := asm.New(`{"name":"guest"}`)
	row.On(abi.ExportOpen, row.Bind(abi.BufferCandidates, 8192, 2048), asm.I32(0)).
		On(abi.ExportSample, asm.I32(2), asm.Local(0), asm.Less, asm.When(asm.I32(-1), asm.Return), asm.I32(8196), asm.Load)
	large := plain()
	large.On(abi.ExportPrepare, asm.Each(1, bytes.Join([][]byte{large.Call(abi.ImportVocabSize), asm.I32(10), asm.ShiftRight, asm.I32(60_000), asm.Multiply}, nil)), asm.I32(0))
	ends := plain() // it traps where it is asked for a token after it has ended the answer with its third
	ends.Globals = 1
	ends.On(abi.ExportAccept, asm.Global(0), asm.I32(1), asm.Add, asm.SetGlobal(0), asm.I32(2), asm.Global(0), asm.Less)
	ends.On(abi.ExportPrepare, asm.I32(2), asm.Global(0), asm.Less, asm.When(asm.Unreachable), asm.I32(0))
	counting := func() *asm.Guest { // it ends the answer after 100 bytes
		g := plain()
		g.Globals = 1
		g.On(abi.ExportOpen, g.Bind(abi.BufferText, 8192, 4096), asm.I32(0))
		return g.On(abi.ExportStop, asm.Global(0), asm.Local(1), asm.Add, asm.SetGlobal(0), asm.I32(100), asm.Global(0), asm.Less)
	}
	for name, tc := range map[string]struct {
		guest *asm.Guest
		want  string // empty: nothing
	}{
		"an end":                            {ends, ""},
		"a stop rule that counts":           {counting(), ""},
		"one with a rewind that forgets it": {counting().On(abi.ExportRewind, asm.I32(0)), "were taken back"},
		"nothing wrong":                     {right, ""},
		"a rewind that forgets":             {counted(), "were taken back"},
		"a trap":                            {plain().On(abi.ExportAccept, asm.Unreachable), "penstock_accept: trap"},
		"a wrong answer":                    {plain().On(abi.ExportAccept, asm.I32(7)), "wrong answer"},
		"a look past the view":              {row, "and the history only. First penstock_sample gave "},
		"an endless loop":                   {plain().On(abi.ExportPrepare, asm.Forever), "fuel exhausted"},
		"much work for real models":         {large, "with a vocabulary of 128256 tokens: plugin guest: penstock_prepare: fuel exhausted"},
		"much work":                         {plain().On(abi.ExportPrepare, asm.Each(1, asm.I32(1_200_000)), asm.I32(0)), "units of fuel"},
		"memory that grows":                 {grows, "memory grows"},
		"taking back for ever":              {back, "too often"},
		"no text":                           {text, "penstock_stop: trap"},
		"a prompt":                          {shows, ""},
		"messages as they were":             {plain().On(abi.ExportMessages, asm.I32(0)), ""},
		"messages that end in a trap":       {plain().On(abi.ExportMessages, asm.Unreachable), "penstock_messages: trap"},
		"messages that are none":            {words, "penstock_messages: wrong answer"},
		"a long conversation":               {long, "penstock_template: trap"},
		"a request it never takes":          {plain().On(abi.ExportOpen, asm.I32(1)), "refuses"},
	} {
		t.Run(name, func(t *testing.T) {
			r := must.Get(Module(context.Background(), load.File{Content: tc.guest.Wasm()}, Options{Conversations: 6, Limits: patient()}))(t)
			got := strings.Join(r.Findings, "; ")
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("found %q, want %q", got, tc.want)
			}
			var out bytes.Buffer
			if err := r.Print(&out); err != nil || !strings.Contains(out.String(), "guest") || !strings.Contains(out.String(), got) {
				t.Errorf("%v\n%s", err, &out)
			}
		})
	}
}

// A plugin whose own splice takes back all the other tokens that it was told has learnt of them
// what must not come there, and may keep to it.
func TestModule_SplicesTakeTheDetourBack(t *testing.T) {
	wasm, err := os.ReadFile(filepath.Join("..", "..", "..", "build", "plugins", "banned-phrases.wasm"))
	if err != nil {
		t.Fatalf("%v: run `make plugins` first", err)
	}
	r, err := Module(context.Background(), load.File{Content: wasm}, Options{Config: []byte(`{"phrases":["once","a","e"]}`), Limits: patient()})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Findings) > 0 {
		t.Errorf("%v %q", err, r.Findings)
	}
}

func TestModule_Refuses(t *testing.T) {
	if _, err := Module(context.Background(), load.File{Content: []byte("hello")}, Options{}); !errors.Is(err, plugin.ErrNotWasm) {
		t.Errorf("%v", err)
	}
	strict := asm.New(`{"name":"guest","config_schema":{"required":["x"]}}`).Wasm()
	if _, err := Module(context.Background(), load.File{Content: strict}, Options{}); err == nil || !strings.Contains(err.Error(), "configuration") {
		t.Errorf("%v", err)
	}
}

// A program is tried on what a made-up model says after each of its branches.
func TestModule_Programs(t *testing.T) {
	open := func(g *asm.Guest) []byte {
		return bytes.Join([][]byte{asm.I32(0), asm.I32(0), g.Call(abi.ImportBranchOpen), asm.SetLocal(0)}, nil)
	}
	wait := func(g *asm.Guest) []byte {
		return bytes.Join([][]byte{asm.Poke(400, 0), asm.I32(400), asm.I32(1), asm.I32(1), asm.I32(0), g.Call(abi.ImportBranchesWait), asm.Drop}, nil)
	}
	draw := func(g *asm.Guest) []byte { // it draws a token, shows it and appends it
		return bytes.Join([][]byte{asm.I32(440), asm.Local(0), asm.I32(0), g.Call(abi.ImportBranchSample), asm.Store,
			asm.I32(0), asm.I32(440), asm.I32(0), asm.I32(1), g.Call(abi.ImportShow), asm.Drop,
			asm.Local(0), asm.I32(440), asm.I32(1), asm.I32(0), g.Call(abi.ImportBranchAppend), asm.Drop}, nil)
	}
	run := func(g *asm.Guest) []byte { // three tokens more, drawn by the host
		return bytes.Join([][]byte{asm.Local(0), asm.I32(0), asm.I32(3), asm.I32(0), g.Call(abi.ImportBranchRun), asm.Drop}, nil)
	}
	for name, tc := range map[string]struct {
		code func(g *asm.Guest) []byte
		want string // empty: nothing
	}{
		"draws":      {func(g *asm.Guest) []byte { return append(open(g), asm.Each(1, asm.I32(20), wait(g), draw(g))...) }, ""},
		"runs":       {func(g *asm.Guest) []byte { return append(open(g), asm.Each(1, asm.I32(5), wait(g), run(g))...) }, ""},
		"never ends": {func(g *asm.Guest) []byte { return append(open(g), asm.Loop(wait(g))...) }, "fuel exhausted"},
		"traps":      {func(g *asm.Guest) []byte { return bytes.Join([][]byte{open(g), wait(g), asm.Unreachable}, nil) }, "penstock_run: trap"},
		"refuses":    {func(*asm.Guest) []byte { return bytes.Join([][]byte{asm.I32(1), asm.Return}, nil) }, "refuses"},
	} {
		t.Run(name, func(t *testing.T) {
			g := asm.New(`{"name":"guest","branches":2}`)
			g.On(abi.ExportRun, tc.code(g), asm.I32(0))
			r := must.Get(Module(context.Background(), load.File{Content: g.Wasm()}, Options{Conversations: 4, Limits: patient()}))(t)
			if got := strings.Join(r.Findings, "; "); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("found %q, want %q", got, tc.want)
			}
		})
	}
}

// The table has the fuel of a warm-up, of which there is one for each model.
func TestModule_Warm_FuelIsTold(t *testing.T) {
	g := asm.New(`{"name":"guest","view":"none"}`).On(abi.ExportWarm, asm.I32(8192), asm.I32(0), asm.I32(2<<16), asm.Fill, asm.I32(0))
	r := must.Get(Module(t.Context(), load.File{Content: g.Wasm()}, Options{Conversations: 1, Limits: patient()}))(t)
	for _, e := range r.Exports {
		if e.Name == abi.ExportWarm && (e.Calls != 1 || e.Fuel < 2<<16/16) {
			t.Errorf("%+v", e)
		}
	}
	if len(r.Exports) != 2 || len(r.Findings) > 0 {
		t.Errorf("%+v, %q", r.Exports, r.Findings)
	}
}

const text = `{"penstock_session":1,"vocabulary":{"pieces":["a","b","c"]},"sessions":[
	{"name":"takes","plugin":{"name":"guest"},"request":{"config":{ "x": 1 },"prompt":[0]},"calls":[{"call":"open"},{"call":"sample","answer":2},{"call":"accept","token":2}]},
	{"plugin":{"name":"guest"},"request":{"config":{"x":1},"prompt":[0]},"calls":[{"call":"open"},{"call":"sample"}]}]}`

// takes is a plugin that always takes a token.
func takes(token int) []byte {
	return asm.New(`{"name":"guest","view":"none"}`).On(abi.ExportSample, asm.I32(token)).Wasm()
}

func folder(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "a.json"), []byte(text), 0o600))
	return dir
}

// run plays the one case of a folder.
func run(t *testing.T, dir string, wasm []byte, update bool) []CaseResult {
	t.Helper()
	cases, err := ReadCases(dir)
	if err != nil || len(cases) != 1 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	return must.Get(cases[0].Run(t.Context(), load.File{Content: wasm}, "", update))(t)
}

func TestCase_Run_FindsTheFirstDifference(t *testing.T) {
	dir := folder(t, text)
	for _, r := range run(t, dir, takes(2), false) {
		if r.Difference != nil {
			t.Error(r)
		}
	}
	results := run(t, dir, takes(1), false)
	if d := results[0].Difference; d == nil || d.Call != 2 || d.Name != "sample" || d.Field != "answer" {
		t.Errorf("%+v", d)
	}
	for _, want := range []string{"a.json, session 1 (takes) differs at call 2, sample, answer token 1, in answer", "the case says", "the plugin:"} {
		if !strings.Contains(results[0].String(), want) {
			t.Errorf("%s: no %q", results[0], want)
		}
	}
	if results[1].Difference != nil {
		t.Errorf("a call without an outcome differs: %s", results[1])
	}
}

func TestCase_Run_Update(t *testing.T) {
	dir := folder(t, text)
	if results := run(t, dir, takes(1), true); results[0].Updated != 1 || results[1].Updated != 1 {
		t.Errorf("%+v", results)
	}
	written, err := os.ReadFile(filepath.Join(dir, "a.json"))
	if err != nil || !strings.Contains(string(written), "\n        "+`{"call": "sample", "answer": 1}`) {
		t.Errorf("%v\n%s", err, written)
	}
	for _, r := range run(t, dir, takes(1), false) {
		if r.Difference != nil {
			t.Error(r)
		}
	}
	if run(t, dir, takes(1), true); !same(t, dir, written) {
		t.Error("a second update changes the file")
	}
	if d := run(t, dir, takes(2), false)[1].Difference; d == nil {
		t.Error("what was written down is not compared")
	}
}

func same(t *testing.T, dir string, want []byte) bool {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(dir, "a.json"))
	return err == nil && string(got) == string(want)
}

func TestCase_Run_RecordedRequest(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	others := strings.Replace(text, `"sessions":[`, `"sessions":[{"plugin":{"name":"other"},"request":{"prompt":[0]},"calls":[{"call":"open"}]},`, 1)
	if _, err := z.Write([]byte(others)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "a.json.gz"), packed.Bytes(), 0o600))
	if results := run(t, dir, takes(1), true); len(results) != 2 || results[0].Session != 2 || results[0].Updated != 1 {
		t.Errorf("%+v", results)
	}
	if written, err := os.ReadFile(filepath.Join(dir, "a.json.gz")); err != nil || written[0] != 0x1f {
		t.Errorf("it is not packed any more: %v", err)
	}
	for _, r := range run(t, dir, takes(1), false) {
		if r.Difference != nil {
			t.Error(r)
		}
	}
}

func TestReadCases_Errors(t *testing.T) {
	if cases, err := ReadCases(filepath.Join(t.TempDir(), "absent")); err != nil || len(cases) != 0 {
		t.Errorf("%v %v", cases, err)
	}
	if _, err := ReadCases(folder(t, `{"penstock_session":1,"sesions":[]}`)); err == nil || !strings.Contains(err.Error(), "a.json") || !strings.Contains(err.Error(), "sesions") {
		t.Errorf("%v", err)
	}
	cases := must.Get(ReadCases(folder(t, strings.ReplaceAll(text, `"guest"`, `"other"`))))(t)
	if _, err := cases[0].Run(t.Context(), load.File{Content: takes(1)}, "", false); err == nil || !strings.Contains(err.Error(), `no session of the plugin "guest"; sessions[0].plugin.name is "other"`) {
		t.Errorf("%v", err)
	}
}

func TestConfigs_EachOnce(t *testing.T) {
	cases := must.Get(ReadCases(folder(t, text)))(t)
	if got := Configs(cases); len(got) != 1 || string(got[0]) != `{"x":1}` {
		t.Errorf("%q", got)
	}
}
