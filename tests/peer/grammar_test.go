// SPDX-License-Identifier: MIT

package peer

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// story is what the built-in model says greedily to a prompt: the material of triggers and tags
// that do occur.
type story struct {
	prompt string
	text   string
	pieces []string
	tokens []int
}

// opening is the prompt of the story, as the model's template writes it.
func opening(t *testing.T, s Server) string {
	t.Helper()
	answer := s.Call(t, "POST", "/apply-template", `{"messages":[{"role":"user","content":"Tell me a story about a frog."}]}`)
	var rendered struct{ Prompt string }
	if err := json.Unmarshal([]byte(answer.Body), &rendered); err != nil || rendered.Prompt == "" {
		t.Fatalf("%v: %s", err, answer.Body)
	}
	return rendered.Prompt
}

// prompted is the body of a greedy completion with further fields.
func prompted(prompt string, fields map[string]any) string {
	body := map[string]any{"prompt": prompt, "temperature": 0, "n_predict": 60, "return_tokens": true}
	for name, value := range fields {
		body[name] = value
	}
	return encoded(body)
}

func encoded(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // a map of texts and numbers
	}
	return string(text)
}

// outcome is what is compared of an answer.
type outcome struct {
	Content  string `json:"content"`
	Tokens   []int  `json:"tokens"`
	StopType string `json:"stop_type"`
	Settings struct {
		Grammar          string `json:"grammar"`
		Lazy             bool   `json:"grammar_lazy"`
		Triggers         []any  `json:"grammar_triggers"`
		Preserved        []int  `json:"preserved_tokens"`
		GenerationPrompt string `json:"generation_prompt"`
	} `json:"generation_settings"`
}

func (s Server) complete(t *testing.T, prompt string, fields map[string]any) (outcome, Response) {
	t.Helper()
	answer := s.Call(t, "POST", "/completion", prompted(prompt, fields))
	var c outcome
	if err := json.Unmarshal([]byte(answer.Body), &c); err != nil {
		t.Fatalf("%v: %s", err, answer.Body)
	}
	if _, ok := fields["json_schema"]; ok {
		c.Settings.Grammar = "" // llama-server shows what it made of the schema
	}
	if n := len(c.Tokens); n > 0 && c.Tokens[n-1] < 3 {
		c.Tokens = c.Tokens[:n-1] // llama-server's list has the token that ended the answer
	}
	return c, answer
}

func toldBy(t *testing.T, s Server) story {
	t.Helper()
	prompt := opening(t, s)
	c, answer := s.complete(t, prompt, nil)
	if answer.Status != 200 || len(c.Tokens) < 50 {
		t.Fatalf("%d %s", answer.Status, answer.Body)
	}
	told := story{prompt: prompt, text: c.Content, tokens: c.Tokens}
	for _, token := range c.Tokens {
		var piece struct{ Content string }
		answer := s.Call(t, "POST", "/detokenize", encoded(map[string]any{"tokens": []int{token}}))
		if err := json.Unmarshal([]byte(answer.Body), &piece); err != nil {
			t.Fatalf("%v: %s", err, answer.Body)
		}
		told.pieces = append(told.pieces, piece.Content)
	}
	return told
}

// quoted is a text as a literal of GBNF.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}

// escaped is a text as a regular expression.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune(`\.+*?()|[]{}^$`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// lazily is a request with a lazy grammar, which wakes at a part of the story.
func (s story) lazily(r *rand.Rand) map[string]any {
	from := r.IntN(len(s.text) / 2)
	word := s.text[from : from+3+r.IntN(9)]
	trigger := map[string]any{"type": 1, "value": word}
	begins, preserved := word, []string{}
	switch r.IntN(6) {
	case 0:
		n := r.IntN(len(s.tokens) / 2)
		trigger, begins = map[string]any{"type": 0, "value": "", "token": s.tokens[n]}, s.pieces[n]
	case 1:
		trigger = map[string]any{"type": 2, "value": escaped(word)}
	case 2:
		trigger, begins = map[string]any{"type": 2, "value": escaped(word[:2]) + "(" + escaped(word[2:]) + ")"}, word[2:]
	case 3:
		trigger = map[string]any{"type": 3, "value": `[\s\S]*?(` + escaped(word) + `)[\s\S]*`}
	case 4:
		n := r.IntN(len(s.tokens) / 2)
		preserved, begins = []string{s.pieces[n]}, s.pieces[n]
		trigger = map[string]any{"type": 1, "value": s.pieces[n]}
	}
	rest := []string{`.{0,12} "frog" [a-z]{0,3} "!"`, `[^.]{0,40} ("." | "?") .{3,5}`, `(.{9} "-")+ "stop"`}[r.IntN(3)]
	return map[string]any{"grammar": "root ::= " + quoted(begins) + " " + rest, "grammar_lazy": true, "grammar_triggers": []any{trigger},
		"preserved_tokens": preserved}
}

