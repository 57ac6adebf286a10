// SPDX-License-Identifier: MIT

package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/drive"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
)

// Player makes the calls of sessions once more, on a module under the real runtime, without a
// model. It is not for concurrent use.
type Player struct {
	file    *File
	answers *answers
	loader  *load.Loader
	plugin  *load.Plugin
}

// forever is what a call may take: how fast a machine is makes no difference to a session. Fuel
// does, and is the same everywhere.
const forever = time.Hour

// NewPlayer loads a module or a script for the sessions of a file, until Close. Of the options,
// vocabulary, model and grammars are the file's, and limits of time do not count. The error is one
// of load.Loader.LoadFile.
func NewPlayer(ctx context.Context, from load.File, f *File, o plugin.HostOptions) (*Player, error) {
	p := &Player{file: f, answers: newAnswers(f)}
	for i := range f.Sessions { // a module that asks about grammars when it is loaded gets the same answers for all
		if warm := f.Sessions[i].Warm; len(warm) > 0 {
			p.answers.expect(&Call{Deeds: warm})
			break
		}
	}
	o.Vocabulary, o.Grammars, o.Replay, o.Model = p.answers, NewGrammars(p.answers), p.answers.answer, f.Model
	if o.Limits == (plugin.Limits{}) {
		o.Limits = plugin.DefaultLimits()
	}
	l := &o.Limits
	l.HookTime, l.SetupTime, l.LoadTime, l.PlanTime = forever, forever, forever, forever
	l.Compile, l.Faults = max(l.Compile, time.Minute), math.MaxInt
	p.loader = load.New(o)
	var err error
	if p.plugin, err = p.loader.LoadFile(ctx, from); err != nil {
		if p.answers.problem != "" {
			err = fmt.Errorf("%w; %s", err, p.answers.problem)
		}
		return nil, errors.Join(err, p.loader.Close(ctx))
	}
	return p, nil
}

// Plugin is the one that is played.
func (p *Player) Plugin() *load.Plugin { return p.plugin }

// Close frees the module.
func (p *Player) Close() error {
	p.plugin.Release()
	return p.loader.Close(context.Background())
}

// Play makes the calls of a session of the file, up to the first that comes out differently, which
// it returns; nil: none does. The error says why the session cannot be played: its configuration
// does not fit the plugin, or the context ended.
func (p *Player) Play(ctx context.Context, s *Session) (*Difference, error) {
	var first *Difference
	err := p.play(ctx, s, func(_ int, d *Difference, _ *Call) bool {
		first = d
		return d == nil
	})
	return first, err
}

// play makes the calls of a session, as long as each goes on. It is told how a call came out, and
// the difference to what was recorded.
func (p *Player) play(ctx context.Context, s *Session, each func(i int, d *Difference, got *Call) (goOn bool)) error {
	config, err := p.plugin.CheckConfig(s.Request.Config)
	if err != nil {
		return fmt.Errorf("request.config does not fit the plugin: %w", err)
	}
	planned, refused, err := p.plan(ctx, s, config)
	switch {
	case err != nil:
		return err
	case refused != nil:
		if len(s.Calls) > 0 {
			each(0, p.differAt(&s.Calls[0], refused, 0, 0, 0), refused)
		}
		return nil
	}
	defer planned.Release()
	model := p.file.modelOf(s)
	p.answers.elapsed = 0
	p.answers.open, p.answers.program, p.answers.sampling, p.answers.modelled = 0, nil, []byte("{}"), model != nil
	if s.Request.Sampling != nil {
		p.answers.sampling = s.Request.Sampling
	}
	r := &run{player: p, plugin: planned, session: s, model: model, config: config, prompt: len(s.Request.Prompt)}
	r.history = append(r.history, s.Request.Prompt...)
	defer r.close()
	for i := range s.Calls {
		if err := ctx.Err(); err != nil {
			return err
		}
		want := &s.Calls[i]
		if want.Call == CallRefuse || want.Fault != nil && machines[want.Fault.Kind] {
			return nil // what the request or the machine did
		}
		if want.runs() {
			if r.stage == nil || !r.stage.isProgram {
				return fmt.Errorf("call %d, %s: the plugin is no program: it does not export %s", i+1, want.Call, abi.ExportRun)
			}
			if r.model == nil {
				r.playProgram(i, each)
				return nil
			}
		}
		p.answers.expect(want)
		got, err := r.make(ctx, want)
		if err != nil {
			return fmt.Errorf("call %d, %s: %w", i+1, want.Call, err)
		}
		d := p.differAt(want, got, i, len(r.history), len(r.history)-r.prompt)
		if !each(i, d, got) || got != nil && got.over() {
			return nil
		}
		r.follow(want)
	}
	return nil
}

