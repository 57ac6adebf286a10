// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/chat/form"
	"github.com/penstock/penstock/native"
)

// need is the form that the template needs. It is found when the first conversation comes, which
// takes a tenth of a second, or with a template that is made to take long until the bound. Nobody
// has to wait for it to the end.
type need struct {
	once  sync.Once
	seek  func() // finds it
	stop  context.CancelFunc
	done  chan struct{}
	found form.Form
}

func newNeed(find func(ctx context.Context) form.Form) *need {
	const most = 30 * time.Second
	n := &need{done: make(chan struct{})}
	within, stop := context.WithCancel(context.Background())
	n.stop = stop
	n.seek = func() {
		defer close(n.done)
		ctx, cancel := context.WithTimeout(within, most)
		defer cancel()
		n.found = find(ctx)
	}
	return n
}

// form waits until the form is found. Its error is ctx's.
func (n *need) form(ctx context.Context) (form.Form, error) {
	n.once.Do(func() { go n.seek() })
	select {
	case <-n.done:
		return n.found, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// close ends the search, if it goes on, and waits for its end.
func (n *need) close() {
	n.stop()
	n.once.Do(func() { close(n.done) })
	<-n.done
}

// findNeeds has the form that the template needs be found, for conversations with tools and for
// those without: templates differ in more than the list of tools then.
func (e *Engine) findNeeds() {
	needs := func(tools json.RawMessage) *need {
		return newNeed(func(ctx context.Context) form.Form {
			return form.Needs(ctx, func(ctx context.Context, messages []chat.Message) (string, error) {
				n := native.Conversation{Tools: tools, AddGenerationPrompt: true, TemplateArgs: e.templateOptions.Args, ReasoningFormat: e.templateOptions.ReasoningFormat}
				p, err := e.renderMessages(ctx, n, messages)
				return p.Text, err
			})
		})
	}
	e.needs = needs(nil)
	e.needsWithTools = needs(json.RawMessage(`[{"type":"function","function":{"name":"x","description":"x","parameters":{"type":"object","properties":{"q":{"type":"string"}}}}}]`))
}
