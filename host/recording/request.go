// SPDX-License-Identifier: MIT

package recording

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/session"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// request is one that is recorded. It implements serving.Recording.
type request struct {
	recorder   *Recorder
	id         string
	pending    *pending
	created    time.Time
	vocabulary session.Vocabulary

	mu       sync.Mutex
	users    int   // the request, and plugins that are at work; the last one has it written
	over     bool  // it is written as it is: the work of a client that went may go on for a moment
	bytes    int64 // in memory
	cut      string
	about    plugin.Model // as plugins are told; zero without any
	sessions []*session.Session
	choices  []*choice
	ended    int // choices
}

// choice is an answer as its client gets it.
type choice struct {
	serving.RecordedChoice
	session.Choice
	text strings.Builder
	seen int    // tokens, those that were taken back included
	next uint64 // the event that is to be told next
}

// ID implements serving.Recording.
func (r *request) ID() string { return r.id }

// grow counts what is to be kept. Once there is no room for something, nothing more is kept.
func (r *request) grow(bytes int) bool {
	limit := r.recorder.store.limits.Size
	switch {
	case r.over || r.cut != "":
	case int64(bytes) > limit-r.bytes:
		r.cut = fmt.Sprintf("the recording has its %d bytes (recordings.size)", limit)
	case !r.recorder.store.take(int64(bytes)):
		r.cut = "other recordings have taken the memory for all"
	default:
		r.bytes += int64(bytes)
		return true
	}
	return false
}

// begin begins the session of a plugin.
func (r *request) begin(p *load.Plugin, q plugin.RequestInfo, choice int) *session.Session {
	s := session.New(p, q)
	s.Choice = choice
	r.keep(&s, p.Module.Env.Model)
	return &s
}

// keep keeps a session that begins. What its plugin asked when it was loaded and planned, up to
// 1 MiB each, counts for each answer.
func (r *request) keep(s *session.Session, about plugin.Model) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	if !r.grow(s.Size()) {
		s.Warm, s.Plan, s.Cut = nil, nil, r.cut
	}
	r.about, r.sessions = about, append(r.sessions, s)
}

// Watch implements serving.Recording.
func (r *request) Watch(of serving.RecordedChoice, p serving.Policy) serving.Policy {
	r.mu.Lock()
	for len(r.choices) <= of.Index {
		r.choices = append(r.choices, &choice{})
	}
	c := r.choices[of.Index]
	c.RecordedChoice, c.Choice.Seed = of, of.Seed
	r.mu.Unlock()
	for i, one := range p.Stages {
		s, ok := one.(*stage.Stage)
		if program, is := one.(stage.Program); is && p.Program != nil {
			s, ok = program.Stage, true
		}
		if !ok {
			continue
		}
		if _, info := s.Plugin(); info.Attached {
			continue // its configuration is not for whoever reads the recording
		}
		w := r.watch(s, of.Index)
		p.Stages[i] = w
		if _, is := one.(stage.Program); is {
			watched := *p.Program
			watched.Main = w.Main
			p.Program = &watched
		}
		for j, rule := range p.Rules {
			if rule == s.Rule() {
				p.Rules[j] = w.Rule()
			}
		}
		for j, filter := range p.Filters {
			if filter == s.Filter() {
				p.Filters[j] = w.Filter()
			}
		}
	}
	return p
}

// watched is a plugin whose calls are recorded. Its end is the request's to know.
type watched struct {
	*session.Recorder
	once sync.Once
	of   *request
}

var _ chain.Stage = (*watched)(nil)

// watch begins the session of a plugin, which uses the recording until it is closed.
func (r *request) watch(s *stage.Stage, choice int) *watched {
	p, q := s.Plugin()
	to := r.begin(p, q, choice)
	r.mu.Lock()
	r.users++
	r.mu.Unlock()
	return &watched{of: r, Recorder: session.Record(s, func(prompt []session.Token) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.grow(4 * len(prompt)) {
			to.Request.Prompt = prompt
		}
	}, func(c session.Call) bool { return r.add(to, c) })}
}

