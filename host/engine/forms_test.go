// SPDX-License-Identifier: MIT

package engine

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/template"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// rendering is an engine of which only the template is there.
func rendering(t *testing.T, m *native.Model, source string) *Engine {
	t.Helper()
	tmpl := must.Get(template.New(m, source))(t)
	must.Close(t, tmpl)
	e := &Engine{template: tmpl, templateOptions: TemplateOptions{}.withDefaults()}
	about := tmpl.Info()
	e.info = Info{TemplateCaps: about.Caps, Thinks: about.Thinks}
	e.findNeeds()
	t.Cleanup(e.needs.close)
	t.Cleanup(e.needsWithTools.close)
	return e
}

func vocabulary(t *testing.T) *native.Model {
	t.Helper()
	m := must.Get(native.LoadModel(t.Context(), builtIn, native.ModelOptions{VocabOnly: true}))(t)
	must.Close(t, m)
	return m
}

// The words of the conversations below, none of which any template has.
func wrote(role, word string) chat.Message {
	return chat.Message{Role: role, Content: "The " + word + "."}
}

func listed(role string, words ...string) chat.Message {
	m := chat.Message{Role: role}
	for _, w := range words {
		m.Parts = append(m.Parts, "The "+w+".")
	}
	m.Content = media.Join(m.Parts)
	return m
}

func called(text string, calls ...chat.ToolCall) chat.Message {
	m := chat.Message{Role: "assistant", ToolCalls: calls}
	if text != "" {
		m.Content = "The " + text + "."
	}
	return m
}

func callOf(id, function, argument string) chat.ToolCall {
	return chat.NewToolCall(id, function, `{"q":"`+argument+`"}`)
}

func resulted(id, word string) chat.Message {
	return chat.Message{Role: "tool", ToolCallID: id, Content: "The " + word + "."}
}

var (
	sys, usr, ast, last = wrote("system", "walrus"), wrote("user", "otter"), wrote("assistant", "heron"), wrote("user", "badger")
	one, two            = callOf("abcdef123", "wombat", "kestrel"), callOf("abcdef456", "numbat", "osprey")
	oneGives, twoGives  = resulted("abcdef123", "lemur"), resulted("abcdef456", "gecko")
	foreign             = callOf("call_PTLP8xhu3uwZk4l3nlnrrJha", "wombat", "kestrel")
	foreignGives        = resulted("call_PTLP8xhu3uwZk4l3nlnrrJha", "lemur")
	picture             = chat.Message{Role: "user", Content: media.Marker + "The ibex.", Parts: []string{media.Marker, "The ibex."}}
)

