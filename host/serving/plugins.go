// SPDX-License-Identifier: MIT

package serving

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
)

// PluginFinder finds the plugins of requests. Errors that the client can fix are *refusal.Error.
type PluginFinder interface {
	// Resolve finds the plugins of a request, once: those that it uses, those that its chain names,
	// and the operator's. Their configuration is checked, and they plan for it until the context
	// ends. The caller releases them.
	Resolve(ctx context.Context, asker Asker, uses []PluginUse, chain []string) (Plugins, error)
	// Plan says what a plugin asks for with a configuration. A Resolve soon after need not compute
	// it again, which may take long for a script.
	Plan(ctx context.Context, client string, use PluginUse) (Plan, error)
}

// Asker is who sends a request, and by which route: the operator's plugins may depend on that.
type Asker struct {
	Client string // tells clients apart
	Key    string // the name of its API key; "": it has none
	Route  string // as the router has it; "": no route, as in a terminal
}

// PolicyInfo is what clients are told of a plugin that the operator attaches to requests.
type PolicyInfo struct {
	Plugin string   `json:"plugin"`
	Mode   string   `json:"mode"`             // required or default
	SHA256 string   `json:"sha256,omitempty"` // of its module
	Models []string `json:"models,omitempty"` // of whose requests; empty: of all
	Routes []string `json:"routes,omitempty"` // by which they come; empty: by all
	// SomeKeys says that it is for the requests of some API keys alone.
	SomeKeys bool `json:"some_keys,omitempty"`
}

// PluginUse is an entry of a request's plugins.
type PluginUse struct {
	Name   string
	Source string          // the field with the source, where it is a script, which Name stands for in this request; "": none
	Config json.RawMessage // nil: none
	SHA256 string          // of the module that it must be, in hexadecimal digits; "": any
	Module string          // SHA-256 of a module that the client has uploaded, which Name stands for in this request; "": none
	Skip   bool            // after a fault the request goes on without it
	Off    bool            // the request does without it
	Field  string          // of the request, for errors
	Ready  bool            // it is of a field of another server's API, which its configuration is made of
}

// Plan is what a plugin asks for with one configuration, in the words of the ABI's manifest.
type Plan struct {
	Implements   []string        `json:"implements"` // the calls that are made
	Needs        []string        `json:"needs"`      // of logprob, hidden_state and note
	View         string          `json:"view"`
	Candidates   int             `json:"candidates,omitempty"` // at most; 0: it is shown none
	Hold         int             `json:"hold"`                 // tokens
	TakeBack     int             `json:"take_back,omitempty"`  // tokens
	Place        string          `json:"place"`
	Branches     int             `json:"branches"` // 0: it is no program
	Summary      string          `json:"summary,omitempty"`
	ConfigSchema json.RawMessage `json:"config_schema,omitempty"`
	Log          []string        `json:"log,omitempty"` // what was logged while it planned, the last ten lines
}

// Brought reports whether it is code that the client has brought: a script or a module.
func (u PluginUse) Brought() bool { return u.Source != "" || u.Module != "" }

// ConfigField is the request's field of a part of the configuration: "" is all of it, others are
// such as ".threshold" and ".list[2]". The configuration of a script is what the script is given.
func (u PluginUse) ConfigField(part string) string {
	const source = ".source"
	in := u.Field + ".config"
	switch {
	case u.Ready:
		return u.Field
	case u.Source == "":
		return in + part
	case part == "" || part == source:
		return u.Source
	case u.Source == in+source:
		return in + part
	}
	return strings.TrimPrefix(u.Field+part, ".")
}

// Conversing is what plugins that write prompts or rewrite messages are told of the request.
type Conversing struct {
	Params sampling.Params
	Time   time.Time // when it came
	// Media are the pictures and sounds, which stand in the messages by their markers.
	Media *chat.Gallery
	// Text is what the model's own template makes of messages.
	Text func(ctx context.Context, messages []chat.Message) (string, error)
}

// Plugins are what one request uses, in the versions that the server had when the request came,
// whatever is loaded meanwhile.
type Plugins interface {
	// NewPolicy builds the policy of one choice, of the samplers that its parameters name and of
	// the plugins.
	NewPolicy(p sampling.Params, about AnswerInfo) (Policy, error)
	// Branches is how many slots an answer takes because a program among the plugins writes it; 0:
	// none does.
	Branches() int
	// Renders reports whether a plugin that writes prompts or rewrites conversations is among them.
	Renders() bool
	// Rewrite lets the plugins that rewrite conversations do so, in their order. Pictures and
	// sounds stand in messages by the markers of the conversation's gallery, before and after.
	Rewrite(ctx context.Context, c Conversing, messages []chat.Message) ([]chat.Message, error)
	// Render lets the template among the plugins write a prompt's text for messages, with the same
	// markers. It is nil if there is none. It ends with the context.
	Render(ctx context.Context, c Conversing, messages []chat.Message) (text *string, err error)
	// Used describes them, in their order, and the samplers of a chain with the plugins in their
	// places.
	Used(chain []string) (list []UsedPlugin, samplers []string)
	// RefuseTemplates refuses those that the operator requires, and if it is so asked those that
	// the request names: the prompt, or the part of it in the field, is not made of messages.
	RefuseTemplates(field string, named bool) error
	// Filtering is a plugin that the operator requires and that filters what is shown of the
	// answer, so that nothing else is to tell what that was before; "": there is none.
	Filtering() string
	// Again are the same for another request, with those that its chain names besides. It is
	// refused where the operator has come to require others.
	Again(ctx context.Context, asker Asker, chain []string) (Plugins, error)
	// Release ends their use. Policies that were built go on.
	Release()
}

// UsedPlugin is a plugin as a request uses it.
type UsedPlugin struct {
	Name   string
	SHA256 string // of the module
	Config []byte // JSON, with the defaults
	Own    bool   // the operator has configured it, and not the request
}

// AnswerInfo is what the policy of an answer is told of it.
type AnswerInfo struct {
	MaxTokens int // 0: as many as fit
	Stops     []string
	Time      time.Time                        // when the request came
	Choice    int                              // which of the answers to its prompt, from 0
	Choices   int                              // how many there are
	Parts     func() (*chat.PartTeller, error) // begins to follow the answer's parts
	// Media are the pictures and sounds of the prompt, a JSON list of media.Told; nil: there are
	// none.
	Media []byte
	// Chain and Prompt are for programs: the parameters of a sampler chain, changed by a JSON
	// object, and the prompt that the model's template makes of messages.
	Chain  func(ctx context.Context, parameters []byte) (sampling.Params, error)
	Prompt func(ctx context.Context, messages []byte) ([]int32, error)
}

// Policy is what decides one answer: the stages that choose its tokens, the rules that may end it,
// and the filters of its text.
type Policy struct {
	Stages []chain.Stage
	Rules  []answer.StopRule
	// Filters rewrite what is shown, one after another.
	Filters []answer.Filter
	// Program writes the answer in place of the stages, which are told of it; nil: none does. That
	// of the first choice writes all.
	Program *program.Program
	// Renew builds the stages anew for other parameters of the running answer. Its plugins go on:
	// chain.Keep stands for them.
	Renew func(sampling.Params) ([]chain.Stage, error)
}

// Close frees a policy that no scheduler has taken.
func (p Policy) Close() error {
	var errs []error
	for _, s := range p.Stages {
		errs = append(errs, s.Close())
	}
	for _, r := range p.Rules {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}