// Close implements chain.Stage.
func (w *watched) Close() error {
	err := w.Recorder.Close()
	w.once.Do(w.of.Release)
	return err
}

// add keeps a call; false: no more are wanted.
func (r *request) add(to *session.Session, c session.Call) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.grow(c.Size()) {
		if !r.over {
			to.Cut = r.cut
		}
		return false
	}
	to.Calls = append(to.Calls, c)
	return true
}

// Event implements serving.Recording.
func (r *request) Event(n int, e scheduler.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	c := r.choices[n]
	if e.Seq < c.next { // it was told before: a client that comes back is told again
		return
	}
	c.next = e.Seq + 1
	const entry = 64 // of a token, about
	switch e.Kind {
	case scheduler.KindToken:
		if r.grow(entry + len(e.Text)) {
			t := session.Chosen{Token: e.Token, Text: r.vocabulary.Pieces[e.Token], By: "samplers", How: e.Origin.String()}
			switch {
			case c.seen < c.Begun:
				t.By, t.How = "client", "forked"
			case e.Origin == chain.Injected:
				t.By = "client"
			}
			c.seen++
			c.Tokens = append(c.Tokens, t)
			c.text.WriteString(e.Text)
		}
	case scheduler.KindRewound:
		if r.cut == "" {
			c.takeBack(e.Rewound.Tokens, e.Rewound.Text)
		}
	case scheduler.KindEnd:
		if r.cut == "" {
			c.text.WriteString(e.Text)
		}
		c.Reason = e.End.Reason.String()
		if r.ended++; r.ended == len(r.choices) {
			r.pending.ended.Store(true)
		}
		if e.End.Err != nil {
			c.Error = e.End.Err.Error()
		}
	}
}

func (c *choice) takeBack(tokens int, removed string) {
	c.Tokens = c.Tokens[:max(0, len(c.Tokens)-tokens)]
	text := strings.TrimSuffix(c.text.String(), removed)
	c.text.Reset()
	c.text.WriteString(text)
}

// Release implements serving.Recording.
func (r *request) Release() {
	r.mu.Lock()
	r.users--
	r.over = r.users == 0
	last := r.over
	r.mu.Unlock()
	if last {
		r.recorder.store.writers.Go(r.finish)
	}
}

// contextKey is that of the recording that a template is rendered for.
type contextKey struct{}

// Rendering implements serving.Recording.
func (r *request) Rendering(ctx context.Context) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

// Render renders a template as stage.Render does. If the context is that of a recording, it is
// recorded.
func Render(ctx context.Context, p *load.Plugin, messages []byte, q plugin.RequestInfo) (string, error) {
	r, ok := ctx.Value(contextKey{}).(*request)
	if !ok || q.Attached {
		return stage.Render(ctx, p, messages, q)
	}
	return r.render(ctx, p, session.CallRender, messages, q, nil)
}

// render records what a plugin makes of a conversation.
func (r *request) render(ctx context.Context, p *load.Plugin, export string, messages []byte, q plugin.RequestInfo, check func([]byte) error) (string, error) {
	s := r.begin(p, q, 0)
	text, call, err := session.Render(ctx, p, export, messages, q, check)
	r.mu.Lock()
	if r.grow(len(messages)) {
		s.Request.Messages = messages
	}
	r.mu.Unlock()
	if call != nil {
		r.add(s, *call)
	}
	return text, err
}

// Rewrite has a plugin rewrite a conversation as stage.RewriteMessages does. If the context is
// that of a recording, it is recorded.
func Rewrite(ctx context.Context, p *load.Plugin, messages []byte, q plugin.RequestInfo, check func([]byte) error) error {
	r, ok := ctx.Value(contextKey{}).(*request)
	if !ok || q.Attached {
		_, err := stage.RewriteMessages(ctx, p, messages, q, nil, check)
		return err
	}
	_, err := r.render(ctx, p, session.CallMessages, messages, q, check)
	return err
}
