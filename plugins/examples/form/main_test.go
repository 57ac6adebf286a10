// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/json"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// What the program does with a model, its cases have.

func TestParse_Fields(t *testing.T) {
	after, err := json.Parse([]byte(`{"c":["a"]}`))
	if err != nil {
		t.Fatal(err)
	}
	fields, rest, err := parse("A: {a}. B: {b}é{c}", after)
	if err != nil || len(fields) != 3 || rest != "" {
		t.Fatalf("%d fields, then %q: %v", len(fields), rest, err)
	}
	for i, want := range []field{{name: "a", before: "A: ", end: "."}, {name: "b", before: ". B: ", end: "é"}, {name: "c", before: "é", end: "\n"}} {
		if f := fields[i]; f.name != want.name || f.before != want.before || f.end != want.end {
			t.Errorf("field %d is %+v, want %+v", i, f, want)
		}
	}
	a, c := fields[0], fields[2]
	if !a.ready() || c.ready() {
		t.Error("the third field does not wait for the first")
	}
	if a.filled, a.value = true, "x"; !c.ready() || c.context() != "A: xé" {
		t.Errorf("the third field is written after %q", c.context())
	}
}

func TestForm_Open_RefusesWhatItCannotFill(t *testing.T) {
	for config, says := range map[string]string{
		`{"template":"none"}`:                               "no field",
		`{"template":"a {b"}`:                               "end",
		`{"template":"{a} {a}"}`:                            "twice",
		`{"template":"{a} {b}","after":{"a":["b"]}}`:        "before it",
		`{"template":"{a} {b}","after":{"b":["somebody"]}}`: "somebody",
	} {
		if _, err := plugintest.TryOpen[form](t, plugintest.Request{Config: config}); !errors.Is(err, plugintest.ErrRefused) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", config, err)
		}
	}
}
