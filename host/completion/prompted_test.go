// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/tools/must"
)

// oneModel is the model of all requests.
type oneModel struct{ *serving.Model }

func (o oneModel) Use(context.Context, string) (*serving.Model, func(), error) {
	return o.Model, func() {}, nil
}
func (o oneModel) Seeing(name string) string                     { return name }
func (o oneModel) Loaded(string) (*serving.Model, func(), error) { return o.Model, func() {}, nil }
func (oneModel) List() []serving.Listed                          { return nil }
func (oneModel) Residents() []serving.Resident                   { return nil }
func (oneModel) Unload(string) error                             { return nil }

// Whatever llama.cpp's templates make of tools and schemas, a sampler chain follows it.
func TestService_Prompt_AllTemplates_HaveChains(t *testing.T) {
	files, err := filepath.Glob("../../build/llama.cpp/source-*/models/templates/*.jinja")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d templates, %v; llama.cpp's tree has more than 60", len(files), err)
	}
	tool := chat.Tool{Name: "f", JSON: json.RawMessage(`{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"]}}}`)}
	hello := []chat.Message{{Role: "user", Content: "Hi"}}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			source := must.Get(os.ReadFile(file))(t)
			e := must.Get(engine.Open(t.Context(), engine.Options{Path: "../model/penstock-tiny.gguf", Slots: 1, ContextSize: 512, Threads: 1,
				Template: engine.TemplateOptions{Source: string(source)}}))(t)
			defer e.Close()
			info := serving.Info{Name: "tiny", Context: 1 << 20, Vocabulary: serving.Vocabulary{Size: e.Info().Vocabulary}}
			s := NewService(oneModel{&serving.Model{Info: info, Engine: e, Scheduler: servingtest.NoScheduler{}}})
			for name, c := range map[string]chat.Conversation{
				"a tool":                   {Tools: []chat.Tool{tool}},
				"a call":                   {Tools: []chat.Tool{tool}, ToolChoice: chat.ToolChoice{Mode: "required"}},
				"calls":                    {Tools: []chat.Tool{tool}, ToolChoice: chat.ToolChoice{Mode: "required"}, ParallelToolCalls: new(bool)},
				"a call without reasoning": {Tools: []chat.Tool{tool}, ToolChoice: chat.ToolChoice{Mode: "required"}, EnableThinking: new(bool)},
				"a schema":                 {},
			} {
				common := DefaultCommonFields()
				c.Messages = hello
				asked := Asked{Common: common, PromptField: "messages", Source: Chat{Conversation: c}, Answers: OneAnswer()}
				if name == "a schema" {
					asked.Format = Format{Field: "format", JSONSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}
				}
				r, err := s.Prompt(t.Context(), asked)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				p, err := r.Plugins.NewPolicy(r.Params, serving.AnswerInfo{})
				if err != nil {
					t.Errorf("%s: %v\n%s", name, err, r.Params.Grammar)
					continue
				}
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// failing is an engine whose tokeniser panics.
type failing struct{ servingtest.Toy }

func (failing) Tokenize(context.Context, string, bool, bool) ([]int32, error) {
	panic("a fault of ours")
}

// counting is a scheduler that counts the requests that it waits for.
type counting struct {
	servingtest.NoScheduler
	expected *int
}

func (c counting) Expect() (arrived func()) {
	*c.expected++
	return sync.OnceFunc(func() { *c.expected-- })
}

// usedOnce counts who uses its model.
type usedOnce struct {
	oneModel
	users *int
}

func (u usedOnce) Use(context.Context, string) (*serving.Model, func(), error) {
	*u.users++
	return u.Model, func() { *u.users-- }, nil
}

// A fault while a prompt is made leaves no model in use, and has the scheduler wait for nothing.
func TestService_Prompt_Panic_GivesAllBack(t *testing.T) {
	users, expected := 0, 0
	m := &serving.Model{Info: servingtest.Info(), Engine: failing{}, Scheduler: counting{expected: &expected}}
	s := NewService(usedOnce{oneModel{m}, &users})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("nothing panicked")
			}
		}()
		_, _ = s.Prompt(t.Context(), Asked{Common: DefaultCommonFields(), Source: Text("a"), Answers: OneAnswer()})
	}()
	if users != 0 || expected != 0 {
		t.Errorf("%d use the model and %d are expected", users, expected)
	}
}

// What a client has sent is not kept as long as the answer, but for what is told of it.
func TestService_Prompt_ForgetsItsSource(t *testing.T) {
	m := &serving.Model{Info: servingtest.Info(), Engine: servingtest.Toy{}, Scheduler: servingtest.NoScheduler{}}
	c := Chat{Conversation: chat.Conversation{Messages: []chat.Message{{Role: "user", Content: "Hi"}}, LeftOut: []string{"store"}}}
	common := DefaultCommonFields()
	common.Plugins = json.RawMessage(`[]`)
	p := must.Get(NewService(oneModel{m}).Prompt(t.Context(), Asked{Common: common, Source: c, Answers: OneAnswer()}))(t)
	defer p.Release()
	if left, ok := p.Source.(Chat); !ok || left.Messages != nil || left.Media != nil || p.Common.Plugins != nil || len(p.LeftOut()) != 1 {
		t.Errorf("the request still has %+v and plugins %s", p.Source, p.Common.Plugins)
	}
}
