// SPDX-License-Identifier: MIT

package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/api"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

// A policy knows each route whose body has plugins, and no other: none could be a way past it.
func TestRoutes_AreThoseThatTakePlugins(t *testing.T) {
	taken := 0
	for _, d := range api.Dialects() {
		for _, r := range d.Routes {
			takes := r.Path == "/v1/ws" || slices.ContainsFunc(wire.Fields(r.Body), func(f wire.Field) bool { return f.Name == "plugins" })
			if takes != isGenerating(r.Path) {
				t.Errorf("%s takes plugins: %v, and policies know it: %v", r.Path, takes, !takes)
			}
			if takes {
				taken++
			}
		}
	}
	if taken != len(generating) {
		t.Errorf("policies know %d routes; there are %d", len(generating), taken)
	}
}

// What is wrong with a file of policies is told with its entry and field.
func TestParse_Mistakes(t *testing.T) {
	b, r := withFolder(t)
	for _, g := range []*asm.Guest{
		asm.New(`{"name":"keyed","config_schema":{"type":"object","properties":{"key":{"type":"integer"}},"required":["key"]}}`),
		asm.New(`{"name":"whole","view":"logits"}`),
	} {
		if _, _, err := r.Upload(t.Context(), g.On(abi.ExportSample, asm.I32(-1)).Wasm()); err != nil {
			t.Fatal(err)
		}
	}
	known := Known{Registry: b.registry, Key: func(name string) bool { return name == "alice" }, Model: func(name string) string {
		return map[string]string{"tiny": "tiny", "small": "tiny"}[name]
	}}
	read := func(text string) ([]Attached, error) {
		all, err := parse([]byte(text))
		if err == nil {
			err = checkAll(all, known)
		}
		return all, err
	}
	for text, says := range map[string]string{
		"policies: [{plugin: whole, modus: default}]": "there is no field modus",
		"policy: []":     "there is no field policy",
		"policies: [{}]": "policies[0].plugin is missing",
		"policies: [{plugin: whole, mode: maybe}]":                                      `policies[0].mode is "maybe"`,
		"policies: [{plugin: whole, place: last}]":                                      `policies[0].place is "last"`,
		"policies: [{plugin: whole, place: after}]":                                     "policies[0].place is after",
		"policies: [{plugin: whole, models: []}]":                                       "policies[0].models is empty",
		"policies: [{plugin: whole, models: [big]}]":                                    `policies[0].models[0] is "big"`,
		"policies: [{plugin: whole, keys: [alice, bob]}]":                               `policies[0].keys[1] is "bob"`,
		"policies: [{plugin: whole, keys: [alice, alice]}]":                             `policies[0].keys[1] is "alice"`,
		"policies: [{plugin: whole, routes: [/v1/embeddings]}]":                         `policies[0].routes[0] is "/v1/embeddings"`,
		"policies: [{plugin: whole, routes: [/responses, /v1/responses]}]":              `policies[0].routes[1]`,
		"policies: [{plugin: none}]":                                                    "policies[0]: ",
		"policies: [{plugin: script}]":                                                  "put NAME.js",
		"policies: [{plugin: keyed}]":                                                   "policies[0].config: plugin keyed",
		"policies: [{plugin: keyed, config: {key: a}}]":                                 "policies[0].config.key: plugin keyed",
		"policies: [{plugin: keyed, config: {key: .nan}}]":                              "policies[0].config cannot be JSON",
		"policies: [{plugin: whole}, {plugin: whole, keys: [alice]}]":                   `policies[1] has plugin "whole", as policies[0] has`,
		"policies: [{plugin: whole, models: [tiny]}, {plugin: whole, models: [small]}]": `policies[1] has plugin "whole"`,
		"policies: []\n---\npolicies: []":                                               "two documents",
		"policies: [" + strings.Repeat("{plugin: whole},", maxPolicies+1) + "]":         "at most",
		"policies: {": "yaml",
		"":            "no list policies",
		"# none yet":  "no list policies",
		"policies:\n": "no list policies",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "policy.file") {
			t.Errorf("%.80s: %v, want %s", text, err, says)
		}
	}
	_, err := read(`{"policies":[{"plugin":"keyed","config":{"key":7},"models":["small"],"keys":["alice"]},{"plugin":"keyed","config":{"key":8},"routes":["/responses"],"mode":"default","models":["tiny"],"keys":["admin"]}]}`)
	if err == nil || !strings.Contains(err.Error(), "admin") {
		t.Errorf("%v", err)
	}
	all := must.Get(read(`policies: [{plugin: keyed, config: {key: 7, since: 2026-08-02}, models: [small], keys: [alice]}]`))(t)
	a := &all[0]
	if string(a.Config) != `{"key":7,"since":"2026-08-02"}` || !a.Required || !a.holds("tiny", serving.Asker{Key: "alice"}) || a.holds("tiny", serving.Asker{}) || a.holds("big", serving.Asker{Key: "alice"}) {
		t.Errorf("%+v %s", a, a.Config)
	}
	if s := a.String(); s != "keyed (required; models tiny; keys alice)" {
		t.Errorf("it is told as %q", s)
	}
}
