// SPDX-License-Identifier: MIT

package script

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

// sampled is the view after a call of sample on a row with some likely tokens.
func sampled(t *testing.T, source string, config any, likely ...string) *chain.View {
	t.Helper()
	s := mustOpen(t, source, config)
	v := view(rowOf(t, likely...))
	if err := s.Apply(v); err != nil {
		t.Fatal(said(err))
	}
	for _, b := range v.Bias { // as the next stage of a chain does
		v.Row[b.Token] += b.Value
	}
	return v
}

func TestSample_ChangesCandidates(t *testing.T) {
	for name, tc := range map[string]struct{ body, want string }{
		"filter by function":     {`c.filter(s => !s.includes("e"))`, " frog"},
		"filter by RegExp":       {`c.filter(/^ c/)`, " cat"},
		"filter by mask":         {`c.filter(m)`, " frog"},
		"filter that drops all":  {`if (c.filter(() => false) !== 0) throw 1`, " the"},
		"ban":                    {`c.ban(0); c.ban(1)`, " cat"},
		"logits":                 {`c.logits[2] += 5`, " cat"},
		"temperature 0":          {`c.temperature(0)`, " the"},
		"negative temperature":   {`try { c.temperature(-1) } catch (e) { if (!(e instanceof RangeError)) throw e; c.ban(0) }`, " frog"},
		"keep":                   {`c.keep(1)`, " the"},
		"keep of what is left":   {`c.ban(0); c.keep(2)`, " frog"},
		"keep of changed logits": {`c.logits[1] += 5; c.keep(2)`, " frog"},
		"keep of more than all":  {`c.keep(1000)`, " the"},
		"a cold temperature":     {`c.temperature(1e-45); if (c.logits[1] !== -Infinity) throw 1`, " the"},
		"entropy without one":    {`const all = [...c.logits]; c.logits.fill(-Infinity); if (c.entropy() !== 0 || c.softmax()[0] !== 0) throw 1; c.logits.set(all)`, " the"},
		"entropy of one":         {`c.temperature(0); if (c.entropy() !== 0 || c.softmax()[0] !== 1) throw 1`, " the"},
		"a token as a float":     {`return new Float64Array(penstock.tokenize(" cat"))[0]`, " cat"},
		"a token that is none":   {`return penstock.tokenize(" sky")[0]`, " sky"},
		"a token":                {`return penstock.tokenize(" cat")[0]`, " cat"},
		"draw":                   {`return c.draw(Array.from(c.ids, t => t === penstock.tokenize(" cat")[0] ? 1 : 0))`, " cat"},
		"bias beyond candidates": {`c.bias(penstock.tokenize(" sky")[0], 100)`, " sky"},
		"text":                   {`for (let i = 0; i < c.length; i++) if (c.text(i) !== " frog") c.ban(i)`, " frog"},
		"entropy":                {`if (Math.abs(c.entropy() - c.softmax().reduce((h, p) => p > 0 ? h - p * Math.log(p) : h, 0)) > 1e-4) throw 1; c.ban(0)`, " frog"},
	} {
		v := sampled(t, `const m = penstock.mask([penstock.tokenize(" frog")[0]]); export function sample(c) { `+tc.body+` }`, nil, " the", " frog", " cat")
		if got := words.Piece(v.Likeliest()); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

func TestSample_SeesWhatItAsksFor(t *testing.T) {
	for source, want := range map[string]int{
		`export function sample(c) { if (c.length !== 40 || c.ids.length !== 40) throw 1 }`:                                                      40,
		`export const plugin = {candidates: 3}; export function sample(c) { if (c.logits.length !== 3) throw 1 }`:                                3,
		`export const plugin = {view: "logits"}; export function sample(c) { if (c.length !== penstock.vocabSize || c.ids) throw 1; c.ban(0); }`: -1,
		`export const plugin = {view: "none"}; export function sample(c) { if (c.length) throw 1 }`:                                              -1,
		`export const plugin = {candidates: 4096}; export function sample(c) { if (c.length !== penstock.vocabSize) throw new Error(c.length) }`: words.Size(),
	} {
		if v := sampled(t, source, nil, " the"); v.N != want {
			t.Errorf("%s: %d candidates are left, want %d", source, v.N, want)
		}
	}
}

func TestPrepare_Masks(t *testing.T) {
	cat, frog := token(t, " cat"), token(t, " frog")
	allowed := func(p chain.Prepared, tok scheduler.Token) bool {
		return p.Mask == nil || p.Mask[tok>>5]>>(tok&31)&1 == 1
	}
	for body, want := range map[string][2]bool{ // cat, frog
		`p.mask(letters)`:                                      {true, true},
		`p.mask(penstock.mask(/^ c/))`:                         {true, false},
		`p.mask([penstock.tokenize(" cat")[0]])`:               {true, false},
		`p.allow(" cat")`:                                      {true, false},
		`p.allow(new Float64Array(penstock.tokenize(" cat")))`: {true, false},
		`p.ban(" cat")`:                                        {false, true},
		`p.mask(letters); p.ban(" frog")`:                      {true, false},
		`p.allow(" cat"); p.allow(" frog")`:                    {true, true},
		`p.mask(byFunction)`:                                   {false, true},
		``:                                                     {true, true},
	} {
		s := mustOpen(t, `const letters = penstock.mask(/^[a-z ]*$/), byFunction = penstock.mask(s => s === " frog"); export function prepare(p) { `+body+` }`, nil)
		p, err := s.Prepare()
		if err != nil {
			t.Fatal(body, said(err))
		}
		if got := [2]bool{allowed(p, cat), allowed(p, frog)}; got != want {
			t.Errorf("%s: got %v, want %v", body, got, want)
		}
	}
}

func TestMask_OfRegExp_AllowsTheEndAndNoOtherControlTokens(t *testing.T) {
	s := mustOpen(t, `const m = penstock.mask(/^[0-9]+$/), has = t => m[t >> 5] >> (t & 31) & 1;
		export function prepare() { output([has(penstock.eos), has(penstock.bos), has(penstock.tokenize("12")[0]), has(penstock.tokenize("é")[0])]) }`, nil)
	if _, err := s.Prepare(); err != nil {
		t.Fatal(said(err))
	}
	if got := outputs(t, s); !slices.Equal(got, []string{`[1,0,1,0]`}) {
		t.Errorf("got %v", got)
	}
}

func TestMask_MatchesAsRegExpTest(t *testing.T) {
	for _, pattern := range []string{`/é/`, `/^.$/`, `/^.$/u`, `/☃/u`, `/\p{L}/u`, `/[^\x00-\x7f]/`, `/\uFFFD/`, `/^$/`, `/e$/i`, `/👋/u`, `/^[\s\S]{2}$/`, `/(?<=f)r/`, `/(a)|(b)|c/y`, `/o/g`} {
		s := mustOpen(t, `const re = `+pattern+`, m = penstock.mask(re);
			for (let t = 0; t < penstock.vocabSize; t++) {
				re.lastIndex = 0;
				if (!penstock.isControl(t) && (m[t >> 5] >> (t & 31) & 1) !== +(re.sticky ? new RegExp(re.source).test(penstock.piece(t)) && re.test(penstock.piece(t)) : re.test(penstock.piece(t)))) throw new Error(t + " " + penstock.piece(t));
			}
			export function prepare() { output(m.some(word => word !== 0)) }`, nil)
		if _, err := s.Prepare(); err != nil {
			t.Fatal(said(err))
		}
		if got := outputs(t, s); pattern != `/^$/` && !slices.Equal(got, []string{"true"}) {
			t.Errorf("%s matches nothing", pattern)
		}
	}
}

func TestPrepare_BiasesAndForces(t *testing.T) {
	s := mustOpen(t, `export function prepare(p) { p.bias(5, -1.5); p.bias(6, -Infinity); p.force(" the frog"); }`, nil)
	p, err := s.Prepare()
	if err != nil {
		t.Fatal(said(err))
	}
	if diff := cmp.Diff([]chain.Bias{{Token: 5, Value: -1.5}, {Token: 6, Value: float32(math.Inf(-1))}}, p.Bias); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(p.Forced, []scheduler.Token{token(t, " the"), token(t, " frog")}) {
		t.Errorf("forced %v", p.Forced)
	}
}

func TestAccept_StopsAndSplices(t *testing.T) {
	s := mustOpen(t, `export const plugin = {hold: 2};
		export function accept(t) { if (penstock.text().endsWith("cat")) return penstock.splice(1, " frog"); if (penstock.text() === " the frog") return; if (penstock.historyLength > 3) return "stop"; }`, nil)
	if h := s.Traits().Hold; h != 2 {
		t.Errorf("holds %d", h)
	}
	if e, err := s.Accept(token(t, " the")); err != nil || e.Splice || e.Stop {
		t.Fatal(e, said(err))
	}
	e, err := s.Accept(token(t, " cat"))
	if err != nil || !e.Splice || e.Backtrack != 1 || !slices.Equal(e.Tokens, []scheduler.Token{token(t, " frog")}) {
		t.Fatal(e, said(err))
	}
	if e, err = s.Accept(token(t, " frog")); err != nil || e.Stop {
		t.Fatal(e, said(err))
	}
	if e, err = s.Accept(token(t, " sky")); err != nil || !e.Stop {
		t.Fatal(e, said(err))
	}
}

func TestStop_EndsAnswers(t *testing.T) {
	for source, want := range map[string]string{
		`export function stop(s) { if (s.includes("frog")) return "end" }`:        "{Hold:false End:true Show:-1}",
		`export function stop(s) { return s.includes("frog") && "hide" }`:         "",
		`export function stop(s) { return s.includes("frog") }`:                   "",
		`export function stop(s) { if (s.includes("frog")) return {end: " fr"} }`: "",
		`export function stop(s) { return "hold" }`:                               "",
	} {
		s := mustOpen(t, source, nil)
		v, err := s.Rule().Check(token(t, " frog"), " frog")
		if err != nil {
			t.Fatal(said(err))
		}
		if !v.End && !v.Hold {
			t.Errorf("%s: %+v (%s)", source, v, want)
		}
	}
	s := mustOpen(t, `let n = 0; export function stop(s) { return ++n < 2 ? "hold" : {end: "abc"} }`, nil)
	for i, text := range []string{"ab", "cd"} {
		v, err := s.Rule().Check(token(t, " frog"), text)
		if err != nil || v.End != (i == 1) || i == 1 && v.Show != 3 {
			t.Errorf("%q: %+v %s", text, v, said(err))
		}
	}
}

func TestFilter_RewritesWhatIsShown(t *testing.T) {
	const given = "ab cd é"
	for body, want := range map[string]string{ // what is shown of given, and then of what was held back
		``:                                "ab cd é|",
		`return null`:                     "ab cd é|",
		`return ""`:                       "|",
		`return text.toUpperCase()`:       "AB CD É|",
		`if (!last) return {show: "x"}`:   "x|",
		`return {hold: ""}`:               "ab cd é|",
		`if (!last) return {hold: "d é"}`: "ab c|d é",
		`if (!last) return {show: "x", hold: "é"}; return {show: "<" + text + ">"}`: "x|<é>",
		`if (!last) return {hold: text}`:                                            "|ab cd é",
		`return last ? undefined : {show: "", hold: text}`:                          "|ab cd é",
		`if (typeof last !== "boolean") throw 1; return "\ud800"`:                   "�|�",

		`return {hold: "cd"}`:            "filter holds back a text of 2 bytes that is no end of the 8 that it got (script.js:1:",
		`return {hold: text + text}`:     "filter holds back a text of 16 bytes that is no end of the 8 that it got (script.js:1:",
		`return {hold: text}`:            "filter holds back 8 bytes of the last text, and nothing follows",
		`return "x".repeat(65537)`:       "filter shows 65537 bytes of text in the place of 8; 65536 in a call,",
		`return 5`:                       "filter returned 5; it must return a text, {show: text, hold: text} or nothing (script.js:1:",
		`return {}`:                      "filter returned an object; it must return a text,",
		`return ["x"]`:                   "filter returned an array; it must return a text,",
		`return {show: 5}`:               "the text to show is 5; it must be a text",
		`return {hold: 2}`:               "the text to hold back is 2; it must be a text",
		`return {get hold() { null.x }}`: "cannot read property 'x' of null (script.js:1:",
	} {
		f := mustOpen(t, `export function filter(text, last) { `+body+` }`, nil).Filter()
		got, err := f.Filter(given, false)
		if err == nil {
			var rest string
			rest, err = f.Filter("", true)
			got += "|" + rest
		}
		if err != nil {
			got = said(err)
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}

// Bounds that a script meets in more than one call.
func TestFilter_IsBounded(t *testing.T) {
	for body, want := range map[string]string{
		`return last || {hold: text}`:                  "filter holds back 5000 bytes of text, and may hold back 4096",
		`return text.slice(-1).repeat(6e4)`:            "filter shows 60000 bytes of text in the place of 1000; 65536 in a call, and 8 for each byte",
		`return last ? "" : {hold: text.slice(-4000)}`: "",
	} {
		f := mustOpen(t, `export function filter(text, last) { `+body+` }`, nil).Filter()
		var err error
		for i := 0; i < 20 && err == nil; i++ {
			_, err = f.Filter(strings.Repeat("x", 1000), i == 19)
		}
		if got := said(err); !strings.Contains(got, want) || (err == nil) != (want == "") {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}

// What messages has replaced, another instance of the script puts back.
func TestFilter_ReadsTheConversation(t *testing.T) {
	const swap = `const name = list => list[0]?.content.split(" ").at(-1);
		export function messages(list) { list[0].content = list[0].content.replace(name(list), "[NAME]") }
		export function filter(text) { return text.replace("[NAME]", name(penstock.messages())) }`
	const given = `[{"role":"user","content":"I am Ann"}]`
	if got, err := rewritten(t, swap, given); err != nil || !strings.Contains(got, "I am [NAME]") {
		t.Error(got, said(err))
	}
	p, c, err := plan(t, swap, nil)
	if err != nil {
		t.Fatal(said(err))
	}
	for messages, want := range map[string]string{given: "Hello Ann", "": "Hello undefined"} {
		r := request(c)
		r.Messages = []byte(messages)
		if got, err := mustBegin(t, p, r).Filter().Filter("Hello [NAME]", true); err != nil || got != want {
			t.Errorf("%s: got %q, want %q %s", messages, got, want, said(err))
		}
	}
	const needsBoth = "penstock.messages is for hooks of a script that exports both messages and filter (script.js:1:"
	for _, source := range []string{`export function filter() { penstock.messages() }`, `penstock.messages(); export function messages() {} export function filter() {}`} {
		s, err := opened(t, source, nil)
		if err == nil {
			_, err = s.Filter().Filter("x", false)
		}
		if got := said(err); !strings.Contains(got, needsBoth) {
			t.Errorf("%s: got %q", source, got)
		}
	}
}

func TestDraft_Guesses(t *testing.T) {
	s := mustOpen(t, `export function draft(n) { return " the frog cat".repeat(9) }`, nil)
	if _, err := s.Accept(token(t, " the")); err != nil {
		t.Fatal(said(err))
	}
	if got := s.Foresee(2); !slices.Equal(got, []scheduler.Token{token(t, " the"), token(t, " frog")}) {
		t.Errorf("got %v", got)
	}
}

// rewritten are the messages, or the prompt, that a script makes of a conversation.
func rewritten(t *testing.T, source, messages string) (string, error) {
	t.Helper()
	p, c, err := plan(t, source, nil)
	if err != nil {
		return "", err
	}
	if p.IsTemplate() {
		return stage.Render(t.Context(), p, []byte(messages), request(c))
	}
	text, err := stage.RewriteMessages(t.Context(), p, []byte(messages), request(c), nil, func([]byte) error { return nil })
	return string(text), err
}

func TestMessages_Rewrites(t *testing.T) {
	const given = `[{"role":"user","content":"I am Ann"}]`
	for source, want := range map[string]string{
		`export function messages(list) { return [{role: "system", content: "Be short."}, ...list] }`:                    `[{"role":"system","content":"Be short."},{"role":"user","content":"I am Ann"}]`,
		`export function messages(list) { list[0].content = "I am [name]" }`:                                             `[{"role":"user","content":"I am [name]"}]`,
		`export function messages(list) {}`:                                                                              given,
		`export function template(list) { return list.map(m => m.role + ": " + m.content).join("\n") + "\nassistant:" }`: "user: I am Ann\nassistant:",
		`export function messages(list) { return [5] }`:                                                                  "message 0 of the list is 5; a message is an object such as {role:",
		`export function messages(list) { list[0].all = list }`:                                                          "TypeError: circular reference (script.js:1:",
		`export function template(list) { return "" }`:                                                                   "template returned an empty text; it must return the prompt (script.js:1:",
		`export function messages(list) { return "x" }`:                                                                  `messages returned "x"`,
		"export function template(list) {\n return list }":                                                               "template returned an array",
		"export function messages(list) {\n list[1].content }":                                                           "cannot read property 'content' of undefined (script.js:2",
	} {
		got, err := rewritten(t, source, given)
		if err != nil {
			got = said(err)
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%s: got %s, want %s", source, got, want)
		}
	}
}

// outputs are the values that a script has given its client, as JSON.
func outputs(t *testing.T, s *stage.Stage) (all []string) {
	t.Helper()
	for _, o := range s.Traits().Outputs() {
		all = append(all, string(o.Value))
	}
	return all
}

func TestScript_AsksTheHost(t *testing.T) {
	s := mustOpen(t, `const planned = penstock.elapsed; export function accept(t) {
		output([penstock.config, penstock.text(), penstock.text(-4), penstock.history(), penstock.history(-1), penstock.historyLength, penstock.part]);
		output([penstock.param("seed"), penstock.param("time"), Date.now(), new Date().getFullYear(), penstock.param("maxTokens"), penstock.request().model.name, planned, penstock.elapsed]);
		output([penstock.piece(t), [...penstock.bytes(t)], penstock.isEnd(0), penstock.isEnd(t), penstock.isControl(1), penstock.eos, penstock.eot]);
		output([penstock.tokenize(" frog cat").length, penstock.detokenize(penstock.tokenize(" frog é")), penstock.piece(penstock.tokenize("é")[0]), penstock.piece(3 + 0xc3)]);
		output([penstock.fuel > 1e6 && penstock.fuel < 2e7, note("n"), console.log("x", {a: 1}, 1n, Symbol.iterator, undefined, globalThis, new Error("e")), typeof setTimeout, typeof WeakRef, typeof performance]);
	}`, map[string]int{"a": 1})
	if _, err := s.Accept(token(t, " frog")); err != nil {
		t.Fatal(said(err))
	}
	frog := token(t, " frog")
	history, _ := json.Marshal([]int32{1, frog})
	want := []string{
		`[{"a":1}," frog","frog",` + string(history) + `,[` + strings.Split(strings.Trim(string(history), "[]"), ",")[1] + `],2,"unknown"]`,
		`[7,1700000000000,1700000000000,2023,100,"tiny",-1,2147483647]`,
		`[" frog",[32,102,114,111,103],true,false,true,0,null]`,
		`[2," frog é","é","�"]`,
		`[true,true,null,"undefined","undefined","undefined"]`,
	}
	got := outputs(t, s)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if notes := s.Traits().Notes(); !slices.Equal(notes, []string{"n", `x {"a":1} 1 Symbol() undefined an object Error: e`}) {
		t.Errorf("notes: %v", notes)
	}
}

// A picture's tokens are none of the vocabulary's: a history has them, and no text.
func TestScript_HistoryWithAPicture(t *testing.T) {
	s := mustOpen(t, `export function accept(t) {
		const all = penstock.history();
		output([all, penstock.detokenize(all), penstock.detokenize(new Uint32Array(all))]);
		try { penstock.piece(all[1]) } catch (e) { output(e.message) }
		try { penstock.mask(all) } catch (e) { output(e.message) }
	}`, nil, token(t, " the"), -1, -1)
	if _, err := s.Accept(token(t, " frog")); err != nil {
		t.Fatal(said(err))
	}
	list, _ := json.Marshal([]uint32{uint32(token(t, " the")), 1<<32 - 1, 1<<32 - 1, uint32(token(t, " frog"))})
	want := []string{
		`[` + string(list) + `," the frog"," the frog"]`,
		`"the token is 4294967295; tokens are whole numbers from 0 to 367"`,
		`"the mask[1] is 4294967295; tokens are whole numbers from 0 to 367"`,
	}
	if diff := cmp.Diff(want, outputs(t, s)); diff != "" {
		t.Error(diff)
	}
}

func TestPlan_NarrowsTheManifest(t *testing.T) {
	for source, check := range map[string]func(p *load.Plugin) bool{
		`export function sample(c) {}`: func(p *load.Plugin) bool {
			return p.IsStage() && !p.IsStop() && !p.IsProgram() && p.Manifest.View == load.ViewCandidates && p.Manifest.Candidates == 40 && p.Manifest.Hold == 0
		},
		`export function filter(s) {}`: func(p *load.Plugin) bool {
			return p.Filters() && !p.IsStop() && !p.IsStage() && p.Manifest.View == load.ViewNone
		},
		`export function stop(s) {}`: func(p *load.Plugin) bool { return p.IsStop() && !p.IsStage() && p.Manifest.View == load.ViewNone },
		`export const plugin = {branches: 3}; export function run(r) {}`: func(p *load.Plugin) bool {
			return p.IsProgram() && p.Branches(nil) == 3
		},
		`export const plugin = {hold: 8, place: "first", summary: "s", config: {type: "object"}}; export function accept(t) {}`: func(p *load.Plugin) bool {
			return p.Manifest.Hold == 8 && p.Manifest.Place == load.PlaceFirst && p.Manifest.Summary == "s" && string(p.Manifest.ConfigSchema) == `{"type":"object"}`
		},
		`export function accept(t) { penstock.hiddenState() }`: func(p *load.Plugin) bool { return p.WantsHiddenState() },
		`Object.prototype.toJSON = Array.prototype.toJSON = () => 5; Object.prototype.hold = 9; export function accept(t) {}`: func(p *load.Plugin) bool {
			return p.IsStage() && p.Manifest.Hold == 0
		},
		`export function accept(t) { log(t) }`: func(p *load.Plugin) bool { return !p.WantsHiddenState() },
	} {
		p, _, err := plan(t, source, nil)
		if err != nil {
			t.Errorf("%s: %s", source, said(err))
			continue
		}
		if !check(p) {
			t.Errorf("%s: the manifest is %+v", source, p.Manifest)
		}
	}
}

// The code outside of functions runs once, in the plan; what it leaves is every instance's.
func TestPlan_KeepsWhatTheScriptHasComputed(t *testing.T) {
	const source = `let n = 0; log("evaluated"); const at = penstock.historyLength; export function accept(t) { output([++n, at]) }`
	for range 2 {
		s := mustOpen(t, source, nil, 1, 5, 6)
		if _, err := s.Accept(5); err != nil {
			t.Fatal(said(err))
		}
		if got := outputs(t, s); !slices.Equal(got, []string{"[1,0]"}) {
			t.Errorf("got %v", got)
		}
	}
}

func TestPlan_Describe_SaysWhatAScriptIsWithoutItsConfig(t *testing.T) {
	source := `export const plugin = {summary: "bans words", config: {type: "object", required: ["words"]}};
		const words = config.words.map(w => w.toLowerCase());
		export function sample(c) { c.filter(s => !words.includes(s)) }`
	if _, _, err := plan(t, source, nil); err == nil || !strings.Contains(said(err), "cannot read property 'map' of undefined (script.js:2:") {
		t.Errorf("without describe: %s", said(err))
	}
	c := must.Get(json.Marshal(map[string]any{"source": source, "describe": true}))(t)
	p, err := loaded(t).With(t.Context(), "", c)
	if err != nil {
		t.Fatal(said(err))
	}
	defer p.Release()
	if p.Manifest.Summary != "bans words" || !strings.Contains(string(p.Manifest.ConfigSchema), "required") || !p.IsStage() {
		t.Errorf("got %+v", p.Manifest)
	}
	c, _ = json.Marshal(map[string]any{"source": "export function sample(c) {", "describe": true})
	if p, err := loaded(t).With(t.Context(), "", c); err == nil {
		p.Release()
		t.Error("a syntax error was tolerated")
	}
}

// As deep as authors recurse; the bound is the host's, for a stack of 8 MiB.
func TestScript_Recurses(t *testing.T) {
	for name, source := range map[string]string{
		"functions":   `const f = n => n ? f(n - 1) + 1 : 0; f(70)`,
		"JSON":        `JSON.parse("[".repeat(400) + "]".repeat(400))`,
		"an object":   `let o = {}; for (let i = 0; i < 200; i++) o = {o}; JSON.stringify(o)`,
		"parentheses": `eval("(".repeat(60) + "1" + ")".repeat(60))`,
		"a tree":      `let o = null; for (let i = 0; i < 30; i++) o = {list: [o]}; const walk = o => o ? o.list.map(walk).length : 0; walk(o)`,
		"a pattern":   `new RegExp("(".repeat(50) + "a" + ")".repeat(50)).test("a")`,
	} {
		if err := every(t, "export function accept() { "+source+" }"); err != nil {
			t.Errorf("%s: %s", name, said(err))
		}
	}
}

func TestScript_DrawsTheSameAgain(t *testing.T) {
	const source = `export function sample(c) { if (Math.random() < 0.5) c.ban(0); output([Math.random(), Math.random(), new Date()]); return c.draw(); }`
	var first []any
	for i := range 3 {
		s := mustOpen(t, source, nil)
		var all []any
		for range 20 {
			v := view(rowOf(t, " the", " frog", " cat"))
			if err := s.Apply(v); err != nil {
				t.Fatal(said(err))
			}
			if _, err := s.Accept(v.Chosen); err != nil {
				t.Fatal(said(err))
			}
			all = append(all, v.Chosen, v.Logit[:max(0, v.N)], outputs(t, s))
		}
		if i == 0 {
			first = all
		} else if diff := cmp.Diff(first, all); diff != "" {
			t.Fatal(diff)
		}
	}
}
