// SPDX-License-Identifier: MIT

package script

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
)

// hostileBodies are put into sample(c), and some outside of it. None may end in a fault without a
// text of the guest's, and none may do anything to the guest that the next one notices. They need
// not fail.
var hostileBodies = []string{
	// Time.
	`for (;;);`,
	`while (true) { try { for (;;); } catch {} finally { continue } }`,
	`const f = () => { try { f() } finally { f() } }; f()`,
	`for (const x of (function* () { for (;;) yield 1 })());`,
	`function* g() { try { yield 1 } finally { for (;;); } } for (const x of g()) break;`,
	`[...{[Symbol.iterator]() { return {next() { return {done: false, value: 1} }} }}]`,
	`/(a+)+$/.test("a".repeat(40) + "b")`,
	`/(x+x+)+y/.exec("x".repeat(100))`,
	`/(?:a|a)*b/u.test("a".repeat(50))`,
	`"a".repeat(1000).replace(/(a*)*b/g, "")`,
	`const r = /a/g; for (;;) { r.lastIndex = 0; r.test("a") }`,
	`/(?=(a+))*b/.test("a".repeat(100))`,
	`Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)`,
	`Array.prototype.fill.call({length: 2 ** 53 - 1}, 1)`,
	`[].sort.call({length: 1e9}, () => 0)`,
	`Array.from({length: 1e9})`,
	`new Array(1e8).fill(1)`,
	`new Array(4294967295).join("x")`,
	`"a".repeat(1e5).indexOf("a".repeat(5e4) + "b")`,
	`new Uint8Array(1e6).sort()`,
	`JSON.stringify(new Array(1e6))`,
	`let s = "a"; for (;;) s = s.normalize("NFKD") + s`,
	`2n ** 100000n`,
	`let n = 3n; for (;;) n *= n`,
	`BigInt("9".repeat(20000)).toString(3)`,
	`Math.max(...new Array(1e6))`,
	`const m = new Map(); for (let i = 0;; i++) m.set(i, i)`,
	`structuredClone`,
	`c.filter(() => { for (;;); })`,
	`c.draw({length: 40, get 0() { for (;;); }})`,
	// Memory.
	`"x".repeat(2 ** 30)`,
	`const a = []; for (;;) a.push("x".repeat(10000) + a.length)`,
	`let a = ["x"]; for (;;) a = [a, a].flat()`,
	`let s = "abc"; for (;;) s += s`,
	`new ArrayBuffer(2 ** 31)`,
	`const a = []; for (;;) a.push(new Float64Array(1000))`,
	`const a = []; for (;;) a.push(new Proxy({}, {}))`,
	`try { const a = []; for (;;) a.push([1, 2, 3]) } catch (e) { throw e }`,
	`let o = {}; for (let i = 0;; i++) o["key" + i] = o`,
	`log("x".repeat(1e5), "y".repeat(1e5))`,
	`output("x".repeat(1e5))`,
	`for (;;) { output(1); note("n") }`,
	`const a = new Uint8Array(1 << 20); a.subarray(-5).set(a)`,
	// Recursion.
	`function f() { return f() + 1 } f()`,
	`const o = {toString() { return String(o) }}; String(o)`,
	`const o = {valueOf() { return +o }}; +o`,
	`const o = {get x() { return o.x }}; o.x`,
	`const o = {set x(v) { o.x = v }}; o.x = 1`,
	`const o = {toJSON() { return JSON.stringify(o) }}; JSON.stringify(o)`,
	`const p = new Proxy({}, {get(t, k, r) { return r[k] }}); p.x`,
	`let p = {}; for (let i = 0; i < 2000; i++) p = new Proxy(p, {}); p.x; p.x = 1; "x" in p; delete p.x; Object.keys(p); Object.getPrototypeOf(p)`,
	`let p = () => 1; for (let i = 0; i < 3000; i++) p = p.bind(null); p()`,
	`let p = class {}; for (let i = 0; i < 300; i++) p = class extends p {}; new p()`,
	`let a = []; for (let i = 0; i < 5000; i++) a = [a]; a.toString()`,
	`let a = []; for (let i = 0; i < 5000; i++) a = [a]; a.flat(Infinity)`,
	`let a = []; for (let i = 0; i < 5000; i++) a = [a]; JSON.stringify(a)`,
	`let a = {}; for (let i = 0; i < 5000; i++) a = {a}; a = null`,
	`JSON.parse("[".repeat(60000))`,
	`JSON.parse("[".repeat(3000) + "]".repeat(3000), (k, v) => v)`,
	`new RegExp("(".repeat(30000))`,
	`new RegExp("(?:a".repeat(3000) + ")".repeat(3000)).test("aaa")`,
	`new RegExp("[".repeat(3000), "v")`,
	`new RegExp("(?=".repeat(500) + ")".repeat(500))`,
	`eval("(".repeat(30000))`,
	`eval("[".repeat(30000))`,
	`eval("{".repeat(30000))`,
	`eval("a=>".repeat(30000) + "1")`,
	`eval("!".repeat(30000) + "1")`,
	`eval("-".repeat(3) + "+-".repeat(15000) + "1")`,
	`eval("new ".repeat(15000) + "x")`,
	`eval("if(1)".repeat(10000) + ";")`,
	`eval("for(;0;)".repeat(8000) + ";")`,
	`eval("do ".repeat(8000) + ";")`,
	`eval("a:{".repeat(300).replace(/a/g, (m, i) => "l" + i))`,
	`eval("function f(){".repeat(4000))`,
	`eval("class A{static{".repeat(4000))`,
	`eval("class A extends ".repeat(4000))`,
	`eval("x?".repeat(10000))`,
	`eval("a=".repeat(10000) + "1")`,
	`eval("1**".repeat(10000) + "1")`,
	`eval("1+".repeat(10000) + "1")`,
	`eval("1,".repeat(10000) + "1")`,
	`eval("x.a".repeat(1) + ".a".repeat(10000))`,
	`eval("x?.a" + "?.a".repeat(5000))`,
	"eval('`${'.repeat(5000))",
	`eval("[a=".repeat(5000))`,
	`eval("let " + "[".repeat(5000) + "a")`,
	`eval("({a:".repeat(5000))`,
	`eval("async()=>".repeat(5000) + "1")`,
	`eval("switch(1){case 1:".repeat(3000))`,
	`eval("try{".repeat(3000))`,
	`eval("(a,".repeat(3000))`,
	`eval("typeof ".repeat(8000) + "1")`,
	`eval("import(".repeat(5000))`,
	`eval("function*g(){" + "yield ".repeat(5000) + "}")`,
	`eval("label" + "/*".repeat(20000))`,
	`[1].map(function f(x) { return [x].map(f) })`,
	`[3, 1, 2].sort(function f(a, b) { return [a, b].sort(f).length })`,
	`"a".replace(/a/, function f(m) { return m.replace(/a/, f) })`,
	`Reflect.construct(function F() { return new F() }, [])`,
	`Object.defineProperty(globalThis, "x", {get() { return globalThis.x }}); x`,
	`function f() { return [...{[Symbol.iterator]: f}] } f()`,
	`async function f() { return f() } f()`,
	`function* g() { yield* g() } g().next()`,
	`const f = (...a) => f(...a, 1, 2, 3); f()`,
	`f(); function f(s = f()) {}`,
	`class A { constructor() { this.x = new A() } } new A()`,
	`class A { static [Symbol.hasInstance](x) { return x instanceof A } } 1 instanceof A`,
	`const e = new Error("x"); e.cause = e; log(e); throw e`,
	`new Function("return this")().f = () => f(); f()`,
	// Built-ins, taken away or changed.
	`Array.prototype.push = Object.prototype.toString = String.prototype.includes = () => { throw 1 }; c.filter(s => s); penstock.tokenize("abc"); JSON.stringify({})`,
	`Object.defineProperty(Object.prototype, "back", {get() { throw 1 }}); Object.prototype.length = 5`,
	`Object.prototype.end = "x"; Array.prototype[0] = 1; delete globalThis.penstock; delete globalThis.JSON`,
	`Object.freeze(c); Object.setPrototypeOf(c, null); c.ids = null`,
	`Object.prototype.candidates = 9999; Function.prototype.call = null; Symbol.iterator in c`,
	`globalThis.undefined = 1; Object = Array = Error = TypeError = null; c.ban(99)`,
	`Uint32Array.prototype.set = Float32Array.prototype.fill = null; Object.defineProperty(Uint32Array, Symbol.species, {get() { throw 1 }}); c.ids.slice(0)`,
	`Error = function () { for (;;); }; null.x`,
	`Object.defineProperty(Float32Array.prototype, "length", {get() { throw 1 }}); c.draw(c.softmax())`,
	// Code of the script's, in the middle of a function of ours.
	`c.draw({length: 40, get 0() { c.logits.fill(NaN); c.softmax(); return 1 }})`,
	`c.filter((s, i) => { c.ids.buffer.transfer(); c.logits.buffer.transfer(); return i < 3 })`,
	`c.filter((s, i) => { c.filter(() => true); c.temperature(0); return i })`,
	`c.bias({valueOf() { throw 1 }}, 1)`,
	`penstock.tokenize({toString() { for (;;); }})`,
	`penstock.detokenize({length: 3, get 0() { penstock.detokenize([70, 71]); return 72 }, 1: 73, 2: 74})`,
	`penstock.detokenize(new Proxy([1, 2], {get(t, k) { return k === "length" ? 1e9 : 1 }}))`,
	`penstock.mask(new Proxy(/a/, {}))`,
	`penstock.mask((s, t) => { penstock.mask([t]); return true })`,
	`penstock.mask({length: 5, get 0() { throw new Error("from a getter") }})`,
	`const r = /a/; r.compile("(a+)+$"); penstock.mask(r)`,
	`c.filter.call(null, () => true); c.text.call(5, 1)`,
	`penstock.output({toJSON() { return penstock.output({toJSON() { throw 1 }}) }})`,
	`log({toJSON() { log("inner"); return log }}, new Proxy(() => 1, {}))`,
	`penstock.splice({valueOf() { throw 1 }}, c)`,
	`penstock.history(1e9); penstock.history(-1e9); penstock.text(2 ** 30 - 1); penstock.piece(0.5)`,
	`c.softmax().buffer.transfer(); c.softmax(); c.entropy()`,
	`structuredClone?.(c.ids)`,
	`c.ids.set(new Uint32Array(40).fill(4e9)); c.text(0)`,
	`c.ids.fill(1); c.filter(/x/); c.text(1); return c.draw()`,
	`new Uint8Array(c.ids.buffer).fill(255); c.filter(/./); c.softmax()`,
	// What is not there, or does nothing.
	`import("x")`, `require("fs")`, `fetch("http://x")`, `process.exit(1)`, `std.exit(1)`, `os.exec(["x"])`, `new Worker("x")`,
	`Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`, `new WeakRef({})`, `setTimeout(() => 1)`, `queueMicrotask(() => 1)`, `console.log(new Date(1e20), Date.parse("x".repeat(1000)))`,
	`Promise.resolve().then(() => { for (;;); })`,
	`new Promise(r => r({then(f) { f(1) }}))`,
	`new Date(8640000000000001).toISOString()`, `(1).toFixed(1000)`, `"x".padEnd(2 ** 29)`, `String.fromCodePoint(-1)`, `new Intl.NumberFormat()`,
}

func TestHostileScripts_EndWithAnErrorOfTheirOwn(t *testing.T) {
	for _, body := range hostileBodies {
		for place, source := range map[string]string{
			"sample":    "export function sample(c) {\n" + body + "\n}",
			"the plan":  "const c = {}; export function sample() {}\nfunction all() {\n" + body + "\n}\nall();",
			"a message": "export function messages(c) {\n" + body + "\n}",
		} {
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
			if err != nil && !strings.Contains(said(err), "script.js:") && place == "sample" {
				t.Errorf("%s in %s: no line in %q", body, place, said(err))
			}
		}
	}
	if n := len(hostileBodies); n < 60 {
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
