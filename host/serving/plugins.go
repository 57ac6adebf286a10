// SPDX-License-Identifier: MIT

package serving

import (
	"context"
	"encoding/json"
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/sampling"
)

// PluginFinder finds the plugins of requests. Errors that the client can fix are *refusal.Error.
type PluginFinder interface {
	// Resolve finds the plugins of a request, once: those that it uses, those that its chain names,
	// and the operator's. Their configuration is checked. client is the client that asks. The caller
	// releases them.
	Resolve(client string, uses []PluginUse, chain []string) (Plugins, error)
}

// PluginUse is an entry of a request's plugins.
type PluginUse struct {
	Name   string
	Config json.RawMessage // nil: none
	SHA256 string          // of the module that it must be, in hexadecimal digits; "": any
	Skip   bool            // after a fault the request goes on without it
	Field  string          // of the request, for errors
}

// Conversing is what plugins that have to do with conversations are told of the request.
type Conversing struct {
	Params sampling.Params
	Time   time.Time // when it came
	// Media are the pictures and sounds, which stand in the messages by their markers.
	Media *chat.Gallery
	// Text is what the model's own template makes of messages.
	Text func(ctx context.Context, messages []chat.Message) (string, error)
}

// Plugins are those of one request, in the versions that the server had when the request came,
// whatever is loaded meanwhile.
type Plugins interface {
	// NewPolicy builds the policy of one choice, of the samplers that its parameters name and of
	// the plugins.
	NewPolicy(p sampling.Params, ends Ends) (Policy, error)
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
	// RefuseTemplates refuses those that the request names: it has a prompt and no messages.
	RefuseTemplates() error
	// Again are the same for another request, with those that its chain names besides.
	Again(client string, chain []string) (Plugins, error)
	// Release ends their use. Policies that were built go on.
	Release()
}
