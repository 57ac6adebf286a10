// SPDX-License-Identifier: MIT

package native

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/must"
)

// whole is an answer's parts, added up.
type whole struct {
	Reasoning, Content string
	Calls              []wholeCall
}

type wholeCall struct{ ID, Name, Arguments string }

func (w *whole) add(t testing.TB, parts []AnswerPart) {
	t.Helper()
	for _, p := range parts {
		w.Reasoning += p.Reasoning
		w.Content += p.Content
		if p.Call == nil {
			continue
		}
		if *p.Call == len(w.Calls) {
			w.Calls = append(w.Calls, wholeCall{})
		}
		at := &w.Calls[*p.Call]
		if at.Name != "" && p.Name != "" && at.Name != p.Name {
			t.Errorf("call %d changes its name from %q to %q", *p.Call, at.Name, p.Name)
		}
		if p.Name != "" {
			at.ID, at.Name = p.ID, p.Name
		}
		at.Arguments += p.Arguments
	}
}

const twoTools = `[{"type":"function","function":{"name":"get_weather","description":"The weather.","parameters":
	{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}}},
	{"type":"function","function":{"name":"get_time","parameters":{"type":"object","properties":{}}}}]`

var bonn = wholeCall{Name: "get_weather", Arguments: `{"city": "Bonn"}`}

// formats are answers in the formats of the main families of models, as their templates have them.
var formats = []struct {
	template, name, text string
	want                 whole
}{
	{"Qwen-Qwen3-0.6B", "content", "Hello, <b>you</b>.", whole{Content: "Hello, <b>you</b>."}},
	{"Qwen-Qwen3-0.6B", "reasoning", "<think>\nHm.\n</think>\n\nHello.", whole{Reasoning: "Hm.\n", Content: "Hello."}},
	{"Qwen-Qwen3-0.6B", "calls", "<think>\nHm.\n</think>\n\nLet me see.<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Bonn\"}}\n</tool_call>\n" +
		"<tool_call>\n{\"name\": \"get_time\", \"arguments\": {}}\n</tool_call>",
		whole{Reasoning: "Hm.\n", Content: "Let me see.", Calls: []wholeCall{bonn, {Name: "get_time", Arguments: "{}"}}}},
	{"NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", "call", "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Bonn\"}}\n</tool_call>", whole{Calls: []wholeCall{bonn}}},
	{"Qwen3-Coder", "call", "Yes.\n<tool_call>\n<function=get_weather>\n<parameter=city>\nBonn \"am Rhein\"\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
		whole{Content: "Yes.\n", Calls: []wholeCall{{Name: "get_weather", Arguments: `{"city":"Bonn \"am Rhein\"","days":3}`}}}},
	{"meta-llama-Llama-3.1-8B-Instruct", "content", "Hello.", whole{Content: "Hello."}},
	{"meta-llama-Llama-3.1-8B-Instruct", "call", `{"name": "get_weather", "parameters": {"city": "Bonn"}}`, whole{Calls: []wholeCall{bonn}}},
	{"mistralai-Mistral-Nemo-Instruct-2407", "call", `[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Bonn"}, "id": "123456789"}]`,
		whole{Calls: []wholeCall{{ID: "123456789", Name: "get_weather", Arguments: `{"city": "Bonn"}`}}}},
	{"mistralai-Ministral-3-14B-Reasoning-2512", "call", `[THINK]Hm.[/THINK][TOOL_CALLS]get_weather[ARGS]{"city": "Bonn"}`, whole{Reasoning: "Hm.", Calls: []wholeCall{bonn}}},
	{"deepseek-ai-DeepSeek-R1-Distill-Llama-8B", "reasoning", "Hm, 6 < 7.\n</think>\n\n42", whole{Reasoning: "\nHm, 6 < 7.\n", Content: "\n\n42"}},
	{"deepseek-ai-DeepSeek-V3.1", "call", "Hm.</think><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": \"Bonn\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", whole{Reasoning: "Hm.", Calls: []wholeCall{bonn}}},
	{"openai-gpt-oss-120b", "reasoning", "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello.", whole{Reasoning: "Hm.", Content: "Hello."}},
	{"openai-gpt-oss-120b", "call", "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{\"city\": \"Bonn\"}",
		whole{Reasoning: "Hm.", Calls: []wholeCall{bonn}}},
	{"CohereForAI-c4ai-command-r7b-12-2024-tool_use", "call", "<|START_THINKING|>Hm.<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"get_weather\", \"parameters\": {\"city\": \"Bonn\"}}\n]<|END_ACTION|>",
		whole{Reasoning: "Hm.", Calls: []wholeCall{{ID: "0", Name: "get_weather", Arguments: `{"city": "Bonn"}`}}}},
	{"CohereForAI-c4ai-command-r7b-12-2024-tool_use", "content", "<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>Hello.<|END_RESPONSE|>", whole{Reasoning: "Hm.", Content: "Hello."}},
	{"meetkai-functionary-medium-v3.2", "content", "all\nLet me see.", whole{Content: "Let me see."}},
	{"meetkai-functionary-medium-v3.2", "call", "get_weather\n{\"city\": \"Bonn\"}", whole{Calls: []wholeCall{bonn}}},
	{"meetkai-functionary-medium-v3.1", "call", `<function=get_weather>{"city": "Bonn"}</function>`, whole{Calls: []wholeCall{bonn}}},
	{"google-gemma-2-2b-it", "a template without tools", "Hello, {you}.", whole{Content: "Hello, {you}."}},
}

