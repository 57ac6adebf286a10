// SPDX-License-Identifier: MIT

package session

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
)

// Rewrite is stage.RewriteMessages, and what is written down of it.
func Rewrite(ctx context.Context, p *load.Plugin, messages []byte, r plugin.RequestInfo, check func([]byte) error) (*Call, error) {
	var done *Call
	n := &notes{vocabulary: p.Module.Env.Vocabulary.Size(), take: func(c Call) bool { done = &c; return true }}
	n.begin(Call{Call: CallMessages})
	text, err := stage.RewriteMessages(ctx, p, messages, r, n, check)
	var refusal *plugin.Refusal
	switch {
	case n.call == nil:
	case errors.As(err, &refusal):
		n.call.Refusal = &refusal.Message
	case err == nil && text != nil:
		n.call.Messages = json.RawMessage(text)
	}
	n.end(true)
	return done, err
}

// isJSON is the check of a replay: what the messages must be like is the host's business.
func isJSON(text []byte) error {
	if !json.Valid(text) {
		return errors.New("what was handed to emit is no JSON")
	}
	return nil
}

// differMessages compares what plugins have made of a conversation.
func differMessages(want, got *Call) *Difference {
	if want.Messages == nil {
		return nil
	}
	show := func(m json.RawMessage) string {
		var all any
		if json.Unmarshal(m, &all) != nil {
			return "none"
		}
		text, _ := json.Marshal(all) // it was JSON
		return string(text)
	}
	return differ("messages", show(want.Messages), show(got.Messages))
}