// differAt is compare for a call of a session, at a place.
func (p *Player) differAt(want, got *Call, i, position, answered int) *Difference {
	d := p.compare(want, got)
	if d != nil {
		d.Call, d.Name, d.Position, d.Answered = i+1, want.Call, position, answered
	}
	return d
}

// plan has the plugin plan for a session's configuration. If that ends with a refusal or a fault,
// it is what becomes of the session's first call.
func (p *Player) plan(ctx context.Context, s *Session, config []byte) (planned *load.Plugin, refused *Call, _ error) {
	p.answers.expect(&Call{Deeds: s.Plan})
	planned, err := p.plugin.With(ctx, "", config)
	var refusal *plugin.Refusal
	var fault *plugin.Fault
	switch {
	case errors.As(err, &refusal):
		refused = &Call{Refusal: &refusal.Message}
	case errors.As(err, &fault):
		refused = &Call{Fault: faultOf(fault)}
	case err != nil:
		return nil, nil, err
	case p.answers.problem != "":
		planned.Release()
		return nil, nil, fmt.Errorf("the plan for request.config: %s", p.answers.problem)
	}
	return planned, refused, nil
}

// machines are the kinds of faults that say something of the machine, not of the plugin.
var machines = map[string]bool{"time": true, "busy": true, "budget": true, "cancelled": true}

// request is a session's, as the host puts it.
func (r *run) request() plugin.RequestInfo {
	q := r.session.Request
	request := plugin.RequestInfo{Config: r.config, Seed: q.Seed, Index: q.Place, MaxTokens: q.MaxTokens, ContextSize: q.ContextSize, Media: q.Media,
		Messages: q.Messages, Choice: q.Choice, Choices: q.Choices, Parts: func() (plugin.Parts, error) { return r.player.answers, nil }, Sampling: func() []byte { return r.player.answers.sampling }, PromptText: r.player.answers.promptText}
	if q.Time != 0 {
		request.Time = time.UnixMilli(q.Time)
	}
	if r.model != nil {
		request.Chain, request.Prompt = drive.Chains(q.Sampling), r.template
		request.ContextSize = cmp.Or(q.ContextSize, defaultContext)
		request.MaxTokens = cmp.Or(q.MaxTokens, max(0, request.ContextSize-len(q.Prompt)))
	}
	return request
}

// run is a session that is played.
type run struct {
	player  *Player
	plugin  *load.Plugin // as it is for the session's configuration
	session *Session
	model   drive.Table // that the program runs on; nil: none
	config  []byte      // with the defaults of the plugin's schema
	stage   *Recorder
	rule    answer.StopRule
	filter  answer.Filter
	history []Token
	prompt  int
	shown   []shown // to the rule, where the file does not say what of it is taken back
	// filtered are the calls of the filter that still stand, as tokens that the answer had then.
	filtered []int
	made     *Call // the last call, as it came out

	prompter *prompter // once a program runs
}

// shown is a text that stop was called with.
type shown struct{ after, bytes int } // how many tokens the answer had then

func (r *run) close() {
	if r.stage != nil {
		_ = r.stage.Close() // a fault of close concerns nobody
	}
}

// make makes a call. It returns how it came out; nil: the plugin has no such export.
func (r *run) make(ctx context.Context, c *Call) (*Call, error) {
	r.made = nil
	var err error
	switch c.Call {
	case CallRender, CallMessages:
		_, r.made, err = Render(ctx, r.plugin, c.Call, r.session.Request.Messages, r.request(), isJSON)
	case CallOpen:
		err = r.open(c)
	case CallPrepare:
		_, err = r.stage.Prepare()
	case CallSample:
		err = r.stage.Apply(c.view())
	case CallAccept:
		if tell := r.stage.Traits().Logprob; tell != nil {
			logprob := float32(math.NaN())
			if c.Logprob != nil {
				logprob = float32(*c.Logprob)
			}
			tell(logprob)
		}
		_, err = r.stage.Accept(*c.Token)
	case CallRewind:
		if *c.Keep > len(r.history) {
			return nil, fmt.Errorf("keep is %d; what the plugin took back leaves %d tokens, so it can be no more", *c.Keep, len(r.history))
		}
		r.takeTextBack(*c.Keep - r.prompt)
		err = r.stage.Reset(append(r.history[:*c.Keep:*c.Keep], c.Tokens...), r.prompt)
	case CallStop:
		if r.rule != nil {
			_, err = r.rule.Check(*c.Token, string(*c.Text))
			r.shown = append(r.shown, shown{len(r.history) - r.prompt, len(*c.Text)})
		}
	case CallFilter:
		if r.filter != nil {
			_, err = r.filter.Filter(textOf(c.Text), c.Last)
			r.filtered = append(r.filtered, len(r.history)-r.prompt)
		}
	case CallUnfilter:
		if r.filter != nil {
			r.filter.Unfilter(c.Count)
		}
	case CallRun:
		return r.write(ctx)
	case CallStopRewind:
		if r.rule != nil {
			r.rule.(answer.RewindRule).Rewind(c.Count, c.Bytes)
		}
	}
	var fault *plugin.Fault
	var refusal *plugin.Refusal
	if errors.As(err, &fault) || errors.As(err, &refusal) {
		err = nil // it is written down
	}
	return r.made, err
}