// formatOf renders a conversation with tools in a template of llama.cpp's.
func formatOf(t testing.TB, m *Model, template string) AnswerFormat {
	t.Helper()
	source := must.Get(os.ReadFile(filepath.Join(llamaSource(t), "models", "templates", template+".jinja")))(t)
	tmpl := must.Get(NewTemplate(m, string(source)))(t)
	defer closing(t, tmpl)
	p := must.Get(tmpl.Render(t.Context(), Conversation{Messages: json.RawMessage(`[{"role":"user","content":"Hi"}]`), Tools: json.RawMessage(twoTools), ParallelToolCalls: true,
		AddGenerationPrompt: true, EnableThinking: true, ReasoningFormat: "auto"}, nil))(t)
	return AnswerFormat{Format: p.Format, Parser: p.Parser, GenerationPrompt: p.GenerationPrompt, ReasoningFormat: "auto"}
}

func newAnswer(t testing.TB, f AnswerFormat) *AnswerParser {
	t.Helper()
	return must.Get(NewAnswerParser(f))(t)
}

func TestAnswerParser_Add_Formats(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	for _, c := range formats {
		t.Run(c.template+"/"+c.name, func(t *testing.T) {
			format := formatOf(t, m, c.template)
			a := newAnswer(t, format)
			defer closing(t, a)
			parts := must.Get(a.Add(c.text, true))(t)
			var got whole
			got.add(t, parts)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("the whole (-want +got):\n%s", diff)
			}
			for seed := range uint64(20) {
				if diff := cmp.Diff(got, inPieces(t, format, c.text, seed)); diff != "" {
					t.Fatalf("pieces of seed %d (-whole +pieces):\n%s", seed, diff)
				}
			}
		})
	}
}

// inPieces adds a text piece by piece.
func inPieces(t testing.TB, f AnswerFormat, text string, seed uint64) (w whole) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	a := newAnswer(t, f)
	defer closing(t, a)
	for text != "" {
		n := min(1+random.IntN(12), len(text))
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		parts := must.Get(a.Add(text[:n], n == len(text)))(t)
		w.add(t, parts)
		text = text[n:]
	}
	return w
}

