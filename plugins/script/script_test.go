// SPDX-License-Identifier: MIT

package script

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/drive"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/session"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/tools/must"
)

// script.sum has the hashes of the module and of all that it was built from, as `make script` has
// left them.
func TestModule_IsBuiltFromItsSources(t *testing.T) {
	text := must.Get(os.ReadFile("script.sum"))(t)
	var named []string
	for line := range strings.Lines(string(text)) {
		want, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		named = append(named, name)
		content, err := os.ReadFile(name)
		if err != nil {
			t.Errorf("%v; run `make script`", err)
			continue
		}
		if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s has changed since script.wasm.gz was built: run `make script`", name)
		}
	}
	wanted := []string{"script.wasm.gz", "build.sh", "engine/engine.lock", "engine/engine.patch"}
	for _, pattern := range []string{"guest/*.c", "guest/*.h"} {
		found := must.Get(filepath.Glob(pattern))(t)
		wanted = append(wanted, found...)
	}
	if !slices.Equal(named, wanted) {
		t.Errorf("script.sum names %v; there are %v: run `make script`", named, wanted)
	}
	if len(compressed) > 1<<19 {
		t.Errorf("the module makes the binary %d bytes larger; it should stay below 512 KiB", len(compressed))
	}
}

// What a script is offered has the names that penstock.d.ts declares, and no others.
func TestDeclarations_NameWhatThereIs(t *testing.T) {
	declared := map[string][]string{}
	for _, block := range regexp.MustCompile(`(?s)\ninterface (\w+) \{\n(.*?)\n\}`).FindAllStringSubmatch(Declarations, -1) {
		for _, member := range regexp.MustCompile(`(?m)^  (?:readonly )?(\w+)[?(:]`).FindAllStringSubmatch(block[2], -1) {
			declared[block[1]] = append(declared[block[1]], member[1])
		}
		slices.Sort(declared[block[1]])
	}
	s := mustOpen(t, `const names = o => { const all = []; for (const k in o) all.push(k); return all.sort(); };
		export function sample(c) { output(names(c)); }
		export function prepare(p) { output(names(penstock)); output(names(p)); }`, nil)
	if _, err := s.Prepare(); err != nil {
		t.Fatal(said(err))
	}
	if err := s.Apply(view(rowOf(t))); err != nil {
		t.Fatal(said(err))
	}
	given := outputs(t, s)
	ran := runProgram(t, `const names = o => { const all = []; for (const k in o) all.push(k); return all.sort(); };
		export function run(r) { output(names(r)); output(names(r.prompt())); }`, nil)
	given = append(given, ran.outputs...)
	for i, name := range []string{"Penstock", "Next", "Candidates", "Program", "Branch"} {
		if want := `["` + strings.Join(declared[name], `","`) + `"]`; given[i] != want {
			t.Errorf("%s: the guest has %s, penstock.d.ts declares %s", name, given[i], want)
		}
	}
	if len(declared["Hooks"]) != 9 || len(declared["PluginOptions"]) != 9 {
		t.Errorf("declared: %v", declared)
	}
}

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

