// SPDX-License-Identifier: MIT

package completion_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/tools/must"
)

// preserving is an engine that finds preserved tokens as a test wants it.
type preserving struct {
	servingtest.Toy
	find func(ctx context.Context, texts []string) ([]int32, error)
}

func (e preserving) PreservedTokens(ctx context.Context, p sampling.Params) ([]int32, error) {
	return e.find(ctx, p.PreservedTokens)
}

// writer is a plugin that writes the prompts of all conversations: the model's template is asked
// for none.
type writer struct{ servingtest.NoPlugins }

func (w writer) Resolve(context.Context, serving.Asker, []serving.PluginUse, []string) (serving.Plugins, error) {
	return w, nil
}
func (writer) Plan(context.Context, string, serving.PluginUse) (serving.Plan, error) {
	return serving.Plan{}, nil
}
func (writer) Renders() bool { return true }
func (writer) Render(_ context.Context, _ serving.Conversing, m []chat.Message) (*string, error) {
	return &m[0].Content, nil
}

// preservingRig asks with preserved tokens, for prompts that are made in each of the ways there
// are.
type preservingRig struct {
	*mediaRig
	model  *serving.Model
	asked  completion.Asked
	client context.Context
	leave  context.CancelFunc
}

func eachPreserving(t *testing.T, test func(t *testing.T, r *preservingRig)) {
	file, _ := painted(t, 10, 0)
	seen := completion.Chat{Conversation: chat.Conversation{Messages: []chat.Message{{Role: "user", Content: "a" + media.Marker}}, Media: media.Sources("f", media.Any, []string{file})}}
	for name, c := range map[string]struct {
		source  completion.Source
		plugins serving.PluginFinder
	}{
		"a text": {source: completion.Text("a")}, "a conversation": {source: seen}, "a plugin's prompt": {source: seen, plugins: writer{}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &preservingRig{mediaRig: newMediaRig(10 << 20)}
			r.model = r.Models.(servingtest.OneModel).Model
			r.model.Plugins = c.plugins
			common := completion.DefaultCommonFields()
			must.Do(t, json.Unmarshal([]byte(`{"preserved_tokens":["<tool>"],"timeout_ms":3600000}`), &common))
			r.asked = completion.Asked{Common: common, PromptField: "prompt", Caller: completion.Caller{ID: "me", CacheSalt: "salt"}, Source: c.source, Answers: completion.OneAnswer()}
			r.client, r.leave = context.WithCancel(t.Context())
			defer r.leave()
			test(t, r)
		})
	}
}

// submit has a request answered that shows the tokens that are wanted, and no others.
func (r *preservingRig) submit(t *testing.T, p *completion.Prompted, want ...scheduler.Token) *completion.Submitted {
	t.Helper()
	submitted := must.Get(r.Submit(t.Context(), p, completion.Reading{}))(t)
	if got := r.scheduler.requests[0].Preserved; !slices.Equal(got, want) {
		t.Errorf("the answer shows %v, want %v", got, want)
	}
	return submitted
}

func (r *preservingRig) fork(ctx context.Context, of *completion.Submitted) (*completion.Prompted, error) {
	return r.Fork(ctx, of, begun{}, 0, func(f *sampling.ParamFields) error {
		f.PreservedTokens = append(f.PreservedTokens, "<more>")
		return nil
	})
}

// Preserved tokens are found once, when the prompt is made, and anew where a fork names others.
func TestService_Preserved_AreShown(t *testing.T) {
	eachPreserving(t, func(t *testing.T, r *preservingRig) {
		times := 0
		r.model.Engine = preserving{find: func(_ context.Context, texts []string) (found []int32, _ error) {
			times++
			for _, text := range texts {
				found = append(found, int32(len(text)))
			}
			return found, nil
		}}
		p := must.Get(r.Prompt(t.Context(), r.asked))(t)
		defer p.Release()
		f := must.Get(r.fork(t.Context(), r.submit(t, p, 6)))(t)
		defer f.Release()
		none := must.Get(r.Fork(t.Context(), r.submit(t, f, 6, 6), begun{}, 0, func(f *sampling.ParamFields) error {
			f.PreservedTokens = []string{}
			return nil
		}))(t)
		defer none.Release()
		r.submit(t, none)
		if times != 2 {
			t.Errorf("they were looked for %d times", times)
		}
	})
}

// A text that the model refuses is refused before the request asks for room, and before a picture
// is encoded.
func TestService_Preserved_AreRefusedEarly(t *testing.T) {
	eachPreserving(t, func(t *testing.T, r *preservingRig) {
		bad := sampling.Refused("preserved_tokens[0]", "it takes too long")
		r.model.Engine = preserving{find: func(_ context.Context, texts []string) ([]int32, error) {
			if len(texts) > 1 {
				return nil, bad
			}
			return nil, nil
		}}
		p := must.Get(r.Prompt(t.Context(), r.asked))(t)
		defer p.Release()
		if _, err := r.fork(t.Context(), r.submit(t, p)); !errors.Is(err, bad) {
			t.Errorf("a fork: %v", err)
		}
		before := r.encoder.Encoded.Load()
		r.asked.Common.PreservedTokens = []string{"<tool>", "bad"}
		if _, err := r.Prompt(t.Context(), r.asked); !errors.Is(err, bad) {
			t.Errorf("a request: %v", err)
		}
		if n := r.encoder.Encoded.Load() - before; n != 0 {
			t.Errorf("%d pictures are encoded for it", n)
		}
	})
}

// They are looked for with a permit, under the request's deadline and salt, and for nobody who
// has left.
func TestService_Preserved_EndWithTheRequest(t *testing.T) {
	eachPreserving(t, func(t *testing.T, r *preservingRig) {
		p := must.Get(r.Prompt(t.Context(), r.asked))(t)
		defer p.Release()
		submitted := r.submit(t, p)
		told := make(chan bool, 2) // whether there was a deadline
		r.model.Engine = preserving{find: func(ctx context.Context, _ []string) ([]int32, error) {
			if salt, _ := sampling.SaltOf(ctx); salt != "salt" {
				t.Errorf("under the salt %q", salt)
			}
			r.leave()
			<-ctx.Done()
			_, bounded := ctx.Deadline()
			told <- bounded
			return nil, ctx.Err()
		}}
		if _, err := r.Prompt(r.client, r.asked); !errors.Is(err, refusal.ErrGone) {
			t.Errorf("a request of who has left: %v", err)
		}
		if !<-told {
			t.Error("a request has no deadline")
		}
		r.client, r.leave = context.WithCancel(t.Context())
		if _, err := r.fork(r.client, submitted); !errors.Is(err, refusal.ErrGone) {
			t.Errorf("a fork of who has left: %v", err)
		}
		<-told
	})
}
