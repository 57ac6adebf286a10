// SPDX-License-Identifier: MIT

package policy

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/registry"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/plugins/script"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

// withFolder is a builder for the built-in model and a folder of plugins.
func withFolder(t *testing.T) (*Builder, *registry.Registry) {
	t.Helper()
	return withLacks(t, engine.Lacks{})
}

// withLacks is withFolder with a model that cannot do everything.
func withLacks(t *testing.T, lacks engine.Lacks) (*Builder, *registry.Registry) {
	t.Helper()
	e := must.Get(engine.Open(t.Context(), engine.Options{Path: "../model/penstock-tiny.gguf", Slots: 1, ContextSize: 512, Threads: 1, Lacks: lacks}))(t)
	t.Cleanup(func() { _ = e.Close() })
	loader := hosttest.Open(t, load.New, func(o *plugin.HostOptions) { o.Interpreter = script.Module })
	r := must.Get(registry.Open(t.Context(), loader, registry.Options{Dir: t.TempDir(), Scripts: true, ModuleLife: time.Hour}))(t)
	t.Cleanup(func() { _ = r.Close() })
	model := loader.Model(plugin.ModelOptions{Vocabulary: e.Vocabulary()})
	t.Cleanup(func() {
		if err := model.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return New(e, r, model, "tiny", nil), r
}

// A plugin that is replaced, or removed, while a request is made is for that request what it was
// when the request came.
func TestUses_ReloadMeanwhile_KeepTheirVersion(t *testing.T) {
	b, r := withFolder(t)
	upload := func(token int) {
		t.Helper()
		guest := asm.New(`{"name":"fixed","view":"none"}`).On(abi.ExportSample, asm.I32(token))
		if _, _, err := r.Upload(t.Context(), guest.Wasm()); err != nil {
			t.Fatal(err)
		}
	}
	resolve := func() serving.Plugins {
		t.Helper()
		return must.Get(b.Resolve(t.Context(), serving.Asker{Client: "me"}, []serving.PluginUse{{Name: "fixed", Field: "plugins[0]"}}, nil))(t)
	}
	chooses := func(of serving.Plugins, want int32) {
		t.Helper()
		policy := must.Get(of.NewPolicy(sampling.Default(), serving.AnswerInfo{}))(t)
		defer func() { _ = policy.Close() }()
		view := chain.View{Row: make([]float32, b.engine.Info().Vocabulary), N: -1, Chosen: -1}
		for _, s := range policy.Stages {
			must.Do(t, s.Reset([]int32{1}, 1))
			must.Do(t, s.Apply(&view))
			if view.Chosen >= 0 {
				break
			}
		}
		if view.Chosen != want {
			t.Errorf("it chose %d, not %d", view.Chosen, want)
		}
	}

	upload(5)
	old := resolve()
	first := old.(*uses).list[0].plugin
	upload(6)
	later := resolve()
	chooses(old, 5)
	chooses(later, 6)
	must.Do(t, r.Remove(t.Context(), "fixed"))
	chooses(old, 5)
	again := must.Get(old.Again(t.Context(), serving.Asker{Client: "me"}, nil))(t)
	old.Release()
	chooses(again, 5)
	if _, err := again.Again(t.Context(), serving.Asker{Client: "me"}, []string{"plugin:other"}); err == nil {
		t.Error("it found a plugin that is not there")
	}
	again.Release()
	later.Release()
	if first.Retain() {
		t.Errorf("%s is still held when nobody uses it", first.Name)
	}
}

// An answer may not be gone on from past another version of what the operator requires, and nobody
// is told what is configured of a plugin that does not take it.
func TestUses_Again_RequiredPluginReplaced(t *testing.T) {
	b, r := withFolder(t)
	upload := func(manifest string, token int) {
		t.Helper()
		if _, _, err := r.Upload(t.Context(), asm.New(manifest).On(abi.ExportSample, asm.I32(token)).Wasm()); err != nil {
			t.Fatal(err)
		}
	}
	attached := []Attached{{Plugin: "guard", Required: true, Config: []byte(`{"key":"swordfish"}`)}}
	b.attached = func() []Attached { return attached }
	upload(`{"name":"guard","view":"none"}`, 5)
	old, err := b.Resolve(t.Context(), serving.Asker{Client: "me"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Release()
	again := must.Get(old.Again(t.Context(), serving.Asker{Client: "me"}, nil))(t)
	again.Release()
	fails := func(err error, code string) {
		t.Helper()
		var refused *refusal.Error
		if !errors.As(err, &refused) || refused.Code != code || strings.Contains(refused.Message+refused.Public, "swordfish") {
			t.Errorf("got %v, want %s", err, code)
		}
	}
	upload(`{"name":"guard","view":"none"}`, 6)
	_, err = old.Again(t.Context(), serving.Asker{Client: "me"}, nil)
	fails(err, "policies_changed")
	upload(`{"name":"guard","view":"none","config_schema":{"properties":{"key":{"pattern":"^[0-9]+$"}}}}`, 7)
	_, err = b.Resolve(t.Context(), serving.Asker{Client: "me"}, nil, nil)
	fails(err, "policy_unusable")
	must.Do(t, r.Remove(t.Context(), "guard"))
	_, err = b.Resolve(t.Context(), serving.Asker{Client: "me"}, nil, nil)
	fails(err, "policy_unusable")
}

// A plan is made when a request comes: what it refuses is about its configuration, and what it
// leaves out is neither called nor asked for.
func TestBuilder_Resolve_Plans(t *testing.T) {
	b, r := withFolder(t)
	const at = hosttest.AtScratch
	g := asm.New(`{"name":"planner","hold":5}`).Put(at, "config.a is unknown").Put(at+64, `{"implements":["penstock_accept"],"hold":2,"needs":[]}`)
	g.On(abi.ExportPlan, asm.I32(0), asm.I32(0), g.Call(abi.ImportConfig), asm.I32(2), asm.Subtract,
		asm.When(asm.I32(at), asm.I32(19), g.Call(abi.ImportFail), asm.I32(1), asm.Return),
		asm.I32(at+64), asm.I32(54), g.Call(abi.ImportEmit), asm.I32(0))
	g.On(abi.ExportSample, asm.I32(-1)).On(abi.ExportAccept, g.Call(abi.ImportLogprob), asm.Drop, asm.I32(0))
	trap := asm.New(`{"name":"guest","hold":7}`).On(abi.ExportPlan, asm.Unreachable).On(abi.ExportSample, asm.Unreachable)
	for _, g := range []*asm.Guest{g, trap} {
		if _, _, err := r.Upload(t.Context(), g.Wasm()); err != nil {
			t.Fatal(err)
		}
	}
	plugins, err := b.Resolve(t.Context(), serving.Asker{Client: "me"}, []serving.PluginUse{{Name: "planner", Field: "plugins[0]"}, {Name: "guest", Field: "plugins[1]", Skip: true}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	policy := must.Get(plugins.NewPolicy(sampling.Default(), serving.AnswerInfo{}))(t)
	seen := 0
	for _, s := range policy.Stages {
		switch traits := s.Traits(); traits.Name {
		case "plugin:planner":
			seen++
			if traits.Hold != 2 || traits.Logprob != nil {
				t.Errorf("it holds %d tokens, and is told log-probabilities: %v", traits.Hold, traits.Logprob != nil)
			}
		case "plugin:guest":
			seen++
			if err := s.Reset([]int32{1}, 1); err != nil {
				t.Errorf("it is skipped: %v", err)
			}
			if hold := s.Traits().Needs().Hold; traits.Hold != 0 || hold != 0 {
				t.Errorf("it is skipped, and holds %d tokens, %d", traits.Hold, hold)
			}
			if err := s.Apply(&chain.View{Row: []float32{1, 2}, N: -1, Chosen: -1}); err != nil {
				t.Errorf("it is skipped: %v", err)
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d stages are the plugins'", seen)
	}
	if err := policy.Close(); err != nil {
		t.Error(err)
	}
	plugins.Release()

	_, err = b.Resolve(t.Context(), serving.Asker{Client: "me"}, []serving.PluginUse{{Name: "planner", Field: "plugins[0]", Config: []byte(`{"a":1}`)}}, nil)
	var refused *refusal.Error
	if !errors.As(err, &refused) || refused.Field != "plugins[0].config" || refused.Kind != refusal.KindInvalid ||
		!strings.Contains(refused.Message, "config.a is unknown") || strings.Contains(refused.Public, "config.a") {
		t.Errorf("got %+v", refused)
	}
	_, err = b.Resolve(t.Context(), serving.Asker{Client: "me"}, []serving.PluginUse{{Name: "guest", Field: "plugins[0]"}}, nil)
	hosttest.MustFault(t, err, abi.ExportPlan, plugin.CauseTrap, "")
}

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

// of is the use of a script, under a name.
func of(t *testing.T, name, source, config string) serving.PluginUse {
	t.Helper()
	fields := map[string]json.RawMessage{}
	text := must.Get(json.Marshal(source))(t)
	if fields["source"] = text; config != "" {
		fields["config"] = json.RawMessage(config)
	}
	all := must.Get(json.Marshal(fields))(t)
	return serving.PluginUse{Name: name, Config: all, Field: "plugins[0]", Source: "plugins[0].script"}
}

// Two scripts are two stages of a chain, under the names of the request.
func TestUses_Scripts_AreStagesByTheirNames(t *testing.T) {
	b, _ := withFolder(t)
	one, two := of(t, "one", "export function sample(c) {}", ""), of(t, "two", "export function accept() {}", "")
	plugins := must.Get(b.Resolve(t.Context(), serving.Asker{Client: "me"}, []serving.PluginUse{one, two}, []string{"plugin:two", "temperature"}))(t)
	defer plugins.Release()
	params := sampling.Default()
	params.Chain = []string{"plugin:two", "temperature"}
	policy := must.Get(plugins.NewPolicy(params, serving.AnswerInfo{}))(t)
	defer chain.Close(policy.Stages)
	var names []string
	for _, s := range policy.Stages {
		if name := s.Traits().Name; strings.HasPrefix(name, "plugin:") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"plugin:one", "plugin:two"}) {
		t.Errorf("%q", names)
	}
}

// What a script prints outside of hooks comes with its plan: the end, and the beginning of each
// line.
func TestBuilder_Plan_Log(t *testing.T) {
	b, _ := withFolder(t)
	const source = `for (let i = 0; i < 20; i++) console.log("line", i, "x".repeat(2000)); export function sample() { console.log("later") }`
	plan := must.Get(b.Plan(t.Context(), "me", of(t, "one", source, "")))(t)
	if n := len(plan.Log); n != 10 || !strings.HasPrefix(plan.Log[n-1], "line 19 x") || len(plan.Log[n-1]) > 1100 {
		t.Errorf("%d lines: %.200q", n, plan.Log)
	}
}

// What is wrong with a script is for its client: where it is, and nothing of it in the log.
func TestBuilder_Plan_Mistakes(t *testing.T) {
	b, _ := withFolder(t)
	const schema = `export const plugin = {config: {type: "object", properties: {n: {type: "integer"}}}}; export function sample() {}`
	for _, tc := range []struct {
		source, config, field, says string
		line                        int
	}{
		{"export {\n canary", "", "plugins[0].script", "SyntaxError", 2},
		{"\nthrow new Error('canary')", "", "plugins[0].script", "canary", 2},
		{schema, `{"n":"canary"}`, "plugins[0].config.n", "integer", 0},
		{`export const plugin = {config: {type: "canary"}}; export function sample() {}`, "", "plugins[0].script", "plugin.config", 0},
	} {
		_, err := b.Plan(t.Context(), "me", of(t, "mine", tc.source, tc.config))
		var refused *refusal.Error
		if !errors.As(err, &refused) || refused.Code != refusal.ScriptCode || refused.Field != tc.field || !strings.Contains(refused.Message, tc.says) || refused.Numbers[refusal.ScriptLine] != tc.line {
			t.Errorf("%s: %+v", tc.source, err)
		}
		if err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("anybody may read: %v", err)
		}
	}
	plan, err := b.Plan(t.Context(), "me", of(t, "mine", schema, `{"n":3}`))
	if err != nil || plan.View != "candidates" || !strings.Contains(string(plan.ConfigSchema), "integer") || !slices.Contains(plan.Implements, "penstock_sample") || slices.Contains(plan.Implements, "penstock_warm") {
		t.Errorf("%+v, %v", plan, err)
	}
}

// A script cannot take the place of what the operator demands.
func TestBuilder_Resolve_ScriptCalledAsADefault(t *testing.T) {
	b, _ := withFolder(t)
	b.attached = func() []Attached { return fromDefault([]string{"guard"}) }
	_, err := b.Resolve(t.Context(), serving.Asker{Client: "me"}, []serving.PluginUse{of(t, "guard", "export function sample() {}", "")}, nil)
	var refused *refusal.Error
	if !errors.As(err, &refused) || refused.Field != "plugins[0].name" {
		t.Errorf("%v", err)
	}
}

// Who names what runs scripts without bringing one is told how to bring it.
func TestBuilder_Resolve_ScriptThatIsNotBrought(t *testing.T) {
	b, _ := withFolder(t)
	for field, asked := range map[string]struct {
		uses  []serving.PluginUse
		chain []string
	}{
		"plugins[0]": {uses: []serving.PluginUse{{Name: "script", Field: "plugins[0]"}}},
		"samplers":   {chain: []string{"plugin:script"}},
	} {
		_, err := b.Resolve(t.Context(), serving.Asker{Client: "me"}, asked.uses, asked.chain)
		var refused *refusal.Error
		if !errors.As(err, &refused) || refused.Field != field || !strings.Contains(refused.Message, `{"script": …}`) {
			t.Errorf("%s: %v", field, err)
		}
	}
}
