// SPDX-License-Identifier: MIT

package script

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
)

// brokenScripts are mistakes of authors, with what they read of it. A line 3 or 2 is in each, but
// where there is no line to name.
var brokenScripts = []struct{ source, want string }{
	// What cannot be compiled.
	{"export function sample(c) {\n  let x = 1 +;\n}", "SyntaxError: unexpected token in expression: ';' (script.js:2:14)"},
	{"export function sample(c) {\n  c.ban(0;\n}", "SyntaxError: Unexpected token ';' (script.js:2:"},
	{"export function sample(c) {\n  if (c {\n}", "(script.js:2:"},
	{"\n\nexport function sample(c) {", "SyntaxError: "},
	{"export function sample(c) {\n  const s = \"abc;\n}", "(script.js:2:"},
	{"export function sample(c) {\n  return /(/.test('x');\n}", "(script.js:2:"},
	{"export function sample(c) {\n  let a; let a;\n}", "(script.js:2:"},
	{"\nimport fs from 'fs';\nexport function sample(c) {}", "SyntaxError: a script is one file and cannot import fs"},
	{"export function sample(c) {\n  await 1;\n}", "(script.js:2:"},
	{"def sample(c):\n  pass", "SyntaxError: "},
	{"export function sample(c) {\n  with (c) {}\n}", "(script.js:2:"},
	{"#!/bin/x\n\nexport function sample(c) { break }", "(script.js:3:"},
	// What is exported.
	{"", "the script exports nothing that is called; a script exports functions: sample, prepare"},
	{"\nexport function smaple(c) {}", "nothing calls the export smaple; did you mean sample? (script.js:2:8)"},
	{"\nexport function Prepare(c) {}", "nothing calls the export Prepare; did you mean prepare? (script.js:2:"},
	{"\nexport default function (c) {}", "export default is not looked at; a script exports functions: sample"},
	{"\nexport async function sample(c) {}", "sample is async: hooks are plain functions, and nothing here has to be awaited; remove async (script.js:2:"},
	{"\nexport function* sample(c) {}", "sample is a generator: hooks are plain functions; remove the * (script.js:2:"},
	{"export const sample = 5", "sample is 5; it must be a function: export function sample(…) {…}"},
	{"\nexport function run(r) {}\nexport function accept(t) {}", "the script exports run and accept: a script with run is a program"},
	{"export const plugin = {holds: 3}; export function accept(t) {}", "plugin.holds is unknown; did you mean hold?"},
	{"export const plugin = {candidates: 0}; export function sample(t) {}", "plugin.candidates is 0; it must be a whole number from 1 to 4096"},
	{"export const plugin = {view: 'all'}; export function sample(t) {}", `plugin.view is "all"; it must be "candidates", "logits" or "none"`},
	{"export const plugin = {branches: 3}; export function sample(t) {}", "plugin.branches is for a script that exports run"},
	{"export const plugin = []; export function sample(t) {}", "plugin is an array; it must be an object such as"},
	{"export const plugin = {needs: ['state']}; export function sample(t) {}", `plugin.needs has "state"; there are "logprob", "hidden_state" and "note"`},
	// What goes wrong outside of functions.
	{"export function sample(c) {}\nnew Foo();", "ReferenceError: Foo is not defined (script.js:2:"},
	{"export function sample(c) {}\nthrow new RangeError('no');", "RangeError: no (script.js:2:"},
	{"export function sample(c) {}\nconfig.words.map(x => x);", "TypeError: cannot read property 'map' of undefined (script.js:2:"},
	{"export function sample(c) {}\npenstock.mask('abc');", "TypeError: the mask is of a text; it must be a RegExp"},
	{"const x = await 5;\nexport function sample(c) {}", "the script awaits a Promise or leaves one behind"},
	// What goes wrong in hooks.
	{"export function sample(c) {\n  c.foo();\n}", "TypeError: not a function (script.js:2:"},
	{"export function sample(c) {\n  const x = null;\n  x.foo;\n}", "TypeError: cannot read property 'foo' of null (script.js:3:"},
	{"export function sample(c) {\n  undefinedFunction();\n}", "ReferenceError: undefinedFunction is not defined (script.js:2:"},
	{"\nexport function sample(c) { return 'the' }", `sample returned "the"; it must return a token, which is a whole number from 0 to 367, or nothing (script.js:2:`},
	{"\nexport function sample(c) { return 1e9 }", "sample returned 1000000000; it must return a token"},
	{"\nexport function sample(c) { c.logits.fill(-Infinity) }", "sample dropped all 40 candidates; leave one, or return a token (script.js:2:"},
	{"\nexport function sample(c) { c.logits[1] = NaN }", "sample left c.logits[1] = NaN; a logit is a finite number"},
	{"export function sample(c) {\n  c.ban(40);\n}", "RangeError: the candidate is 40; it must be a whole number from 0 to 39 (script.js:2:"},
	{"export function sample(c) {\n  c.temperature('hot');\n}", `TypeError: the temperature is "hot"; it must be a number (script.js:2:`},
	{"export function sample(c) {\n  return c.draw([1, 2]);\n}", "RangeError: the weights has 2 numbers; there are 40 candidates (script.js:2:"},
	{"export function sample(c) {\n  c.filter('abc');\n}", `TypeError: filter got "abc"; it takes a function, a RegExp or a mask (script.js:2:`},
	{"export function sample(c) {\n  c.filter(async s => true);\n}", "TypeError: the function of filter returned a Promise"},
	{"export function sample(c) {\n  throw 'text';\n}", `"text" was thrown (script.js:2:`},
	{"\nexport function prepare(p) { return 5 }", "prepare returned 5; it returns nothing, and says what it wants by p.mask"},
	{"export function prepare(p) {\n  p.mask(/a/);\n}", "TypeError: p.mask got a RegExp object; it takes a mask of penstock.mask"},
	{"export function prepare(p) {\n  p.ban(-1);\n}", "RangeError: what to ban is -1; tokens are whole numbers from 0 to 367 (script.js:2:"},
	{"export function prepare(p) {\n  p.force([1, 'x']);\n}", `TypeError: what to force[1] is "x"; it must be a token`},
	{"export function prepare(p) {\n  p.bias(5, NaN);\n}", "RangeError: the bias is NaN; it must be a number (script.js:2:"},
	{"\nexport function accept(t) { return 'halt' }", `accept returned "halt"; it must return "stop", penstock.splice(back, tokens) or nothing (script.js:2:`},
	{"\nexport function accept(t) { return penstock.splice(1) }", "accept takes 1 tokens back, and the script holds 0: write `export const plugin = {hold: 1}`"},
	{"export const plugin = {hold: 99};\nexport function accept(t) { return penstock.splice(9) }", "accept takes 9 tokens back, and the answer has 1 (script.js:2:"},
	{"\nexport function stop(s) { return 'halt' }", `stop returned "halt"; it must return "end", "hide", "hold", {end: text} or nothing (script.js:2:`},
	{"\nexport function stop(s) { return {end: 'long text'} }", "stop ends with a text of 9 bytes, and 5 are new or held back"},
	{"\nexport function accept(t) { return Promise.resolve() }", "accept returned a Promise: hooks are plain functions"},
	{"\nexport function accept(t) { (async () => { await 1 })() }", "accept leaves a Promise behind: nothing runs between two hooks"},
	{"export function accept(t) {\n  penstock.param('tme');\n}", "RangeError: there is no parameter tme; there are promptTokens"},
	{"export function accept(t) {\n  penstock.text('x');\n}", `TypeError: the beginning is "x"; it must be a number (script.js:2:`},
	{"function f() { return f() }\nexport function accept(t) {\n  f();\n}", "RangeError: Maximum call stack size exceeded (script.js:1:"},
	{"export function accept(t) {\n  for (;;) {}\n}", "the script used up its time (script.js:2:"},
	{"export function accept(t) {\n  'x'.repeat(1e9);\n}", "InternalError: out of memory (script.js:2:"},
}

