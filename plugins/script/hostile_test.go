// SPDX-License-Identifier: MIT

package script

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
)

// hostileBodies are put into sample(c), and some outside of it; those that begin with export are
// whole scripts. None may end in a fault without a
// text of the guest's, and none may do anything to the guest that the next one notices. They need
// not fail. tests/isolation sends them to a server.
func hostileBodies(t *testing.T) (bodies []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/hostile.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "// ") {
			bodies = append(bodies, strings.TrimSuffix(line, "\n"))
		}
	}
	return bodies
}

func TestHostileScripts_EndWithAnErrorOfTheirOwn(t *testing.T) {
	bodies := hostileBodies(t)
	for _, body := range bodies {
		for place, source := range map[string]string{
			"sample":    "export function sample(c) {\n" + body + "\n}",
			"the plan":  "const c = {}; export function sample() {}\nfunction all() {\n" + body + "\n}\nall();",
			"a message": "export function messages(c) {\n" + body + "\n}",
			"filter":    "export function filter(c) {\n" + body + "\n}",
		} {
			if strings.HasPrefix(body, "export ") {
				if source = body; place != "filter" {
					continue
				}
			}
			var err error
			if place == "a message" {
				_, err = rewritten(t, source, `[{"role":"user","content":"x"}]`)
			} else {
				err = every(t, source)
			}
			var fault *plugin.Fault
			if errors.As(err, &fault) && !errors.Is(fault.Cause, plugin.CauseError) {
				t.Errorf("%s in %s: %s", body, place, said(err))
			}
			if err != nil && !strings.Contains(said(err), "script.js:") {
				t.Errorf("%s in %s: no line in %q", body, place, said(err))
			}
		}
	}
	if n := len(bodies); n < 60 {
		t.Errorf("only %d", n)
	}
	if err := every(t, `export function sample(c) { c.filter(s => s) }`); err != nil {
		t.Errorf("afterwards: %s", said(err))
	}
}

// Sources of hostile authors that are no function's body.
func TestHostileSources_AreRefused(t *testing.T) {
	for name, source := range map[string]string{
		"brackets":        strings.Repeat("[", MaxSource-1),
		"parentheses":     strings.Repeat("(", MaxSource-1),
		"braces":          strings.Repeat("{", MaxSource-1),
		"templates":       strings.Repeat("`${", MaxSource/3-1),
		"arrows":          strings.Repeat("a=>", MaxSource/3-1) + "1",
		"functions":       strings.Repeat("function f(){", MaxSource/13-1),
		"statements":      strings.Repeat("if(1)", MaxSource/5-1),
		"identifiers":     "let " + strings.Repeat("a", MaxSource-100),
		"a regexp":        "/" + strings.Repeat("(", MaxSource-100) + "/",
		"classes":         "/" + strings.Repeat(`\p{L}`, MaxSource/5-100) + "/u; export function sample(c) {}",
		"a string":        `"` + strings.Repeat(`\u{41}`, MaxSource/6-100),
		"bytes":           "\x00\x01\xff\xfe",
		"exports":         manyExports(),
		"getters":         "export const plugin = {get candidates() { for (;;); }}; export function sample(c) {}",
		"a proxy":         "export const plugin = new Proxy({}, {ownKeys() { throw new Error('mine') }}); export function sample(c) {}",
		"toJSON":          "export const plugin = {toJSON() { return {toJSON: 5, hold: 1e400} }}; export function sample(c) {}",
		"deep plugin":     "let p = {}; for (let i = 0; i < 1e4; i++) p = {config: p}; export const plugin = p; export function sample(c) {}",
		"a long summary":  "export const plugin = {summary: 'x'.repeat(1e6)}; export function sample(c) {}",
		"a proxy as hook": "export const sample = new Proxy(() => 1, {apply() { for (;;); }})",
		"endless plan":    "for (;;);",
	} {
		err := every(t, source)
		var fault *plugin.Fault
		if errors.As(err, &fault) && !errors.Is(fault.Cause, plugin.CauseError) {
			t.Errorf("%s: %s", name, said(err))
		}
		if err != nil && !strings.Contains(said(err), "script.js:") {
			t.Errorf("%s: no line in %q", name, said(err))
		}
		if err == nil && name != "classes" {
			t.Errorf("%s: no error", name)
		}
	}
}

func manyExports() string {
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, "export let unused%d;", i)
	}
	return b.String() + "export function sample(c) {}"
}
