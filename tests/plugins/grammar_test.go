// SPDX-License-Identifier: MIT

package plugins

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// Where the guests of these tests have their buffers.
const grammarAt, maskAt, spliceAt, textAt = 4096, 16384, 8192, 8256

// grammatical is a plugin that masks by the host's grammar engine. Where the engine does not take
// the grammar, it refuses.
func grammatical(name string, kind int, text string, maskBytes int) []byte {
	g := asm.New(`{"name":"`+name+`"}`).Put(grammarAt, text)
	g.On(abi.ExportOpen, g.Bind(abi.BufferMask, maskAt, maskBytes),
		asm.I32(kind), asm.I32(grammarAt), asm.I32(len(text)), g.Call("grammar_open")) // 0, the handle, is also yes
	g.On(abi.ExportPrepare, asm.I32(0), g.Call("grammar_mask"), asm.Drop, asm.I32(abi.PrepareMask))
	g.On(abi.ExportAccept, asm.I32(0), asm.Local(0), g.Call("grammar_accept"), asm.Drop, asm.I32(0))
	return g.Wasm()
}

// masking allows some tokens, always the same.
func masking(name string, maskBytes int, tokens ...int) []byte {
	g := asm.New(`{"name":"` + name + `"}`)
	words := map[int]int{}
	for _, t := range tokens {
		words[t/32] |= 1 << (t % 32)
	}
	code := [][]byte{g.Bind(abi.BufferMask, maskAt, maskBytes)}
	for word, bits := range words {
		code = append(code, asm.Poke(maskAt+4*word, bits))
	}
	g.On(abi.ExportOpen, append(code, asm.I32(0))...)
	return g.On(abi.ExportPrepare, asm.I32(abi.PrepareMask)).Wasm()
}

// forcing forces one token, always the same.
func forcing(name string, token int) []byte {
	g := asm.New(`{"name":"` + name + `"}`)
	g.On(abi.ExportOpen, g.Bind(abi.BufferSplice, spliceAt, 16), asm.Poke(spliceAt+4, 1), asm.Poke(spliceAt+8, token), asm.I32(0))
	return g.On(abi.ExportPrepare, asm.I32(abi.PrepareForce)).Wasm()
}

const nameGrammar = `root ::= "{\"name\": \"" [A-Z] [a-z]{2,5} "\"}"`

// maskSize is the bytes of a mask for the built-in model.
func maskSize(t *testing.T) int {
	t.Helper()
	return (hosts.Vocabulary(t).Info().Vocabulary + 31) / 32 * 4
}

func TestPlugins_Grammar_BuiltInModel(t *testing.T) {
	const schema = `{"type":"object","properties":{"frogs":{"type":"integer","minimum":1,"maximum":99},"wet":{"type":"boolean"}},"required":["frogs","wet"],"additionalProperties":false}`
	size := maskSize(t)
	h := hosts.OpenWithPlugins(t, nil, map[string][]byte{
		"a.wasm": grammatical("named", abi.GrammarGBNF, nameGrammar, size),
		"b.wasm": grammatical("schema", abi.GrammarJSONSchema, schema, size),
		"c.wasm": grammatical("bad", abi.GrammarGBNF, `root ::= nowhere`, size),
		"d.wasm": grammatical("recursive", abi.GrammarJSONSchema, `{"$ref":"#"}`, size),
	})
	const fields = `,"max_tokens":80,"temperature":1,"ignore_eos":false,"seed":`
	for _, seed := range []string{"1", "2", "3"} {
		if status, text, _ := hosts.Complete(t, h, fields+seed+`,"plugins":["named"]`); status != 200 || !regexp.MustCompile(`^\{"name": "[A-Z][a-z]{2,5}"\}$`).MatchString(text) {
			t.Errorf("GBNF: %d %q", status, text)
		}
		var answer struct {
			Frogs int   `json:"frogs"`
			Wet   *bool `json:"wet"`
		}
		status, text, _ := hosts.Complete(t, h, fields+seed+`,"plugins":["schema"]`)
		if err := json.Unmarshal([]byte(text), &answer); status != 200 || err != nil || answer.Frogs < 1 || answer.Frogs > 99 || answer.Wet == nil {
			t.Errorf("JSON schema: %d %q, %v", status, text, err)
		}
	}
	for name, want := range map[string]string{"bad": `"nowhere" is used, but not defined`, "recursive": "the schema leads to itself"} {
		if status, message, field := hosts.Complete(t, h, `,"plugins":["`+name+`"]`); status != 400 || !strings.Contains(message, want) || !strings.Contains(field, "plugins") {
			t.Errorf("%s: %d %q %q, want 400 with %q", name, status, message, field, want)
		}
	}
}

// TestGrammar_Example_BuiltInModel: the example keeps answers within its grammar, also where
// another takes tokens back.
func TestGrammar_Example_BuiltInModel(t *testing.T) {
	h := hosts.SharedWithExamples(t, "grammar", "banned-phrases")
	use := func(name string, config any) string {
		text := must.Get(json.Marshal(map[string]any{"name": name, "config": config}))(t)
		return string(text)
	}
	fields := `,"max_tokens":80,"temperature":1,"ignore_eos":false,"seed":`
	frogs := use("grammar", map[string]any{"grammar": `root ::= ("frog" | "pond" | "reed") (" " ("frog" | "pond" | "reed")){5} "."`})
	for seed := range 5 {
		list := `,"plugins":[` + frogs + `,` + use("banned-phrases", map[string]any{"phrases": []string{"frog pond", "pond reed"}}) + `]`
		status, text, _ := hosts.Complete(t, h, fields+strconv.Itoa(seed)+list)
		if status != 200 || !regexp.MustCompile(`^(frog|pond|reed)( (frog|pond|reed)){5}\.$`).MatchString(text) || regexp.MustCompile("frog pond|pond reed").MatchString(text) {
			t.Errorf("seed %d: %d %q", seed, status, text)
		}
	}
	bad := `,"plugins":[` + use("grammar", map[string]any{"grammar": "root ::= nowhere"}) + `]`
	if status, message, field := hosts.Complete(t, h, bad); status != 400 || !strings.Contains(message, `"nowhere" is used, but not defined`) || !strings.Contains(field, "plugins") {
		t.Errorf("%d %q %q", status, message, field)
	}
}