// takeTextBack takes back the text of all but the first tokens of the answer. A recording has
// calls for that.
func (r *run) takeTextBack(tokens int) {
	if r.player.file.Recording != nil {
		return
	}
	if n := len(r.filtered); r.filter != nil {
		for ; n > 0 && r.filtered[n-1] > tokens; n-- {
		}
		r.filter.Unfilter(len(r.filtered) - n)
		r.filtered = r.filtered[:n]
	}
	if r.rule == nil {
		return
	}
	count, bytes := 0, 0
	for n := len(r.shown); n > 0 && r.shown[n-1].after > tokens; n-- {
		count, bytes, r.shown = count+1, bytes+r.shown[n-1].bytes, r.shown[:n-1]
	}
	r.rule.(answer.RewindRule).Rewind(count, bytes)
}

func (r *run) open(c *Call) error {
	s, err := stage.New(r.plugin, r.request())
	if err != nil {
		return err
	}
	r.stage = Record(s, func([]Token) {}, r.taken)
	r.rule, r.filter = r.stage.Rule(), r.stage.Filter()
	r.history = append(r.history, c.Tokens...)
	return r.stage.Reset(r.history, r.prompt)
}

// view is what the call is shown.
func (c *Call) view() *chain.View {
	v := &chain.View{Chosen: -1}
	switch {
	case c.IDs != nil:
		v.ID, v.Logit, v.N = append(v.ID, c.IDs...), append(v.Logit, c.Logits...), len(c.IDs)
	case c.Logits != nil:
		v.Row, v.N = append(v.Row, c.Logits...), -1
	}
	return v
}

// follow brings the history to where a call left it.
func (r *run) follow(c *Call) {
	switch c.Call {
	case CallAccept:
		r.history = append(r.history, *c.Token)
		if r.made != nil && r.made.Splice != nil {
			r.history = r.history[:len(r.history)-r.made.Splice.Backtrack]
		}
	case CallRewind:
		r.history = append(r.history[:*c.Keep], c.Tokens...)
	}
}

// Update makes the calls of a session of the file, and writes into it what the plugin does now:
// where that differs, and where no outcome is written down yet. It returns how many calls it has
// changed. The error is that of Play.
func (p *Player) Update(ctx context.Context, s *Session) (changed int, _ error) {
	last := len(s.Calls)
	err := p.play(ctx, s, func(i int, d *Difference, got *Call) bool {
		c := &s.Calls[i]
		if d == nil && (got == nil || c.expects()) {
			return true
		}
		if c.runs() && p.file.modelOf(s) == nil { // only a model knows what would come of other deeds
			return false
		}
		if after := c.with(got); d != nil || after.expects() {
			*c = after
			changed++
		}
		if c.over() {
			last = i + 1 // nothing follows
			return false
		}
		return true
	})
	if err == nil {
		s.Calls = s.Calls[:last]
	}
	return changed, err
}

// with is the call with the outcome of another; nil: with none.
func (c *Call) with(outcome *Call) Call {
	var after Call
	if outcome != nil {
		after = *outcome
	}
	after.Call, after.Token, after.Text, after.IDs, after.Logits, after.Keep = c.Call, c.Token, c.Text, c.IDs, c.Logits, c.Keep
	after.Tokens, after.Count, after.Bytes, after.Logprob, after.Deeds = c.Tokens, c.Count, c.Bytes, c.Logprob, c.Deeds
	after.Last = c.Last
	return after
}