// hostileBodies are put into sample(c), and some outside of it; those that begin with export are
// whole scripts. None may end in a fault without a
// text of the guest's, and none may do anything to the guest that the next one notices. They need
// not fail. tests/isolation sends them to a server.
func hostileBodies(t *testing.T) (bodies []string) {
	t.Helper()
	text := must.Get(os.ReadFile("testdata/hostile.txt"))(t)
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

// enduring has scripts that use all that hooks are offered, at each token. What they use they leave
// to the garbage, so none may grow.
var enduring = map[string]string{
	"prepare": `const mask = penstock.mask(/^[a-z ]*$/), byFunction = penstock.mask(s => s.length < 9);
		export function prepare(p) {
			p.mask(mask); p.mask(byFunction); p.mask([5, 6, 70]); p.allow(" frog"); p.allow([71, 72]); p.ban(72); p.bias(71, 1);
			try { p.ban([1, "x"]) } catch {}
			try { p.mask("x") } catch {}
			p.force(" the frog"); p.force([]);
			const cycle = {}; cycle.self = cycle;
		}`,
	"sample": `const mask = penstock.mask(/./); let n = 0;
		export function sample(c) {
			c.filter(mask); c.filter(/^[^z]*$/); c.filter((s, i, t) => s.length < 99); c.ban(c.length - 1); c.softmax(); c.entropy(); c.temperature(0.9);
			for (let i = 0; i < c.length; i++) c.text(i) + "x";
			c.draw([...c.logits].map(x => x > -Infinity ? 1 : 0));
			try { c.ban(99) } catch {}
			try { c.draw([1]) } catch {}
			c.ids.slice(1); c.logits.subarray(2); c.keep(10);
			if (++n % 2) return c.draw();
		}`,
	"biases": `export function sample(c) { c.bias(5, 1); c.bias(6, -1) }`,
	"logits": `export const plugin = {view: "logits"}; export function sample(c) { c.ban(5); c.temperature(0.5); c.softmax(); return c.draw() }`,
	"accept": `export const plugin = {hold: 4}; let n = 0, seen = "";
		export function accept(t) {
			seen = (seen + penstock.piece(t) + penstock.bytes(t).length).slice(-50);
			penstock.text(-40); penstock.history(-20); penstock.historyLength; penstock.part; penstock.logprob; penstock.hiddenState(); penstock.fuel; penstock.vocabSize;
			penstock.tokenize(" the frog"); penstock.tokenize("<e>", {special: true}); penstock.detokenize([71, 72]); penstock.isEnd(t); penstock.isControl(t);
			penstock.param("seed"); penstock.request().model; Math.random(); Date.now(); new Date().toISOString();
			log("a", {t}, [t], undefined, new Error("x")); console.warn(1n); note("n"); output({t});
			try { penstock.param("x") } catch (e) { e.stack }
			try { null.x } catch {}
			JSON.parse(JSON.stringify({a: [1, 2, {b: "c"}]})); /(a)(?<n>b)?/.exec("ab").groups; "a-b".replace(/-/g, m => m + m); [3, 1, 2].sort((a, b) => a - b);
			new Map([[t, {}]]); new Set([t]); Symbol("s"); [...(function* () { yield t })()]; new Proxy({}, {}).x; (() => { const o = {}; o.o = o })();
			if (++n % 50 === 0) return penstock.splice(1, " frog");
		}`,
	"stop": `let n = 0, all = "";
		export function stop(text, t) {
			all = (all + text).slice(-200); /[.!?]["']?(?=\s)/.test(all);
			return [undefined, "show", false, "hold", "hold", null][n++ % 6];
		}`,
	"draft": `export function draft(n) { return [" the frog", [70, 71], new Uint32Array([72, 73]), undefined, 70][penstock.historyLength % 5] }`,
}

// An answer of many tokens takes no more memory than one of few: what a hook's call makes goes with
// it. What a script keeps does not, which shows that this measures it.
func TestHooks_ManyTokens_TakeNoMoreMemory(t *testing.T) {
	for name, source := range enduring {
		if before, after := endured(t, source); after != before {
			t.Errorf("%s: %d bytes after %d tokens, %d after %d", name, before, few, after, many)
		}
	}
	if before, after := endured(t, `const all = []; export function accept(t) { all.push("" + t) }`); after == before {
		t.Errorf("a script that keeps %d texts has %d bytes before and after", many, after)
	}
}

const few, many = 3000, 20_000 // tokens

// endured is how many bytes of memory a script has after few tokens, and after many.
func endured(t *testing.T, source string) (before, after int) {
	t.Helper()
	s := mustOpen(t, source, nil)
	row, tokens, rule := rowOf(t, " the", " frog", " cat"), []scheduler.Token{token(t, " the"), token(t, " frog"), token(t, " cat"), 100}, s.Rule()
	for i := range many {
		if i == few {
			before = s.Usage().Memory
		}
		tok := tokens[i%len(tokens)]
		_, err := s.Prepare()
		if err == nil {
			err = s.Apply(view(row))
		}
		var e chain.Effect
		if err == nil {
			e, err = s.Accept(tok)
		}
		for _, more := range e.Tokens {
			if err == nil {
				_, err = s.Accept(more)
			}
		}
		if rule != nil && err == nil {
			_, err = rule.Check(tok, words.Piece(tok))
		}
		if err != nil {
			t.Fatal(i, said(err))
		}
	}
	return before, s.Usage().Memory
}

// ran is what has come of a script with run.
type ran struct {
	shown   []string // texts, one for each wait
	outputs []string
	err     error
	made    drive.Written
}

func runProgram(t *testing.T, source string, table drive.Table) (r ran) {
	t.Helper()
	p, c, err := plan(t, source, nil)
	if err != nil {
		return ran{err: err}
	}
	info := request(c)
	w := drive.Writing{Vocabulary: words, Row: func(tokens []program.Token) []float32 { return table.Row(words.Size(), tokens) },
		Waited: func(shown []program.Shown) bool {
			for _, s := range shown {
				r.shown = append(r.shown, words.Piece(s.Token))
			}
			return true
		}}
	info.Prompt = func(_ context.Context, messages []byte) ([]int32, error) {
		return words.Tokenize(string(messages), false, false)
	}
	info.Chain = drive.Chains([]byte(`{"temperature":0}`))
	s := must.Get(stage.New(p, info))(t)
	of := stage.Program{Stage: s}
	defer func() { _ = of.Close() }()
	prompt := []program.Token{1, token(t, " the")}
	if err := of.Reset(prompt, len(prompt)); err != nil {
		return ran{err: err}
	}
	r.made, r.err = w.Run(&program.Program{Main: of.Main, Branches: p.Branches(c)}, info, prompt)
	for _, o := range of.Traits().Outputs() {
		r.outputs = append(r.outputs, string(o.Value))
	}
	return r
}

// story is a model that says " frog cat" after the prompt, and then ends.
func story(t *testing.T) drive.Table {
	return drive.Table{
		{After: []program.Token{token(t, " the")}, Says: []program.Token{token(t, " frog"), token(t, " cat"), drive.EndToken}},
		{After: []program.Token{token(t, " sky")}, Says: []program.Token{drive.EndToken}},
	}
}

func TestRun_WritesAnswers(t *testing.T) {
	for name, tc := range map[string]struct{ body, shown, said string }{
		"show a text":         {`r.show(" frog cat")`, " frog cat", ""},
		"one by one":          {`const b = r.prompt(); for (let i = 0; i < 2; i++) { r.wait([b], 1); const [best] = b.best(1); b.append(best.id); r.show(best.id) }`, " frog cat", ""},
		"continue":            {`const b = r.prompt(); r.continue([b], r.maxTokens); if (b.state !== "ended") throw b.state; r.show(b.tokens(r.promptTokens))`, " frog cat", ""},
		"forks":               {`const b = r.prompt(), f = b.fork(); f.append(" sky"); r.continue([b, f], 9, {scored: true}); output([b.text(r.promptTokens), f.text(r.promptTokens), b.scores(r.promptTokens).length]); r.show(f.tokens(r.promptTokens))`, " sky", `[" frog cat"," sky",2]`},
		"sample":              {`const b = r.prompt(), c = r.chain({temperature: 0}); r.wait(b, 4); const t = b.sample({chain: c}); r.show(t)`, " frog", ""},
		"mask":                {`const b = r.prompt(); r.wait([b]); b.mask(penstock.mask([penstock.tokenize(" sky")[0]])); r.show(b.sample())`, " sky", ""},
		"mix":                 {`const b = r.prompt(), f = b.fork(); f.append(" sky"); r.wait([b, f]); b.mix([[b, 0.1], [f, 1]]); output(penstock.isEnd(b.best(1)[0].id)); r.show(" ok".slice(0, 1))`, " ", "true"},
		"logits, entropy":     {`const b = r.prompt(); r.wait([b]); output([b.logits().length === penstock.vocabSize, b.entropy() > 0])`, "", "[true,true]"},
		"scores from the end": {`const b = r.prompt(); b.append(" cat", {scored: true}); r.wait(b); output([b.scores(-1).length, b.scores(9).length, b.scores(-99).length])`, "", "[1,0,3]"},
		"cut, open, close":    {`const b = r.open(" the frog"); b.cut(1); output([b.length, b.text(), b.state]); b.close(); try { b.length } catch (e) { output(e.message) }`, "", `[1," the","pending"]|"the branch is closed"`},
		"any":                 {`const b = r.prompt(), f = b.fork(); f.append(" sky"); output(r.wait([f, b], 0, {any: true}).length > 0)`, "", "true"},
		"chat":                {`const b = r.chat("hi"); output(b.text())`, "", `"[{\"role\":\"user\",\"content\":\"hi\"}]"`},
		"adopt":               {`const b = r.prompt(); b.append(" cat"); r.adopt(b)`, "", ""},
		"choices":             {`output([r.choices, r.promptTokens, r.maxTokens])`, "", "[1,2,100]"},
	} {
		r := runProgram(t, "export const plugin = {branches: 4}; export function run(r) { "+tc.body+" }", story(t))
		if r.err != nil {
			t.Errorf("%s: %s", name, said(r.err))
			continue
		}
		if got := strings.Join(r.shown, ""); got != tc.shown {
			t.Errorf("%s: shown %q, want %q", name, got, tc.shown)
		}
		if got := strings.Join(r.outputs, "|"); got != tc.said {
			t.Errorf("%s: outputs %s, want %s", name, got, tc.said)
		}
	}
}

// What would be the plugin's fault with the host is an error of the script, with its line.
func TestRun_SaysWhatIsWrong(t *testing.T) {
	for body, want := range map[string]string{
		`r.prompt().best(1)`: "TypeError: the branch is not computed: wait for it with r.wait([branch]) first (script.js:2:",
		`const b = r.prompt(); b.close(); b.append(" cat")`:  "TypeError: the branch is closed (script.js:2:",
		`const b = r.prompt(); b.start(3); b.append(" cat")`: "TypeError: the host still continues the branch: wait for it first (script.js:2:",
		`for (;;) r.prompt()`:                                "RangeError: no branch is free: close one, or ask for more with plugin.branches (script.js:2:",
		`r.wait([1])`:                                        "TypeError: 1 is no branch; r.prompt(), r.open(), r.chat() and fork() give one (script.js:2:",
		`r.chain({temperature: -1})`:                         "temperature",
		`r.show([99999])`:                                    "RangeError: what to show[0] is 99999; tokens are whole numbers from 0 to 367 (script.js:2:",
		`r.prompt().sample({chain: 1})`:                      "RangeError: the chain is 1; it must be a whole number from 0 to 0 (script.js:2:",
		`const b = r.prompt(); r.adopt(b); r.adopt(b)`:       "TypeError: choice 0 goes on from a branch already (script.js:2:",
		`const b = r.prompt(), f = r.prompt(); r.wait({length: 2, 0: b, get 1() { b.close(); return f }})`:                        "TypeError: the branch is closed (script.js:2:",
		`const b = r.prompt(), f = r.prompt(); r.continue({length: 2, 0: b, get 1() { b.close(); return f }}, 3)`:                 "TypeError: the branch is closed (script.js:2:",
		`const b = r.prompt(), f = b.fork(); r.wait([b, f]); f.mix({length: 2, 0: [b, 1], get 1() { b.close(); return [f, 1] }})`: "TypeError: the branch is closed (script.js:2:",
		`r.adopt({})`:                      "an object is no branch",
		`for (;;);`:                        "the script used up its time (script.js:2:",
		`return (async () => 1)()`:         "run returned a Promise",
		`r.prompt().append({length: 1e9})`: "it may have",
		`const b = r.prompt(); b.append({get length() { b.close(); return 1 }, 0: 5})`: "the branch is closed",
	} {
		r := runProgram(t, "export const plugin = {branches: 2}; export function run(r) {\n "+body+" }", story(t))
		if r.err == nil || !strings.Contains(said(r.err), want) {
			t.Errorf("%s: got %q, want %q", body, said(r.err), want)
		}
	}
}

func TestRun_ShowsForEachChoice(t *testing.T) {
	r := runProgram(t, `export function run(r) { r.show(" frog", 0); try { r.show(" cat", 1) } catch (e) { output(e.message) } }`, nil)
	if want := []string{`"the choice is 1; it must be a whole number from 0 to 0"`}; r.err != nil || !slices.Equal(r.outputs, want) {
		t.Errorf("%v %s", r.outputs, said(r.err))
	}
}

// Each script of the gallery does on this machine, bit for bit, what it did on the one that has
// recorded it. testdata/gallery has the recordings, of TestGallery_Recorded_ComesOutTheSame in
// tests/plugins, which writes them with -update.
func TestGallery_Recordings_ComeOutTheSame(t *testing.T) {
	files, err := filepath.Glob("gallery/*.js")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".js")
		source := must.Get(os.ReadFile(file))(t)
		packed, err := os.ReadFile(filepath.Join("testdata/gallery", name+".json.gz"))
		if err != nil {
			t.Errorf("%s: %v; run `go -C tests test ./plugins -run Gallery_Recorded -update`", name, err)
			continue
		}
		f, err := session.Read(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(name, err)
		}
		p, err := session.NewPlayer(t.Context(), load.File{Content: Module()}, f, plugin.HostOptions{CacheDir: codeCache, Interpreter: Module})
		if err != nil {
			t.Fatal(name, said(err))
		}
		calls := 0
		for i := range f.Sessions {
			s := &f.Sessions[i]
			var config struct{ Source string }
			if err := json.Unmarshal(s.Request.Config, &config); err != nil || config.Source != string(source) {
				t.Errorf("%s is another script than the one that was recorded; run `go -C tests test ./plugins -run Gallery_Recorded -update` (%v)", name, err)
			}
			if d, err := p.Play(t.Context(), s); d != nil || err != nil {
				t.Errorf("%s: %v %v", name, d, err)
			}
			calls += len(s.Calls)
		}
		if calls == 0 {
			t.Errorf("%s: nothing was played", name)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}