// TestPlugins_ReasoningBudget: the end of thinking is forced whatever plugins choose, mask or
// force, and they go on behind it.
func TestPlugins_ReasoningBudget(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, map[string][]byte{"a.wasm": hosts.Always("always", 300), "b.wasm": forcing("forcing", 300), "c.wasm": masking("masking", 192, 300)})
	piece := hosts.Piece(t, 300)
	tags := must.Get(json.Marshal(map[string]any{"reasoning_budget_start_tag": piece, "reasoning_budget_end_tag": "!", "reasoning_budget_message": "stop",
		"reasoning_budget_tokens": 3, "max_tokens": 20}))(t)
	begin := strings.Repeat(piece, 4) + "stop!" + strings.Repeat(piece, 4) + "stop!"
	for _, name := range []string{"always", "forcing", "masking"} {
		status, text, _ := hosts.Complete(t, h, ","+strings.Trim(string(tags), "{}")+`,"plugins":["`+name+`"]`)
		if status != 200 || !strings.HasPrefix(text, begin) {
			t.Errorf("%s: %d %q, want %q", name, status, text, begin)
		}
	}
}

// TestPlugins_LazyGrammar: a plugin may choose what it likes until the grammar wakes, also by the
// plugin's own token, and from then on only what fits.
func TestPlugins_LazyGrammar(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, map[string][]byte{"a.wasm": hosts.Always("always", 300)})
	piece := hosts.Piece(t, 300)
	lazily := func(grammar, trigger string) string {
		fields := must.Get(json.Marshal(map[string]any{"grammar": grammar, "grammar_lazy": true, "preserved_tokens": []string{piece},
			"grammar_triggers": []any{map[string]any{"type": 1, "value": trigger}}, "max_tokens": 6}))(t)
		return "," + strings.Trim(string(fields), "{}")
	}
	many := strconv.Quote(piece)
	for name, c := range map[string]struct {
		fields string
		status int
		want   string
	}{
		"asleep":                {lazily(`root ::= "x"`, "no such text"), 200, strings.Repeat(piece, 6)},
		"woken, fits":           {lazily("root ::= "+many+"{6}", piece+piece), 200, strings.Repeat(piece, 6)},
		"woken, does not fit":   {lazily("root ::= "+many+"{3} \"!\"", piece+piece), 424, "does not fit its grammar"},
		"its trigger is no fit": {lazily(`root ::= "x"`, piece+piece), 424, "does not fit its grammar"},
	} {
		status, text, _ := hosts.Complete(t, h, c.fields+`,"plugins":["always"]`)
		if status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %q, want %d %q", name, status, text, c.status, c.want)
		}
	}
	skipped := lazily("root ::= "+many+"{3} \"!\"", piece+piece) + `,"plugins":[{"name":"always","on_error":"skip"}]`
	if status, text, _ := hosts.Complete(t, h, skipped+`,"ignore_eos":false`); status != 200 || text != strings.Repeat(piece, 3)+"!" {
		t.Errorf("skipped: %d %q", status, text)
	}
	if status, text, field := hosts.Complete(t, h, skipped); status != 422 || !strings.Contains(text, "no token is left") || !strings.Contains(field, "unsatisfiable") {
		t.Errorf("skipped, without an end: %d %q %s", status, text, field)
	}
}

// TestCompletion_Grammar_Unsatisfiable: what a request demands and cannot have is its own fault.
func TestCompletion_Grammar_Unsatisfiable(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	for name, fields := range map[string]string{
		"no end":        `,"grammar":"root ::= \"ab\""`,
		"too ambiguous": `,"grammar":"root ::= \"a\" root | \"a\" root \"b\" | \"a\" root \"c\" | \"a\"","max_tokens":60`,
		"does not fit":  `,"grammar":"root ::= \"x\"","grammar_lazy":true,"grammar_triggers":[{"type":2,"value":"[a-z]"}]`,
		"banned":        `,"grammar":"root ::= \"z\"+","logit_bias":[["z",false],["zz",false]]`,
	} {
		for _, more := range []string{"", `,"logprobs":1`} {
			status, text, field := hosts.Complete(t, h, fields+more)
			if status != 422 || !strings.Contains(field, "unsatisfiable") || strings.Contains(text, "failed") {
				t.Errorf("%s%s: %d %q %s", name, more, status, text, field)
			}
		}
	}
}

// TestCompletion_ReasoningBudget_Traced: a token that is forced is one like any other in
// log-probabilities and traces.
func TestCompletion_ReasoningBudget_Traced(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	const fields = `,"prompt":"Once upon a","max_tokens":12,"reasoning_budget_start_tag":" time","generation_prompt":" time",
		"reasoning_budget_end_tag":"!","reasoning_budget_tokens":2`
	_, want, _ := hosts.Complete(t, h, fields)
	if !strings.Contains(want, "!") {
		t.Fatalf("%q has no end of thinking", want)
	}
	for _, more := range []string{`,"trace":true`, `,"logprobs":3`, `,"trace":true,"logprobs":2`} {
		if status, text, _ := hosts.Complete(t, h, fields+more); status != 200 || text != want {
			t.Errorf("%s: %d %q, want %q", more, status, text, want)
		}
	}
}