// What breaks its format is an error at its end and not before, and one that nests without end is
// one at once.
func TestAnswerParser_Add_BrokenFormat(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	a := newAnswer(t, formatOf(t, m, "Qwen-Qwen3-0.6B"))
	defer closing(t, a)
	if parts, err := a.Add("Well.<tool_call>\n{\"name\": \"unknown\"", false); err != nil {
		t.Errorf("%v %v", parts, err)
	}
	if _, err := a.Add("}", true); !errors.Is(err, ErrFailed) {
		t.Errorf("got %v, want ErrFailed", err)
	}
	contradicted := newAnswer(t, formatOf(t, m, "Qwen3-Coder"))
	defer closing(t, contradicted)
	if parts, err := contradicted.Add("<function=get_time>\n</function>\n", false); err != nil || len(parts) == 0 || parts[0].Name != "get_time" {
		t.Errorf("%+v %v", parts, err)
	}
	if _, err := contradicted.Add("It is late.", true); !errors.Is(err, ErrFailed) {
		t.Errorf("got %v, want ErrFailed: the text behind the call is neither content nor part of the call", err)
	}
	deep := newAnswer(t, formatOf(t, m, "meta-llama-Llama-3.1-8B-Instruct"))
	defer closing(t, deep)
	if _, err := deep.Add(`{"name": "get_weather", "parameters": {"city": `+strings.Repeat("[", 9000), true); err != nil {
		t.Error(err)
	}
	if _, err := deep.Add(strings.Repeat("{", 1100), false); !errors.Is(err, ErrFailed) {
		t.Errorf("got %v, want ErrFailed", err)
	}
}

func TestNewAnswerParser_BadFormat(t *testing.T) {
	for _, f := range []AnswerFormat{{}, {Format: "nonsense"}, {Format: "peg-native", Parser: "{"}, {Format: "peg-native", Parser: "{}"},
		{Format: "peg-native", ReasoningFormat: "nonsense"}} {
		if a, err := NewAnswerParser(f); err == nil {
			t.Errorf("%+v is taken", f)
			closing(t, a)
		}
	}
}

// A long answer is parsed again and again: that must not take long.
func TestAnswerParser_Add_LongAnswer(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	a := newAnswer(t, formatOf(t, m, "Qwen-Qwen3-0.6B"))
	defer closing(t, a)
	const tokens = 10_000
	var w whole
	begin, slowest := time.Now(), time.Duration(0)
	for i := range tokens / 100 {
		text := strings.Repeat("Hm, ", 100)
		if i == 0 {
			text = "<think>\n" + text
		}
		if i == tokens/200 {
			text = "\n</think>\n\n" + text
		}
		before := time.Now()
		parts := must.Get(a.Add(text, i == tokens/100-1))(t)
		slowest = max(slowest, time.Since(before))
		w.add(t, parts)
	}
	t.Logf("%d parses of up to %d KB took %v, the slowest %v", tokens/100, tokens*4/1000, time.Since(begin), slowest)
	if len(w.Reasoning) != tokens*2+1 || len(w.Content) != tokens*2 {
		t.Errorf("%d bytes of reasoning, %d of content", len(w.Reasoning), len(w.Content))
	}
}

// FuzzAnswer_Add gives any text to the parsers of all main formats: what it comes to does not
// depend on where it is cut. What was told cannot be taken back, so an answer fails, too, whose
// end contradicts its beginning.
func FuzzAnswer_Add(f *testing.F) {
	m := loadBuiltIn(f, ModelOptions{VocabOnly: true})
	known := map[string]AnswerFormat{}
	for i, c := range formats {
		if _, ok := known[c.template]; !ok {
			known[c.template] = formatOf(f, m, c.template)
		}
		f.Add(byte(i), c.text, uint16(len(c.text)/2))
	}
	f.Fuzz(func(t *testing.T, which byte, text string, cut uint16) {
		if !utf8.ValidString(text) {
			return // an answer shows whole characters
		}
		at := int(cut) % (len(text) + 1)
		for at < len(text) && !utf8.RuneStart(text[at]) {
			at++
		}
		format := known[formats[int(which)%len(formats)].template]
		whole, failed := takenApart(t, format, text)
		pieces, failedToo := takenApart(t, format, text[:at], text[at:])
		if failedToo != nil {
			return
		}
		if diff := cmp.Diff(whole, pieces); failed != nil || diff != "" {
			t.Errorf("at once: %v (-at once +cut at %d)\n%s", failed, at, diff)
		}
	})
}

// takenApart adds the pieces of an answer, and is what they come to, or a failure.
func takenApart(t *testing.T, f AnswerFormat, pieces ...string) (w whole, err error) {
	t.Helper()
	a := newAnswer(t, f)
	defer closing(t, a)
	for i, piece := range pieces {
		parts, err := a.Add(piece, i == len(pieces)-1)
		if err != nil && !errors.Is(err, ErrFailed) {
			t.Error(err)
		}
		if err != nil {
			return w, err
		}
		w.add(t, parts)
	}
	return w, nil
}
