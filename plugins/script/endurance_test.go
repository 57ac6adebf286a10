// SPDX-License-Identifier: MIT

package script

import (
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

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