// A plan that takes too long is refused, as one that throws is: the configuration is wrong.
func TestErrors_OfThePlan_AreRefusals(t *testing.T) {
	for _, source := range []string{"for (;;);", "'x'.repeat(2 ** 30)", "null.x", "let"} {
		_, _, err := plan(t, source, nil)
		var refusal *plugin.Refusal
		if !errors.As(err, &refusal) || !strings.Contains(said(err), "script.js:1:") {
			t.Errorf("%s: got %T %s", source, err, said(err))
		}
	}
}

func TestErrors_NameWhatIsWrongAndWhere(t *testing.T) {
	line := regexp.MustCompile(`\(script\.js:[1-9][0-9]*:[1-9][0-9]*\)`)
	for _, tc := range brokenScripts {
		err := every(t, tc.source)
		if text := said(err); err == nil || !strings.Contains(text, tc.want) {
			t.Errorf("%q: got %q, want %q", tc.source, text, tc.want)
		} else if strings.Contains(tc.want, "script.js") && !line.MatchString(text) {
			t.Errorf("%q: no place in %q", tc.source, text)
		}
		var fault *plugin.Fault
		if errors.As(err, &fault) && !errors.Is(fault.Cause, plugin.CauseError) {
			t.Errorf("%q: the cause is %v, which counts towards quarantine", tc.source, fault.Cause)
		}
	}
}

