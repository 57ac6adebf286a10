// SPDX-License-Identifier: MIT

package check

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
	p "github.com/penstock/penstock/plugins/asm"
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
	"answer-length": `{"tokens":32}`, "banned-phrases": `{"phrases":["frog","As an AI","ver"]}`, "regex-stop": `{"pattern":"pon[a-z]+ (☃|sky)"}`,
	"multiple-choice": `{"choices":["green frog","not very old","☃"]}`, "watermark": `{"key":42}`, "grammar": `{"grammar":"root ::= [a-z]"}`,
	"json-schema": `{"schema":{"type":"object","properties":{"name":{"type":"string"},"list":{"type":"array","items":{"type":"integer"}}}}}`,
}

func TestModule_Examples_HaveNoFindings(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "build", "plugins")
	files, err := filepath.Glob(filepath.Join(dir, "*.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("there are no plugins in %s: run `make plugins` first", dir)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".wasm")
		t.Run(name, func(t *testing.T) {
			wasm, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r, err := Module(context.Background(), wasm, Options{Config: []byte(configs[name]), Conversations: 8, Limits: patient()})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Findings {
				t.Error(f)
			}
			if len(r.Exports) == 0 {
				t.Error("nothing was called")
			}
		})
	}
}

func TestModule_Findings(t *testing.T) {
	plain := func() *p.Guest { return p.New(`{"name":"guest","view":"none"}`) }
	counted := func(rewind ...[]byte) *p.Guest {
		g := plain()
		g.Globals = 1
		g.On(abi.ExportAccept, p.Global(0), p.I32(1), p.Add, p.SetGlobal(0), p.I32(0))
		g.On(abi.ExportSample, p.Global(0), p.I32(256), p.Remainder)
		return g.On(abi.ExportRewind, append(rewind, p.I32(0))...)
	}
	right := counted()
	right.Funcs[len(right.Funcs)-1].Code = bytes.Join([][]byte{p.Local(0), p.I32(abi.ParamPromptTokens), right.Call(abi.ImportParam), p.Wrap, p.Subtract, p.SetGlobal(0), p.I32(0)}, nil)
	grows := plain()
	grows.On(abi.ExportAccept, p.I32(1), p.GrowMemory, p.Drop, p.I32(0))
	back := p.New(`{"name":"guest","hold":1}`)
	back.On(abi.ExportOpen, back.Bind(abi.BufferSplice, 8192, 16), p.I32(0)).On(abi.ExportAccept, p.Poke(8192, 1), p.I32(abi.AcceptSplice))
	text := plain()
	text.On(abi.ExportOpen, text.Bind(abi.BufferText, 8192, 256), p.I32(0)).On(abi.ExportStop, p.Local(1), p.EqualZero, p.When(p.Unreachable), p.I32(0))
	shows := plain()
	shows.Globals = 1
	shows.On(abi.ExportTemplate, p.Global(0), p.I32(1), p.Add, p.SetGlobal(0), p.I32(8), p.I32(4), shows.Call(abi.ImportEmit), p.I32(0))
	long := plain()
	long.On(abi.ExportTemplate, p.I32(8192), p.I32(1<<17), long.Call(abi.ImportMessages), p.I32(1000), p.Less, p.EqualZero, p.When(p.Unreachable),
		p.I32(8), p.I32(4), long.Call(abi.ImportEmit), p.I32(0))
	row := p.New(`{"name":"guest"}`)
	row.On(abi.ExportOpen, row.Bind(abi.BufferCandidates, 8192, 2048), p.I32(0)).
		On(abi.ExportSample, p.I32(2), p.Local(0), p.Less, p.When(p.I32(-1), p.Return), p.I32(8196), p.Load)
	for name, tc := range map[string]struct {
		guest *p.Guest
		want  string // empty: nothing
	}{
		"nothing wrong":            {right, ""},
		"a rewind that forgets":    {counted(), "were taken back"},
		"a trap":                   {plain().On(abi.ExportAccept, p.Unreachable), "penstock_accept: trap"},
		"a wrong answer":           {plain().On(abi.ExportAccept, p.I32(7)), "wrong answer"},
		"a look past the view":     {row, "did something else"},
		"an endless loop":          {plain().On(abi.ExportPrepare, p.Forever), "fuel exhausted"},
		"much work":                {plain().On(abi.ExportPrepare, p.Each(1, p.I32(1_200_000)), p.I32(0)), "units of fuel"},
		"memory that grows":        {grows, "memory grows"},
		"taking back for ever":     {back, "too often"},
		"no text":                  {text, "penstock_stop: trap"},
		"a prompt":                 {shows, ""},
		"a long conversation":      {long, "penstock_template: trap"},
		"a request it never takes": {plain().On(abi.ExportOpen, p.I32(1)), "refuses"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Module(context.Background(), tc.guest.Wasm(), Options{Conversations: 6, Limits: patient()})
			if err != nil {
				t.Fatal(err)
			}
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

func TestModule_Refuses(t *testing.T) {
	if _, err := Module(context.Background(), []byte("hello"), Options{}); !errors.Is(err, plugin.ErrNotWasm) {
		t.Errorf("%v", err)
	}
	strict := p.New(`{"name":"guest","config_schema":{"required":["x"]}}`).Wasm()
	if _, err := Module(context.Background(), strict, Options{}); err == nil || !strings.Contains(err.Error(), "configuration") {
		t.Errorf("%v", err)
	}
}
