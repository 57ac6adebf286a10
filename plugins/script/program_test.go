// SPDX-License-Identifier: MIT

package script

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin/drive"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/scheduler/program"
)

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
	s, err := stage.New(p, info)
	if err != nil {
		t.Fatal(err)
	}
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
