// SPDX-License-Identifier: MIT

package plugin

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/chain"
)

// RequestInfo is what a plugin and its quarantine need to know of the request that uses it.
type RequestInfo struct {
	Name        string // what the request calls the plugin; empty: by its own name
	Client      string // who asks, for whose turns the plugin computes, and who waits after repeated faults; empty: nobody
	Config      []byte // JSON that fits the plugin's schema; empty: {}
	Seed        uint64 // of this choice
	Index       int    // of the plugin among the plugins of the request's chain, from 0
	MaxTokens   int
	ContextSize int
	StateLayer  int32     // whose hidden states the plugin reads, from 1; 0: the last one's, after the norm
	Time        time.Time // when the request came; zero: plugins are not told
	Choice      int       // which of the answers to its prompt, from 0
	Choices     int       // how many there are; 0 counts as 1
	Skip        bool      // after a fault the request goes on without the plugin
	Attached    bool      // by the operator: its faults are not laid to the client
	Required    bool      // the answer has no token that the plugin does not allow
	Setup       *Setup
	// Parts begins to take the answer apart; nil: nobody knows its parts.
	Parts func() (Parts, error)
	// Sampling gives the request's effective sampling parameters of now, a JSON object; nil: {}.
	// It is called while a plugin asks for them, at any time and from any goroutine.
	Sampling func() []byte
	// Chain makes a sampler chain for a program: of the request's parameters, changed by those of
	// a JSON object; empty: as they are. What it returns makes the stages for a seed. Nil: there
	// are no chains.
	Chain func(ctx context.Context, parameters []byte) (func(seed uint32) ([]chain.Stage, error), error)
	// Messages is the conversation as the plugin got it before it rewrote it, JSON, for one that
	// puts something of it back into the answer's text; empty: there is none.
	Messages []byte
	// Media are the pictures and sounds of the prompt or of the conversation, as the import media
	// tells of them: a JSON list; empty: there are none.
	Media []byte
	// PromptText is the text that the model's template makes of messages, JSON, for a plugin that
	// has to do with conversations. Nil: there is no template.
	PromptText func(ctx context.Context, messages []byte) (string, error)
	// Prompt is the prompt that the model's template makes of messages, JSON, for a program. Nil:
	// there is no template.
	Prompt func(ctx context.Context, messages []byte) ([]int32, error)
}

// Setup is a common deadline for setting up all guests of a choice. Its time begins with the first
// of them. The zero value is ready; with nil each guest has a deadline of its own.
type Setup struct {
	once sync.Once
	over time.Time
}

// Deadline is when set-up must be over, if it may take that long.
func (s *Setup) Deadline(limit time.Duration) time.Time {
	if s == nil {
		return time.Now().Add(limit)
	}
	s.once.Do(func() { s.over = time.Now().Add(limit) })
	return s.over
}

// Parts tells which part of an answer its text ends in. Calls do not overlap.
type Parts interface {
	// Part is the part that a text ends in, which is mostly the one before and some more.
	Part(text string) abi.Part
	Close()
}

// SeenTokens are tokens as plugins see them. A row of a picture or a sound, whose number is the
// scheduler's own, is abi.TokenMedia.
func SeenTokens(tokens []int32) []int32 {
	first := slices.IndexFunc(tokens, func(t int32) bool { return t < abi.TokenMedia })
	if first < 0 {
		return tokens
	}
	seen := slices.Clone(tokens)
	for i, t := range seen[first:] {
		seen[first+i] = max(t, abi.TokenMedia)
	}
	return seen
}