// conversations are of every kind, each with the words that a prompt must have.
var conversations = []struct {
	name     string
	messages []chat.Message
	words    string
}{
	{"plain", []chat.Message{usr, ast, last}, "otter heron badger"},
	{"system first", []chat.Message{sys, usr}, "walrus otter"},
	{"system twice", []chat.Message{sys, wrote("system", "marmot"), usr}, "walrus marmot otter"},
	{"system and developer", []chat.Message{sys, listed("developer", "marmot", "tapir"), usr}, "walrus marmot tapir otter"},
	{"system in the middle", []chat.Message{sys, usr, ast, wrote("system", "marmot"), last}, "walrus otter heron marmot badger"},
	{"system in the middle only", []chat.Message{usr, ast, wrote("system", "marmot"), last}, "otter heron marmot badger"},
	{"system last", []chat.Message{sys, usr, wrote("system", "marmot")}, "walrus otter marmot"},
	{"system everywhere", []chat.Message{sys, wrote("developer", "marmot"), usr, wrote("system", "tapir"), called("", one), oneGives, wrote("system", "okapi"), ast, wrote("developer", "dingo"), last},
		"walrus marmot otter tapir wombat kestrel lemur okapi heron dingo badger"},
	{"system only", []chat.Message{sys}, "walrus"},
	{"developer", []chat.Message{wrote("developer", "marmot"), usr}, "marmot otter"},
	{"developer in the middle", []chat.Message{sys, usr, ast, wrote("developer", "marmot"), last}, "walrus otter heron marmot badger"},
	{"result", []chat.Message{usr, called("", one), oneGives}, "otter wombat kestrel lemur"},
	{"result and answer", []chat.Message{usr, called("", one), oneGives, ast, last}, "otter wombat kestrel lemur heron badger"},
	{"result in parts", []chat.Message{usr, called("", one), {Role: "tool", ToolCallID: "abcdef123", Content: "The lemur.\nThe gecko.", Parts: []string{"The lemur.", "The gecko."}}}, "otter wombat kestrel lemur gecko"},
	{"result, then the user", []chat.Message{usr, called("", one), oneGives, last}, "otter wombat kestrel lemur badger"},
	{"two calls", []chat.Message{usr, called("", one, two), oneGives, twoGives, ast, last}, "otter wombat kestrel numbat osprey lemur gecko heron badger"},
	{"two calls in turn", []chat.Message{usr, called("", one), oneGives, called("", two), twoGives}, "otter wombat kestrel lemur numbat osprey gecko"},
	{"call with text", []chat.Message{usr, called("bison", one), oneGives}, "otter bison wombat kestrel lemur"},
	{"call with text and answer", []chat.Message{usr, called("bison", one), oneGives, ast, last}, "otter bison wombat kestrel lemur heron badger"},
	{"two calls with text", []chat.Message{sys, usr, called("bison", one, two), oneGives, twoGives, ast, last}, "walrus otter bison wombat kestrel numbat osprey lemur gecko heron badger"},
	{"foreign ids", []chat.Message{usr, called("", foreign), foreignGives}, "otter wombat kestrel lemur"},
	{"no ids", []chat.Message{usr, called("", callOf("", "wombat", "kestrel")), resulted("", "lemur")}, "otter wombat kestrel lemur"},
	{"no user", []chat.Message{sys, called("", one), oneGives}, "walrus wombat kestrel lemur"},
	{"no user, no system", []chat.Message{called("", one), oneGives, ast}, "wombat kestrel lemur heron"},
	{"assistant first", []chat.Message{sys, ast, last}, "walrus heron badger"},
	{"user twice", []chat.Message{usr, listed("user", "badger", "bison")}, "otter badger bison"},
	{"assistant twice", []chat.Message{usr, ast, wrote("assistant", "bison"), last}, "otter heron bison badger"},
	{"assistant twice at the end", []chat.Message{usr, ast, wrote("assistant", "bison")}, "otter heron bison"},
	{"empty answer", []chat.Message{usr, {Role: "assistant"}, last}, "otter badger"},
	{"parts", []chat.Message{listed("system", "walrus", "marmot"), listed("user", "otter", "tapir"), listed("assistant", "heron", "okapi"), listed("user", "badger", "dingo")},
		"walrus marmot otter tapir heron okapi badger dingo"},
	{"picture", []chat.Message{sys, picture}, "walrus ibex " + media.Marker},
	{"picture as a result", []chat.Message{usr, called("", one), {Role: "tool", ToolCallID: "abcdef123", Content: media.Marker + "The lemur.", Parts: []string{media.Marker, "The lemur."}}}, "otter wombat kestrel lemur " + media.Marker},
	{"odd texts", []chat.Message{sys, {Role: "user", Content: " \n<b>\"otter\" \\ {{ x }} {% y %} é\u3000\n"}, {Role: "assistant", Content: "<think>gone</think>\n\nThe heron.", Reasoning: "gone, too"},
		{Role: "user", Content: "The </think> badger <tool_response> | 'x'"}, called("", chat.NewToolCall("abcdef123", "wombat", `{"q":"kestrel\n\"<x>\" é", "r": [1.5, null, {}]}`)),
		{Role: "tool", ToolCallID: "abcdef123", Content: `{"lemur": [5, null], "t": "a\n\"b\""}`}}, "walrus otter heron badger wombat kestrel lemur"},
	{"reasoning alone", []chat.Message{usr, {Role: "assistant", Reasoning: "gone"}, last}, "otter badger"},
	{"continued", []chat.Message{sys, usr, wrote("assistant", "heron")}, "walrus otter heron"},
}

// lists are what Python and JSON write of a part.
var lists = regexp.MustCompile(`["']type["']: ?["'](text|media_marker)["']`)

