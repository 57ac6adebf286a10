// SPDX-License-Identifier: MIT

package peer

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/api"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/tools/must"
)

const weather = `{"type":"function","function":{"name":"get_weather","description":"The weather of a city.","parameters":{"type":"object",
	"properties":{"unit":{"type":"string","enum":["C","F"]},"city":{"type":"string","description":"Its name."}},"required":["city"]}}}`

const clock = `{"type":"function","function":{"name":"get_time","description":"What time it is.","parameters":{"type":"object","properties":{}}}}`

// conversations are bodies for /apply-template. The first five are of the kinds that all templates
// are for; the others try how the body's fields reach the template.
var conversations = []struct{ name, body string }{
	{"plain", `{"messages":[{"role":"user","content":"Grüße 🐸 <b>\"quoted\"</b>"}]}`},
	{"system", `{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":" Hi \n"}]}`},
	{"several turns", `{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"One"},{"type":"text","text":"Two"}]},
		{"role":"assistant","content":"Three"},{"role":"user","name":"ann","content":"Four"},{"role":"assistant","content":"Five"},{"role":"user","content":"Six"}]}`},
	{"tools", `{"tools":[` + weather + `,` + clock + `],"messages":[{"role":"user","content":"Weather?"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"call12345","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Bonn\",\"unit\":\"C\"}"}}]},
		{"role":"tool","tool_call_id":"call12345","content":"rain"},{"role":"assistant","content":"It rains."},{"role":"user","content":"And the time?"}]}`},
	{"reasoning", `{"chat_template_kwargs":{"enable_thinking":true,"custom":{"b":1,"a":[true,null]}},"messages":[{"role":"user","content":"7*6?"},
		{"role":"assistant","reasoning_content":"Seven times six.","content":"42"},{"role":"user","content":"Sure?"}]}`},

	{"no thinking", `{"chat_template_kwargs":{"enable_thinking":false},"messages":[{"role":"user","content":"Hi"}]}`},
	{"no effort", `{"reasoning_effort":"none","messages":[{"role":"user","content":"Hi"}]}`},
	{"little effort", `{"reasoning_effort":"low","messages":[{"role":"user","content":"Hi"}]}`},
	{"a tool must be called", `{"tools":[` + weather + `],"tool_choice":"required","parallel_tool_calls":false,"messages":[{"role":"user","content":"Weather?"}]}`},
	{"no tool may be called", `{"tools":[` + weather + `],"tool_choice":"none","messages":[{"role":"user","content":"Weather?"}]}`},
	{"two calls, arguments as objects", `{"tools":[` + weather + `,` + clock + `],"messages":[{"role":"user","content":"Both?"},
		{"role":"assistant","content":"Let me see.","tool_calls":[{"id":"call00001","type":"function","function":{"name":"get_weather","arguments":{"city":"Bonn"}}},
			{"id":"call00002","type":"function","function":{"name":"get_time","arguments":{}}}]},
		{"role":"tool","tool_call_id":"call00001","name":"get_weather","content":"rain"},{"role":"tool","tool_call_id":"call00002","name":"get_time","content":"noon"}]}`},
	{"prefill", `{"messages":[{"role":"user","content":"Count."},{"role":"assistant","content":"One, two,"}]}`},
	{"prefill of reasoning", `{"messages":[{"role":"user","content":"Count."},{"role":"assistant","content":"","reasoning_content":"Let me"}]}`},
	{"prefill asked for", `{"continue_final_message":true,"add_generation_prompt":false,"messages":[{"role":"user","content":"Count."},{"role":"assistant","content":"One,"}]}`},
	{"prefill of content", `{"continue_final_message":"content","add_generation_prompt":false,"messages":[{"role":"user","content":"Count."},
		{"role":"assistant","content":"One,","reasoning_content":"Hm."}]}`},
	{"no generation prompt", `{"add_generation_prompt":false,"messages":[{"role":"user","content":"Hi"}]}`},
	{"developer", `{"messages":[{"role":"developer","content":"Be brief."},{"role":"user","content":"Hi"}]}`},
	{"a system message alone", `{"messages":[{"role":"system","content":"Be brief."}]}`},
	{"the user twice", `{"messages":[{"role":"user","content":"Hi"},{"role":"user","content":"Hello?"}]}`},

	{"the assistant twice at the end", `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"a"},{"role":"assistant","content":"b"}]}`},
	{"refused: continued and begun", `{"continue_final_message":true,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"a"}]}`},
	{"refused: tool calls continued", `{"messages":[{"role":"user","content":"x"},
		{"role":"assistant","content":"","tool_calls":[{"id":"call12345","type":"function","function":{"name":"f","arguments":"{}"}}]}]}`},
	{"refused: thinking as text", `{"chat_template_kwargs":{"enable_thinking":"false"},"messages":[{"role":"user","content":"Hi"}]}`},
	{"arguments that are no JSON", `{"messages":[{"role":"user","content":"x"},
		{"role":"assistant","content":"","tool_calls":[{"id":"call12345","type":"function","function":{"name":"f","arguments":"{"}}]},{"role":"tool","tool_call_id":"call12345","content":"y"}]}`},
}