// thinking is a request whose thinking begins and ends at tokens of the story, if it does not
// begin in the prompt.
func (s story) thinking(r *rand.Rand) map[string]any {
	start := r.IntN(10)
	end := start + 1 + r.IntN(25)
	fields := map[string]any{"reasoning_budget_tokens": r.IntN(16) - 1, "reasoning_budget_start_tag": s.pieces[start],
		"reasoning_budget_end_tags": []string{s.pieces[end], strings.Join(s.pieces[end+1:end+3], "")}}
	// llama-server forces nothing if it is told no message, not even an empty one.
	fields["reasoning_budget_message"] = []string{"", " That is enough."}[r.IntN(2)]
	if r.IntN(3) == 0 {
		fields["generation_prompt"] = s.pieces[start]
	}
	return fields
}

// requests are random requests that both servers are asked.
func (s story) requests(n int) map[string]map[string]any {
	all := map[string]map[string]any{}
	for i := range n {
		r := rand.New(rand.NewPCG(uint64(i), 12))
		fields := map[string]any{}
		kind := []string{"lazy", "thinking", "both", "schema", "prefilled"}[i%5]
		if kind == "lazy" || kind == "both" {
			fields = s.lazily(r)
		}
		if kind == "thinking" || kind == "both" {
			for name, value := range s.thinking(r) {
				fields[name] = value
			}
		}
		if kind == "schema" {
			fields["json_schema"] = schemas[r.IntN(len(schemas))]
		}
		if kind == "prefilled" {
			fields["grammar"], fields["grammar_type"] = `root ::= "<go> " [a-z ]+ "."`, []string{"tool_calls", "user"}[r.IntN(2)]
			fields["generation_prompt"] = "<go>"
		}
		all[fmt.Sprint(kind, " ", i)] = fields
	}
	return all
}

var schemas = []json.RawMessage{
	json.RawMessage(`{}`), json.RawMessage(`{"type":"object","properties":{"z":{"type":"integer"},"a":{"enum":["x","y"]}},"required":["z","a"],"additionalProperties":false}`),
	json.RawMessage(`{"type":"array","items":{"type":"string","pattern":"^[a-c]{2}$"},"minItems":2,"maxItems":3}`),
	json.RawMessage(`{"anyOf":[{"type":"null"},{"const":"b1, a2"}]}`), json.RawMessage(`{"type":"integer","minimum":7,"maximum":12}`),
}

// Lazy grammars, schemas, generation prompts and budgets of thinking choose, token by token, what
// llama-server chooses.
func TestCompletion_Grammars_AsLlamaServer(t *testing.T) {
	model := Exact(t)
	llama, ours := LlamaServer(t, model), Penstock(t, model, nil)
	told := toldBy(t, llama)
	if same := toldBy(t, ours); same.text != told.text {
		t.Fatalf("the models say %q and %q", told.text, same.text)
	}
	changed := 0
	for name, fields := range told.requests(100) {
		want, first := llama.complete(t, told.prompt, fields)
		got, second := ours.complete(t, told.prompt, fields)
		if first.Status != second.Status {
			t.Errorf("%s: %s\nllama-server: %d %.300s\nPenstock: %d %.300s", name, encoded(fields), first.Status, first.Body, second.Status, second.Body)
		} else if first.Status == 200 && fmt.Sprint(want) != fmt.Sprint(got) {
			t.Errorf("%s: %s\nllama-server: %+v\nPenstock: %+v", name, encoded(fields), want, got)
		}
		if want.Content != told.text {
			changed++
		}
	}
	t.Logf("%d of 100 answers are not the plain story", changed)
	if changed < 60 {
		t.Errorf("only %d of 100 answers differ from the story without them", changed)
	}
}
