// SPDX-License-Identifier: MIT

// Package recording records requests with what their plugins were asked and answered, and keeps
// the recordings in a folder.
//
// What is recorded stays in memory until the answers have ended. Then a goroutine of its own
// writes the file, so that neither a tick nor a background sampler waits for it.
//
// # Why does a recording have all candidates, and not a digest of the logits?
//
// A digest would tell that something differs, but a player without the model could not show the
// plugin anything. Only what a plugin *leaves* of a whole row is kept as a digest, with its best
// entries for the reader.
//
// # Why do recordings lie on the disk, and are written after the answer?
//
// People need a recording later, often after they have changed the plugin and restarted the server.
// In memory a hundred recordings would take gigabytes. While the answer is computed the calls are
// kept as they are, by the background sampler; packing them takes longer than computing them, so a
// goroutine of its own does it at the end, one recording at a time. No tick and no background
// sampler waits for a file. The header of a file names its owner, as a hash that differs from file
// to file, so that no list of owners has to agree with the folder after a crash.
package recording

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"slices"
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

// Recorder begins the recordings of one model's requests.
type Recorder struct {
	store      *Store
	name       string                    // of the model
	vocabulary func() session.Vocabulary // written down with the first recording
}

// New makes the recorder of a model.
func New(s *Store, name string, v plugin.Vocabulary) *Recorder {
	return &Recorder{s, name, sync.OnceValue(func() session.Vocabulary { return session.NewVocabulary(v) })}
}

// Begin begins the recording of a caller's request.
func (r *Recorder) Begin(caller string) serving.Recording {
	id := "rec_" + rand.Text()
	p := &pending{owner: ownerOf(id, caller), done: make(chan struct{})}
	r.store.mu.Lock()
	r.store.pending[id] = p
	r.store.mu.Unlock()
	return &request{recorder: r, id: id, pending: p, created: time.Now(), vocabulary: r.vocabulary(), users: 1}
}

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

// contextKey finds in a context the recording that a template is rendered for.
type contextKey struct{}

// Rendering implements serving.Recording.
func (r *request) Rendering(ctx context.Context) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

// Render renders a template as stage.Render does, and records that if the context belongs to a
// recording.
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

// finish writes a recording, if an answer has begun, and forgets it.
func (r *request) finish() {
	s := r.recorder.store
	if r.worthKeeping() {
		s.writing.Lock()
		f, h := r.file()
		if err := s.write(r.id, h, f.Stream); err != nil {
			s.log.Error("a recording could not be kept", slog.String("recording", r.id), slog.Any("because", err))
		}
		s.writing.Unlock()
		s.prune()
	}
	s.running.Add(-r.bytes)
	s.mu.Lock()
	close(r.pending.done)
	delete(s.pending, r.id)
	s.mu.Unlock()
}

// worthKeeping tells that something was recorded. A request that was refused has nothing, and its
// client was told of no recording.
func (r *request) worthKeeping() bool {
	for _, c := range r.choices {
		if len(c.Tokens) > 0 || c.Reason != "" {
			return true
		}
	}
	for _, s := range r.sessions {
		if len(s.Calls) > 0 {
			return true
		}
	}
	return false
}

// file is the recording as it is written, and the head of its file.
func (r *request) file() (*session.File, head) {
	f := &session.File{Model: r.about, Vocabulary: r.vocabulary,
		Recording: &session.Recording{ID: r.id, Created: r.created.Unix(), Model: r.recorder.name, Choices: []session.Choice{}}}
	h := head{Owner: r.pending.owner, Created: r.created.Unix(), Model: r.recorder.name, Plugins: []string{}, Cut: r.cut}
	for _, s := range r.sessions {
		if r.cut != "" && s.Cut == "" {
			s.Cut = r.cut
		}
		f.Sessions = append(f.Sessions, *s)
		if !slices.Contains(h.Plugins, s.Plugin.Name) { // each answer has them
			h.Plugins = append(h.Plugins, s.Plugin.Name)
		}
	}
	for n, c := range r.choices {
		c.Text = c.text.String()
		if c.Tokens == nil {
			c.Tokens = []session.Chosen{}
		}
		var own []session.Session
		for i := range f.Sessions {
			if f.Sessions[i].Choice == n {
				own = append(own, f.Sessions[i])
			}
		}
		if c.Reason == "" {
			c.Reason = "cancelled" // its client did not wait for the end
		}
		attributeTokens(c.Tokens, c.Prompt, own)
		h.Tokens += len(c.Tokens)
		f.Recording.Choices = append(f.Recording.Choices, c.Choice)
	}
	return f, h
}

// origin is who put a token to a position of a conversation, and how.
type origin struct {
	token   session.Token
	by, how string
}

// attributeTokens says of each token of an answer whether a plugin has put it there, as its session
// tells. The answer begins at a position of the conversation. What the client has put there stays.
func attributeTokens(tokens []session.Chosen, from int, sessions []session.Session) {
	for i := range sessions {
		for at, o := range originsIn(&sessions[i]) {
			if n := at - from; n >= 0 && n < len(tokens) && tokens[n].Token == o.token && tokens[n].By != "client" {
				tokens[n].By, tokens[n].How = o.by, o.how
			}
		}
	}
}

// originsIn are the tokens that the plugin has put into the conversation and that are there at the
// end, by position.
func originsIn(s *session.Session) map[int]origin {
	asked, came := map[int]origin{}, map[int]origin{}
	name := "plugin:" + s.Plugin.Name
	length := len(s.Request.Prompt)
	for i := range s.Calls {
		c := &s.Calls[i]
		switch c.Call {
		case session.CallOpen:
			length += len(c.Tokens)
		case session.CallPrepare:
			clear(asked)
			for j, t := range c.Force {
				asked[length+j] = origin{t, name, "forced"}
			}
		case session.CallSample:
			if c.Answer != nil && *c.Answer >= 0 {
				asked[length] = origin{*c.Answer, name, "chosen"}
			}
		case session.CallAccept:
			delete(came, length)
			if o, ok := asked[length]; ok && o.token == *c.Token {
				came[length] = o
			}
			length++
			if c.Splice != nil {
				length -= c.Splice.Backtrack
				clear(asked)
				for j, t := range c.Splice.Tokens {
					asked[length+j] = origin{t, name, "spliced"}
				}
			}
		case session.CallStep, session.CallRun:
			for _, t := range c.Shows(s.Choice) {
				came[length] = origin{t, name, "chosen"}
				length++
			}
		case session.CallRewind:
			length = *c.Keep + len(c.Tokens)
		}
	}
	for at := range came {
		if at >= length {
			delete(came, at)
		}
	}
	return came
}
