// SPDX-License-Identifier: MIT

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
)

// Policies lets plugins decide answers. Errors that are a client's to mend are *Error.
type Policies interface {
	// NewPolicy builds the policy of one choice of the samplers and plugins that its parameters and uses name, and of the
	// operator's. It is how every policy is built where there are plugins.
	NewPolicy(p sampling.Params, uses []PluginUse, maxTokens int) (Policy, error)
	// Render lets the template plugin among the uses, or else the operator's, write a prompt's text for messages. It is nil
	// where there is none. It ends with the context.
	Render(ctx context.Context, p sampling.Params, uses []PluginUse, messages []chat.Message) (text *string, err error)
	// CheckPrompt refuses template plugins: the request has a prompt and no messages.
	CheckPrompt(uses []PluginUse) error
}

// Catalog lists the plugins and changes which there are. Errors that are a client's to mend are *Error.
type Catalog interface {
	List() []PluginInfo
	Get(name string) (PluginInfo, error)
	Upload(ctx context.Context, wasm []byte) (_ PluginInfo, created bool, _ error)
	Remove(ctx context.Context, name string) error
	Reset(name string) (PluginInfo, error)
}

// PluginUse is an entry of a request's plugins.
type PluginUse struct {
	Name   string
	Client string          // who asks
	Config json.RawMessage // nil: none
	Skip   bool            // after a fault the request goes on without it
	Field  string          // of the request, for errors
}

// PluginInfo describes a plugin.
type PluginInfo struct {
	Name      string          `json:"name"`
	SHA256    string          `json:"sha256,omitempty"`
	State     string          `json:"state"` // ready, quarantined, failed
	Manifest  json.RawMessage `json:"manifest,omitempty"`
	Exports   []string        `json:"exports,omitempty"`
	Default   bool            `json:"default"` // every request uses it
	File      string          `json:"file"`
	Error     string          `json:"error,omitempty"`
	Faults    int             `json:"faults"`
	LastFault string          `json:"last_fault,omitempty"`
}

// maxPlugins bounds the plugins of a request.
const maxPlugins = 16