// Errors that resist being read: they are told anyway, without running any code of the script.
func TestErrors_ThatFormatThemselves(t *testing.T) {
	for source, want := range map[string]string{
		`class E extends Error { get message() { for (;;); } } throw new E()`:                          "Error (script.js:2:",
		`class E extends Error { toString() { throw 1 } get name() { throw 2 } } throw new E("hello")`: "Error: hello (script.js:2:",
		`const e = new Error("m"); e.stack = "at script.js:99:99"; throw e`:                            "Error: m (script.js:2:",
		`const e = new Error("m"); Object.defineProperty(e, "stack", {get() { throw 3 }}); throw e`:    "Error: m (script.js:2:",
		`throw new Proxy(new Error("m"), {get() { throw 4 }, getPrototypeOf() { throw 5 }})`:           "was thrown (script.js:2:",
		`throw Object.setPrototypeOf({}, new Proxy({}, {getPrototypeOf() { throw 5 }}))`:               "an object was thrown (script.js:2:",
		`Error.prototype.name = {toString() { throw 6 }}; throw new Error("m")`:                        "Error: m (script.js:2:",
		`Error.prepareStackTrace = () => { for (;;); }; throw new Error("m")`:                          "Error: m (script.js:2:",
		`Error.stackTraceLimit = {valueOf() { throw 7 }}; throw new Error("m")`:                        "Error: m (script.js:2:",
		`throw new Error("x".repeat(50000))`:                                                           "Error: xxxxxxxx",
		`throw "é".repeat(50000)`:                                                                      `é…" was thrown (script.js:2:`,
		`throw undefined`:                                                                              "undefined was thrown (script.js:2:",
		`throw Symbol("s")`:                                                                            "a symbol was thrown (script.js:2:",
		`throw [1, 2]`:                                                                                 "an array was thrown (script.js:2:",
		`const e = new TypeError("a\ud800b\0c"); throw e`:                                              "TypeError: a",
		`try { null.x } finally { try { throw 1 } catch {} }`:                                          "TypeError: cannot read property 'x' of null (script.js:2:",
		`const e = new Error("kept"); try { throw e } catch (x) { }; throw e`:                          "Error: kept (script.js:2:",
		`[1].map(() => { throw new AggregateError([], "all") })`:                                       "AggregateError: all (script.js:2:",
		`eval("\n\n\n throw new Error('inner')")`:                                                      "Error: inner (script.js:2:",
		`JSON.parse("{")`: "SyntaxError: ",
	} {
		err := every(t, "export function sample(c) {\n"+source+"\n}")
		text := said(err)
		if err == nil || !strings.Contains(text, want) || !strings.Contains(text, "(script.js:2:") || len(text) > 1300 {
			t.Errorf("%s: got %.200q (%d bytes), want %q", source, text, len(text), want)
		}
	}
}

// An author who is editing makes mistake after mistake, and is never told to wait.
func TestErrors_DoNotLeadToQuarantine(t *testing.T) {
	for i := range 20 {
		c := configOf(t, strings.Repeat(" ", i)+"export function accept(t) { null.x }", nil)
		p, err := loaded(t).With(context.Background(), "author", c)
		if err != nil {
			t.Fatal(i, said(err))
		}
		t.Cleanup(p.Release)
		r := request(c)
		r.Client = "author"
		s := mustBegin(t, p, r)
		if _, err := s.Accept(5); !strings.Contains(said(err), "TypeError: cannot read property 'x' of null") {
			t.Fatal(i, said(err))
		}
	}
}
