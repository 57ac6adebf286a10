// SPDX-License-Identifier: MIT

package tck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/tools/must"
)

func TestCases_Names_AreUniqueAndEachHasARule(t *testing.T) {
	cases := map[string]bool{}
	modules := map[string][]byte{}
	for _, c := range Cases() {
		if cases[c.Name] || c.Name == "" || c.Rule == "" || len(c.Modules) == 0 {
			t.Errorf("case %q: %s", c.Name, c.Rule)
		}
		cases[c.Name] = true
		for _, m := range c.Modules {
			if other, ok := modules[m.Name]; ok && !bytes.Equal(other, m.Wasm) {
				t.Errorf("case %s has another module %s", c.Name, m.Name)
			}
			modules[m.Name] = m.Wasm
		}
	}
	if n := len(Hostile()); n < 40 {
		t.Errorf("%d hostile guests", n)
	}
}

// Every export and import of the ABI must be in some guest.
func TestCases_Cover_TheABI(t *testing.T) {
	all := []byte{}
	for _, c := range Cases() {
		for _, m := range c.Modules {
			all = append(all, m.Wasm...)
		}
	}
	text := func(s string) []byte { return append([]byte{byte(len(s))}, s...) } // as modules write it
	for _, s := range abi.Exports {
		if !bytes.Contains(all, text(s.Name)) {
			t.Errorf("no guest has %s", s.Name)
		}
	}
	for _, s := range abi.Imports {
		module := abi.Module
		if s.Added {
			module = abi.Optional
		}
		if !bytes.Contains(all, append(text(module), text(s.Name)...)) {
			t.Errorf("no guest imports %s", s.Name)
		}
	}
}

// fake is a host that answers as it is told.
type fake struct {
	upload error
	list   []Answer // one after the other, the last for the request without plugins
	err    error
	calls  int
}

func (f *fake) Upload(context.Context, []byte) error { return f.upload }

func (f *fake) Complete(context.Context, Request, []string) (Answer, error) {
	if f.err != nil {
		return Answer{}, f.err
	}
	f.calls++
	return f.list[f.calls-1], nil
}

func TestRun_Finds_WhatIsBroken(t *testing.T) {
	full := Answer{"abc", MaxTokens, "length", ""}
	same := Want{Outcome: Answered, Tokens: MaxTokens, Reason: "length", Text: Same}
	valued, told := same, full
	valued.Outputs, told.Outputs = []string{"p 0 1\n"}, "p 0 1\n"
	prefix := Want{Outcome: Answered, Tokens: 3, Reason: "stop", Text: Prefix}
	fault := Want{Outcome: Faulted, Error: []string{"plugin x", "trap"}}
	refusal := Want{Outcome: Refused, Error: []string{"limit"}}
	for name, tc := range map[string]struct {
		want   Want
		host   fake
		broken bool
	}{
		"the same":         {same, fake{list: []Answer{full, full, full}}, false},
		"another text":     {same, fake{list: []Answer{full, full, {"abd", MaxTokens, "length", ""}}}, true},
		"the values":       {valued, fake{list: []Answer{told, told, full}}, false},
		"no output":        {valued, fake{list: []Answer{full, full, full}}, false},
		"another value":    {valued, fake{list: []Answer{{"abc", MaxTokens, "length", "p 0 2\n"}}}, true},
		"a value too much": {same, fake{list: []Answer{told}}, true},
		"not the same":     {same, fake{list: []Answer{full, {"abd", MaxTokens, "length", ""}, full}}, true},
		"fewer tokens":     {same, fake{list: []Answer{{"ab", 2, "length", ""}}}, true},
		"another reason":   {same, fake{list: []Answer{{"abc", MaxTokens, "stop", ""}}}, true},
		"a failure":        {same, fake{err: &Failure{Faulted, "x"}}, true},
		"not loaded":       {same, fake{upload: errors.New("no")}, true},
		"a beginning":      {prefix, fake{list: []Answer{{"ab", 3, "stop", ""}, {"ab", 3, "stop", ""}, full}}, false},
		"no beginning":     {prefix, fake{list: []Answer{{"bc", 3, "stop", ""}, {"bc", 3, "stop", ""}, full}}, true},
		"a fault":          {fault, fake{err: &Failure{Faulted, "plugin x: y: trap"}}, false},
		"another cause":    {fault, fake{err: &Failure{Faulted, "plugin x: y: fuel"}}, true},
		"the client's":     {fault, fake{err: &Failure{Declined, "plugin x: y: trap"}}, true},
		"an answer":        {fault, fake{list: []Answer{full}}, true},
		"refused":          {refusal, fake{upload: errors.New("limit exceeded")}, false},
		"otherwise":        {refusal, fake{upload: errors.New("something")}, true},
		"loaded after all": {refusal, fake{}, true},
	} {
		err := Run(context.Background(), &tc.host, Case{Modules: []Module{{}}, Want: tc.want})
		if errors.Is(err, ErrBroken) != tc.broken || (err == nil) == tc.broken {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWrite_MakesAFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kit")
	cases := Rules()
	must.Do(t, Write(dir, cases))
	text := must.Get(os.ReadFile(filepath.Join(dir, "cases.json")))(t)
	var kit struct{ Cases []Case }
	if err := json.Unmarshal(text, &kit); err != nil || len(kit.Cases) != len(cases) {
		t.Fatalf("%d cases, %v", len(kit.Cases), err)
	}
	for i, c := range kit.Cases {
		for n, m := range c.Modules {
			if wasm, err := os.ReadFile(filepath.Join(dir, m.File)); err != nil || !bytes.Equal(wasm, cases[i].Modules[n].Wasm) {
				t.Errorf("%s: %v", m.File, err)
			}
		}
	}
}
