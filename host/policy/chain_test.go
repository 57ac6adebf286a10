// SPDX-License-Identifier: MIT

package policy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

// Plugins that the chain does not name stand where their manifests say, and else where their view
// is of use.
func TestArrange_TheManifestsHint(t *testing.T) {
	loader := load.New(plugin.HostOptions{})
	var uses []use
	for _, manifest := range []string{
		`{"name":"plain"}`, `{"name":"early","place":"first"}`, `{"name":"blind","view":"none"}`, `{"name":"late","view":"none","place":"last"}`,
		`{"name":"named","place":"last"}`,
	} {
		m := must.Get(loader.Load(context.Background(), asm.New(manifest).On(abi.ExportSample, asm.I32(-1)).Wasm()))(t)
		defer m.Release()
		uses = append(uses, use{PluginUse: serving.PluginUse{Name: m.Name}, plugin: m})
	}
	got := arrange([]string{"top_k", "plugin:named", "temperature"}, uses)
	want := []string{"plugin:early", "plugin:blind", "top_k", "plugin:named", "temperature", "plugin:plain", "plugin:late"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Where the model gives no hidden states, a plugin that reads them is refused with a sentence, and
// only such a one.
func TestUses_HiddenStates_RefusedWhereThereAreNone(t *testing.T) {
	for _, c := range []struct {
		lacks   engine.Lacks
		export  string
		imports string // "": none
		refused bool
		layer   int
	}{
		{engine.Lacks{}, abi.ExportAccept, abi.ImportState, false, -1},
		{engine.Lacks{}, abi.ExportAccept, abi.ImportState, true, 1000},
		{engine.Lacks{}, abi.ExportRun, abi.ImportBranchHiddenState, true, -1000},
		{engine.Lacks{Selecting: true}, abi.ExportAccept, abi.ImportState, true, 0},
		{engine.Lacks{Selecting: true}, abi.ExportAccept, "", false, 0},
		{engine.Lacks{}, abi.ExportAccept, abi.ImportState, false, 0},
		{engine.Lacks{Selecting: true}, abi.ExportRun, abi.ImportBranchHiddenState, true, 0},
		{engine.Lacks{Selecting: true}, abi.ExportRun, abi.ImportState, false, 0}, // a program gets none by it
		{engine.Lacks{}, abi.ExportRun, abi.ImportBranchHiddenState, false, 0},
	} {
		b, r := withLacks(t, c.lacks)
		guest := asm.New(fmt.Sprintf(`{"name":"reader","view":"none","state_layer":%d}`, c.layer))
		code := asm.I32(0)
		if c.imports != "" {
			arguments := 2
			if c.imports == abi.ImportBranchHiddenState {
				arguments = 3
			}
			code = slices.Concat(bytes.Repeat(asm.I32(0), arguments), guest.Call(c.imports), asm.Drop, asm.I32(0))
		}
		if _, _, err := r.Upload(t.Context(), guest.On(c.export, code).Wasm()); err != nil {
			t.Fatal(err)
		}
		plugins := must.Get(b.Resolve(t.Context(), serving.Asker{Client: "me"}, []serving.PluginUse{{Name: "reader", Field: "plugins[0]"}}, nil))(t)
		policy, err := plugins.NewPolicy(sampling.Default(), serving.AnswerInfo{})
		chain.Close(policy.Stages)
		var refused *refusal.Error
		if errors.As(err, &refused) != c.refused {
			t.Errorf("%+v: %v", c, err)
		}
		if c.refused && (refused.Field != "plugins[0]" || !strings.Contains(refused.Message, "reader") || c.layer == 0 && !strings.Contains(refused.Message, "llama")) {
			t.Errorf("%+v", refused)
		}
		plugins.Release()
	}
}
