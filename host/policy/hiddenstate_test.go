// SPDX-License-Identifier: MIT

package policy

import (
	"errors"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler/chain"
)

// Where the model gives no hidden states, a plugin that reads them is refused with a sentence, and
// only such a one.
func TestUses_HiddenStates_RefusedWhereThereAreNone(t *testing.T) {
	for _, c := range []struct {
		lacks   engine.Lacks
		imports bool
		refused bool
	}{{engine.Lacks{Selecting: true}, true, true}, {engine.Lacks{Selecting: true}, false, false}, {engine.Lacks{}, true, false}} {
		b, r := withLacks(t, c.lacks)
		guest := asm.New(`{"name":"reader","view":"none"}`)
		code := asm.I32(0)
		if c.imports {
			code = append(append(append(asm.I32(0), asm.I32(0)...), guest.Call(abi.ImportState)...), append(asm.Drop, asm.I32(0)...)...)
		}
		if _, _, err := r.Upload(t.Context(), guest.On(abi.ExportAccept, code).Wasm()); err != nil {
			t.Fatal(err)
		}
		plugins, err := b.Resolve(t.Context(), serving.Asker{Client: "me"}, []serving.PluginUse{{Name: "reader", Field: "plugins[0]"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		policy, err := plugins.NewPolicy(sampling.Default(), serving.AnswerInfo{})
		chain.Close(policy.Stages)
		var refused *refusal.Error
		if errors.As(err, &refused) != c.refused {
			t.Errorf("%+v: %v", c, err)
		}
		if c.refused && (refused.Field != "plugins[0]" || !strings.Contains(refused.Message, "reader") || !strings.Contains(refused.Message, "llama")) {
			t.Errorf("%+v", refused)
		}
		plugins.Release()
	}
}