// Whatever a conversation says is in the prompt, by the templates of all models in llama.cpp's
// folder, and docs/chat-templates.md says what is done for that. None refuses any.
func TestEngine_Render_EveryKind(t *testing.T) {
	files, err := filepath.Glob("../../build/llama.cpp/source-*/models/templates/*.jinja")
	if err != nil || len(files) < 60 {
		t.Fatal("llama.cpp's source is not there: make build", files, err)
	}
	docs := must.Get(os.ReadFile("../../docs/chat-templates.md"))(t)
	model := vocabulary(t)
	offered := []chat.Tool{{Name: "wombat", JSON: []byte(`{"type":"function","function":{"name":"wombat","description":"d","parameters":{"type":"object","properties":{"q":{"type":"string"}}}}}`)}}
	t.Run("templates", func(t *testing.T) { // all have ended before the model is closed
		for _, file := range steadytest.Some(t, files, 20) {
			name := strings.TrimSuffix(filepath.Base(file), ".jinja")
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				source := must.Get(os.ReadFile(file))(t)
				e := rendering(t, model, string(source))
				row := row(t, name, e)
				if !strings.Contains(string(docs), row) {
					t.Errorf("docs/chat-templates.md needs the row\n%s", row)
				}
				ownIDs := strings.Contains(row, "named ids")
				for _, kind := range conversations {
					c := chat.Conversation{Messages: kind.messages}
					if strings.Contains(kind.words, "wombat") {
						c.Tools = offered
					}
					p, err := e.Render(t.Context(), c)
					if err != nil {
						t.Errorf("%s: %v", kind.name, err)
						continue
					}
					if missing := lacks(p.Text, kind.words); missing != "" {
						t.Errorf("%s: %s in the prompt: %s", kind.name, missing, p.Text)
					}
					if slices.Contains(notAsItStands[name], kind.name) || ownIDs && len(c.Tools) > 0 {
						continue
					}
					if plain := asItStands(t, e, c); lacks(plain, kind.words) == "" && plain != p.Text {
						t.Errorf("%s: the template could say it as it stands:\n%s\nbut made of it\n%s", kind.name, plain, p.Text)
					}
				}
			})
		}
	})
}

// row is a template's in the table of docs/chat-templates.md.
func row(t *testing.T, name string, e *Engine) string {
	form := func(n *need) string {
		f := must.Get(n.form(t.Context()))(t)
		return f.String()
	}
	plain, tools := cmp.Or(form(e.needs), "–"), form(e.needsWithTools)
	if tools = cmp.Or(tools, "–"); tools == plain {
		tools = "the same"
	}
	return "| " + name + " | " + plain + " | " + tools + " |\n"
}

// notAsItStands are conversations that a template could say as they stand, though they are brought
// into another form: the change that others need comes with it. Those with calls of templates that
// want named ids are among them, too.
var notAsItStands = map[string][]string{
	"google-gemma-2-2b-it":                     {"system last", "assistant twice at the end"},
	"google-gemma-4-31B-it":                    {"system and developer"},
	"google-gemma-4-31B-it-interleaved":        {"system and developer"},
	"Mistral-Small-3.2-24B-Instruct-2506":      {"system last", "no user", "no user, no system", "assistant twice at the end"},
	"mistralai-Ministral-3-14B-Reasoning-2512": {"no user", "no user, no system", "assistant twice at the end"},
	"mistralai-Mistral-Nemo-Instruct-2407":     {"no user, no system", "assistant twice at the end"},
}

// asItStands is what the template makes of a conversation that is in no other form; "": it refuses.
func asItStands(t *testing.T, e *Engine, c chat.Conversation) string {
	n := must.Get(e.conversation(t.Context(), &c))(t)
	p, err := e.renderMessages(t.Context(), n, c.Messages)
	if err != nil {
		return ""
	}
	return p.Text
}

// lacks says which of some words is not in a prompt, or that it has a list as Python writes it.
func lacks(prompt, words string) string {
	for word := range strings.FieldsSeq(words) {
		if !strings.Contains(prompt, word) {
			return word + " is not"
		}
	}
	if lists.MatchString(prompt) {
		return "a list is, as it came,"
	}
	return ""
}

// A template that has no place for a message in any form is no reason to leave it out.
func TestEngine_Render_NoPlace(t *testing.T) {
	e := rendering(t, vocabulary(t), `{{ messages[-1].content }}`)
	_, err := e.Render(t.Context(), chat.Conversation{Messages: []chat.Message{usr, ast, last}})
	var invalid *chat.Invalid
	if !errors.As(err, &invalid) || invalid.Field != "messages[0].content" || !strings.Contains(invalid.Reason, "The otter.") {
		t.Error(err)
	}
	if p, err := e.Render(t.Context(), chat.Conversation{Messages: []chat.Message{last}}); err != nil || !strings.Contains(p.Text, "badger") {
		t.Error(p.Text, err)
	}
}