// uses reads plugins: a list of names, or objects with name, config and on_error.
func (b *Common) uses() ([]PluginUse, error) {
	if !isSet(b.Plugins) {
		return nil, nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(b.Plugins, &items); err != nil {
		return nil, invalid("plugins", "plugins must be a list of names, or of objects with name, config and on_error")
	}
	if len(items) > maxPlugins {
		return nil, invalid("plugins", "plugins has %d entries; at most %d are allowed", len(items), maxPlugins)
	}
	uses := make([]PluginUse, 0, len(items))
	for i, item := range items {
		field := fmt.Sprintf("plugins[%d]", i)
		use, err := readUse(item, field)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(uses, func(u PluginUse) bool { return u.Name == use.Name }) {
			return nil, invalid(field, "%s is %q, which is in the list already", field, use.Name)
		}
		uses = append(uses, use)
	}
	return uses, nil
}

func readUse(item json.RawMessage, field string) (PluginUse, error) {
	use := PluginUse{Field: field}
	if json.Unmarshal(item, &use.Name) == nil {
		return use, nil
	}
	var object struct {
		Name    string          `json:"name"`
		Config  json.RawMessage `json:"config"`
		OnError string          `json:"on_error"`
	}
	d := json.NewDecoder(bytes.NewReader(item))
	d.DisallowUnknownFields()
	if err := d.Decode(&object); err != nil {
		return use, invalid(field, "%s must be a name or an object with name, config and on_error: %v", field, err)
	}
	switch object.OnError {
	case "", "fail":
	case "skip":
		use.Skip = true
	default:
		return use, invalid(field+".on_error", `%s.on_error is %q; it must be "fail" or "skip"`, field, object.OnError)
	}
	use.Name = object.Name
	if string(bytes.TrimSpace(object.Config)) != "null" {
		use.Config = object.Config
	}
	return use, nil
}

// refusePlugins is for a server without plugins.
func refusePlugins(uses []PluginUse, chain []string) error {
	if len(uses) > 0 {
		return unsupported("plugins", "plugins is not supported by this server")
	}
	if i := slices.IndexFunc(chain, namesPlugin); i >= 0 {
		return unsupported("samplers", "plugins in samplers are not supported by this server: %q", chain[i])
	}
	return nil
}

// newPolicy builds the policy of one choice.
func (s *service) newPolicy(g *generation, params sampling.Params) (p Policy, err error) {
	if s.Policies != nil {
		return s.Policies.NewPolicy(params, g.ownUses(params.Chain), g.max)
	}
	p.Stages, err = s.Engine.NewChain(params)
	return p, err
}

// Policy is what decides one answer: the stages that choose its tokens, and the rules that may end it.
type Policy struct {
	Stages []chain.Stage
	Rules  []answer.StopRule
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

// discard closes a policy that has done nothing yet: no error of it matters.
func (p Policy) discard() { _ = p.Close() }

// encode makes the prompt of a conversation. A template plugin has a turn of its own among guests, so it is not waited for at the desk.
func (s *service) encode(ctx context.Context, g *generation, c chat.Conversation, size int) (p chat.Prompt, err error) {
	if c.Written, err = s.renderByPlugin(ctx, g, c.Messages); err != nil {
		return p, err
	}
	if c.Written != nil {
		size = max(size, len(*c.Written))
	}
	return atDesk(ctx, s.desk, g.deadline, size, func() (chat.Prompt, error) {
		p, err := s.encoder().Conversation(c)
		return p, textError(err, "messages")
	}, nil)
}

// ownUses are the plugins that a request names, those of its chain among them, as this client's.
func (g *generation) ownUses(chain []string) []PluginUse {
	uses := slices.Clone(g.uses)
	for _, entry := range chain {
		name, ok := sampling.PluginNamed(entry)
		if ok && !slices.ContainsFunc(uses, func(u PluginUse) bool { return u.Name == name }) {
			uses = append(uses, PluginUse{Name: name, Field: "samplers"})
		}
	}
	for i := range uses {
		uses[i].Client = g.client
	}
	return uses
}

// renderByPlugin has a template plugin write the prompt of a conversation; nil where none is used.
func (s *service) renderByPlugin(ctx context.Context, g *generation, messages []chat.Message) (*string, error) {
	if s.Policies == nil {
		return nil, nil
	}
	if !g.deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, g.deadline, scheduler.ErrDeadline)
		defer cancel()
	}
	text, err := s.Policies.Render(ctx, g.params, g.ownUses(nil), messages)
	if err != nil && ctx.Err() != nil {
		return nil, given(ctx)
	}
	return text, err
}

// checkPrompt is for requests whose prompt is given.
func (s *service) checkPrompt(g *generation) error {
	if s.Policies == nil {
		return nil
	}
	return s.Policies.CheckPrompt(g.uses)
}

// pluginProblem tells what a plugin's refusal or fault means for a client.
func pluginProblem(err error) *Error {
	var refusal interface {
		error
		Param() string
	}
	var fault interface {
		error
		Kind() string
	}
	switch {
	case errors.As(err, &refusal):
		return &Error{Status: http.StatusBadRequest, Code: "plugin_refused", Type: typeInvalid, Param: refusal.Param(), Message: refusal.Error()}
	case errors.As(err, &fault) && slices.Contains([]string{"busy", "budget"}, fault.Kind()):
		return &Error{Status: http.StatusServiceUnavailable, Code: "plugins_busy", Type: typeBusy, Retry: 1, Message: fault.Error()}
	case errors.As(err, &fault):
		return &Error{Status: http.StatusUnprocessableEntity, Code: "plugin_fault", Type: typeServer, Param: "plugins", Message: fault.Error()}
	}
	return nil
}
