// SPDX-License-Identifier: MIT

package examples

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// Each is loaded by its golden cases too, which find a call that is missing. prompt-lookup has no
// cases: a test of its own has it guess.
func TestGo_Load_ListsOnlyWhatIsImplemented(t *testing.T) {
	exported := map[string]string{
		"min-p":               "sample",
		"dynamic-temperature": "sample",
		"answer-length":       "warm prepare",
		"no-repeat":           "sample",
		"prompt-lookup":       "draft",
		"reasoning-budget":    "prepare accept",
		"redact":              "messages",
		"pii":                 "messages filter",
		"repetition-stop":     "prepare accept rewind",
		"regex-stop":          "stop",
		"banned-phrases":      "plan prepare accept rewind",
		"verbatim-quotes":     "warm plan prepare accept rewind",
		"beam":                "run",
		"best-of":             "run",
		"choice":              "run",
		"consensus":           "run",
		"cot":                 "run",
		"form":                "run",
		"guidance":            "run",
		"heal":                "warm run",
		"last-pictures":       "messages",
		"lookahead":           "run",
		"alphabet":            "warm plan prepare accept",
		"more-samplers":       "sample",
		"phrases":             "warm plan prepare sample accept rewind",
		"grammar-aligned":     "run",
		"smc":                 "warm run",
		"sql":                 "warm prepare accept",
		"transcript":          "template stop",
		"stdgo/min-p":         "sample",
	}
	for _, name := range steadytest.Some(t, slices.Sorted(maps.Keys(exported)), 6) {
		m := loaded(t, name, newWords())
		exports := strings.Fields("penstock_" + strings.ReplaceAll("abi_v1 describe open "+exported[name], " ", " penstock_"))
		got := slices.DeleteFunc(slices.Clone(m.Exports), func(e string) bool { return e == "_initialize" })
		slices.Sort(exports)
		slices.Sort(got)
		if !slices.Equal(got, exports) || m.Manifest.Name != strings.TrimPrefix(name, "stdgo/") || m.Manifest.Summary == "" {
			t.Errorf("%s is %q and implements %v, want %v", name, m.Manifest.Name, got, exports)
		}
	}
}

func BenchmarkGo_Sample(b *testing.B) {
	for _, c := range []struct{ name, config string }{
		{"min-p", `{}`}, {"min-p", `{"draw":true}`}, {"dynamic-temperature", `{}`}, {"stdgo/min-p", `{}`},
	} {
		b.Run(c.name+c.config, func(b *testing.B) { benchmarkSample(b, c.name, c.config) })
	}
}

// calls counts the calls of each export.
type calls map[string]int

func (c calls) PluginCalls(_, export string) func(time.Duration) {
	return func(time.Duration) { c[export]++ }
}
func (calls) PluginFault(string, string) {}

// TestGo_Stage_CallsOnlyWhatIsImplemented has a module of TinyGo export everything, and wants no
// call and no candidates of a row for what its type has no method for. So a token costs what it
// costs where the module exports nothing else.
func TestGo_Stage_CallsOnlyWhatIsImplemented(t *testing.T) {
	wasm := read(t, "repetition-stop") // which has Prepare and Accept
	for _, s := range abi.Exports {
		if s.Name != abi.ExportInitialize && !bytes.Contains(wasm, []byte(s.Name)) {
			t.Errorf("the module does not export %s", s.Name)
		}
	}
	made, rows := calls{}, 0
	l := hosttest.Open(t, load.New, func(o *plugin.HostOptions) {
		o.CacheDir, o.Vocabulary, o.Observer = codeCache, newWords(), made
		o.TopK = func([]float32, int, []int32, []float32) int {
			rows++
			return 0
		}
	})
	s := opened(t, hosttest.Load(t, l, hosttest.Built(wasm)), `{}`)
	clear(made)
	c := chain.New([]chain.Stage{chain.Stage(s), &taking{}}, len(newWords()), 0)
	var row chain.Row
	for range 10 {
		row.Lend([][]float32{make([]float32, len(newWords()))}, &sync.WaitGroup{})
		must.Do(t, c.Prepare())
		token, _ := must.Both(c.Draw(&row))(t)
		row.Return()
		must.Get(c.Accept(0, token, nil))(t)
	}
	if s.Rule() != nil || rows != 0 || !maps.Equal(made, calls{abi.ExportPrepare: 10, abi.ExportAccept: 10}) {
		t.Errorf("candidates of %d rows, and calls %v", rows, made)
	}
}

// taking is a stage that takes tokens one after the other.
type taking struct{ next scheduler.Token }

func (*taking) Traits() chain.Traits                     { return chain.Traits{} }
func (*taking) Native() bool                             { return false }
func (s *taking) Apply(v *chain.View) error              { s.next++; v.Chosen = s.next; return nil }
func (*taking) Accept(chain.Token) (chain.Effect, error) { return chain.Effect{}, nil }
func (*taking) Reset([]chain.Token, int) error           { return nil }
func (*taking) Close() error                             { return nil }