// TestTemplates_RenderAsLlamaServer renders the conversations with all of llama.cpp's templates.
func TestTemplates_RenderAsLlamaServer(t *testing.T) {
	files, err := filepath.Glob(inRepository(t, "build/llama.cpp/source-*/models/templates/*.jinja"))
	if err != nil || len(files) < 60 {
		t.Fatalf("%d templates, %v; llama.cpp's tree has more than 60", len(files), err)
	}
	docs := must.Get(os.ReadFile(inRepository(t, "docs/chat-templates.md")))(t)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			source := must.Get(os.ReadFile(file))(t)
			peer := LlamaServer(t, BuiltIn, "--chat-template-file", file, "--no-warmup")
			ours := rendering(t, string(source))
			for _, c := range conversations {
				want := peer.Call(t, http.MethodPost, "/apply-template", c.body)
				if strings.Contains(file, "Devstral") && c.name == "reasoning" { // where llama-server loses the answer
					want.Body = strings.Replace(want.Body, "7*6?[/INST]", "7*6?[/INST]42", 1)
				}
				got := ours(c.body)
				template := strings.TrimSuffix(filepath.Base(file), ".jinja")
				if saidOtherwise(c.name, rowOf(template, string(docs))) || refusedByPython(template, c.name, c.body) {
					if got.Status != http.StatusOK {
						t.Errorf("%s: we say %d %s", c.name, got.Status, got.Body)
					}
					continue
				}
				compareRendering(t, c.name, want, got)
			}
		})
	}
}

// changes are those that a conversation may need, by the table of docs/chat-templates.md.
// llama-server does not make them: it refuses the conversation, or leaves out a part.
var changes = map[string][]string{
	"tools":                           {"calls as text", "named ids"},
	"two calls, arguments as objects": {"calls as text", "named ids", "text before", "one call each"},
	"arguments that are no JSON":      {"calls as text"},
	"the user twice":                  {"users merged"},
	"a system message alone":          {"a user", "user first"},
	"the assistant twice at the end":  {""}, // llama-server takes it of no template
}

// rowOf are the changes that a template needs, by docs/chat-templates.md.
func rowOf(template, docs string) string {
	_, row, _ := strings.Cut(docs, "| "+template+" | ")
	row, _, _ = strings.Cut(row, "\n")
	return row
}

// saidOtherwise reports whether a conversation is brought into another form by some changes.
func saidOtherwise(conversation, needs string) bool {
	return slices.ContainsFunc(changes[conversation], func(change string) bool { return strings.Contains(needs, change) })
}

// refusedByPython reports whether a conversation is one that Python refuses and both servers render
// leniently, each in its way: llama-server leaves out firefunction's tools, and Penstock adds a
// turn of the user's for Nemotron.
func refusedByPython(template, name, body string) bool {
	return template == "fireworks-ai-llama-3-firefunction-v2" && strings.Contains(body, `"tools"`) ||
		template == "NVIDIA-Nemotron-Nano-v2" && name == "a system message alone"
}

// compareRendering wants the same prompt, or that both refuse the conversation.
func compareRendering(t *testing.T, name string, want, got Response) {
	t.Helper()
	if (want.Status == http.StatusOK) != (got.Status == http.StatusOK) || got.Status >= 500 {
		t.Errorf("%s: llama-server says %d %s\nwe say %d %s", name, want.Status, want.Body, got.Status, got.Body)
		return
	}
	if want.Status != http.StatusOK {
		return
	}
	rendered := promptOf(t, got.Body)
	if diff := cmp.Diff(today(promptOf(t, want.Body), rendered), rendered); diff != "" {
		t.Errorf("%s (-llama-server +ours):\n%s", name, diff)
	}
}

// dates are those that templates write, in the layouts of layouts.
var (
	dates   = regexp.MustCompile(`\b(\d{4}-\d{2}-\d{2}|\d{2} [A-Z][a-z]{2} \d{4}|[A-Z][a-z]+ \d{2},? \d{4})\b`)
	layouts = []string{time.DateOnly, "02 Jan 2006", "Jan 02 2006", "January 02, 2006"}
)

// today gives a prompt of llama-server, which may have been stored on another day, the dates of
// ours, as far as those are of today.
func today(theirs, ours string) string {
	days := dates.FindAllString(ours, -1)
	return dates.ReplaceAllStringFunc(theirs, func(day string) string {
		if len(days) == 0 {
			return day
		}
		said := days[0]
		days = days[1:]
		for _, layout := range layouts {
			at, err := time.ParseInLocation(layout, said, time.Local)
			if _, other := time.Parse(layout, day); err == nil && other == nil && time.Since(at).Abs() < 48*time.Hour {
				return said
			}
		}
		return day
	})
}

func promptOf(t *testing.T, body string) string {
	t.Helper()
	var answer struct{ Prompt string }
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatal(err, body)
	}
	return answer.Prompt
}

// rendering is our /apply-template with the built-in model and another template.
func rendering(t *testing.T, source string) func(body string) Response {
	t.Helper()
	e := must.Get(engine.Open(t.Context(), engine.Options{Path: inRepository(t, BuiltIn), Slots: 1, ContextSize: 512, Threads: threads,
		Template: engine.TemplateOptions{Source: source}}))(t)
	must.Close(t, e)
	info := serving.Info{Name: "tiny", Context: 1 << 20, Vocabulary: serving.Vocabulary{Size: e.Info().Vocabulary}}
	handler := api.New(api.Options{Models: servingtest.OneModel{Model: &serving.Model{Info: info, Engine: e, Scheduler: servingtest.NoScheduler{}}}, Log: slog.New(slog.DiscardHandler), Bounds: api.Bounds{BodyLimit: 1 << 20}})
	return func(body string) Response {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/apply-template", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		handler.ServeHTTP(w, r)
		return Response{w.Code, w.Header(), w.Body.String()}
	}
}
