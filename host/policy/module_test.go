// SPDX-License-Identifier: MIT

package policy

import (
	"errors"
	"slices"
	"testing"

	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

// brought has a client bring a module that answers a token, and is its use under a name.
func brought(t *testing.T, b *Builder, client, name string) serving.PluginUse {
	t.Helper()
	info, _ := must.Both(b.registry.Modules.Upload(t.Context(), client, asm.New(`{"name":"its-own","view":"none"}`).On(abi.ExportSample, asm.I32(5)).Wasm()))(t)
	return serving.PluginUse{Name: name, Module: info.SHA256, Field: "plugins[0]"}
}

// A module is a stage under the name that its client's request gives it.
func TestUses_Module_IsAStageByItsName(t *testing.T) {
	b, _ := withFolder(t)
	plugins := must.Get(b.Resolve(t.Context(), serving.Asker{Client: "me"}, []serving.PluginUse{brought(t, b, "me", "mine")}, nil))(t)
	defer plugins.Release()
	policy := must.Get(plugins.NewPolicy(sampling.Default(), serving.AnswerInfo{}))(t)
	defer chain.Close(policy.Stages)
	if !slices.ContainsFunc(policy.Stages, func(s chain.Stage) bool { return s.Traits().Name == "plugin:mine" }) {
		t.Error("it has no stage")
	}
}

// A module of another client, and one that has gone, are not there, in words that let a client send
// its own again.
func TestBuilder_Resolve_ModuleOfAnother(t *testing.T) {
	b, _ := withFolder(t)
	for client, use := range map[string]serving.PluginUse{"me": brought(t, b, "other", "module"), "other": {Name: "module", Module: "0a", Field: "plugins[0]"}} {
		_, err := b.Resolve(t.Context(), serving.Asker{Client: client}, []serving.PluginUse{use}, nil)
		var refused *refusal.Error
		if !errors.As(err, &refused) || refused.Code != "module_not_found" || refused.Field != "plugins[0].module" {
			t.Errorf("%s: %v", client, err)
		}
	}
}

// What every request uses cannot be replaced by calling a module so.
func TestBuilder_Resolve_ModuleCalledAsADefault(t *testing.T) {
	b, _ := withFolder(t)
	b.attached = func() []Attached { return fromDefault([]string{"guard"}) }
	_, err := b.Resolve(t.Context(), serving.Asker{Client: "me"}, []serving.PluginUse{brought(t, b, "me", "guard")}, nil)
	var refused *refusal.Error
	if !errors.As(err, &refused) || refused.Field != "plugins[0].name" {
		t.Errorf("%v", err)
	}
}
