// SPDX-License-Identifier: MIT

package policy

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

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
