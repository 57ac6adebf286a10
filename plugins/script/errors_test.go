// SPDX-License-Identifier: MIT

package script

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
)

// broken is a mistake of an author, with what he reads of it, which always names a line.
type broken struct{ Source, Says string }

// brokenScripts are in a file, since tests/plugins sends them to a server, too.
func brokenScripts(t *testing.T) (all []broken) {
	t.Helper()
	text, err := os.ReadFile("testdata/broken.json")
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
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
	for _, tc := range brokenScripts(t) {
		err := every(t, tc.Source)
		if text := said(err); err == nil || !strings.Contains(text, tc.Says) {
			t.Errorf("%q: got %q, want %q", tc.Source, text, tc.Says)
		} else if !line.MatchString(text) {
			t.Errorf("%q: no place in %q", tc.Source, text)
		}
		var fault *plugin.Fault
		if errors.As(err, &fault) && !errors.Is(fault.Cause, plugin.CauseError) {
			t.Errorf("%q: the cause is %v, which counts towards quarantine", tc.Source, fault.Cause)
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
