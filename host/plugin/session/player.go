// SPDX-License-Identifier: MIT

package session

import (
	"cmp"
	"context"
	"encoding/json"
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

// Player makes the calls of sessions again, on a module under the real runtime, without a model. It
// is not for concurrent use.
type Player struct {
	file    *File
	answers *answers
	loader  *load.Loader
	plugin  *load.Plugin
}

// forever is the time limit of a call: a session must not depend on how fast a machine is. Fuel is
// limited as usual, since it is the same everywhere.
const forever = time.Hour

// NewPlayer loads a module or a script for the sessions of a file, until Close. The file's
// vocabulary, model and grammars replace those of the options, and time is not limited. The error
// is one of load.Loader.LoadFile.
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

// Plugin returns the plugin that is played.
func (p *Player) Plugin() *load.Plugin { return p.plugin }

// Close frees the module.
func (p *Player) Close() error {
	p.plugin.Release()
	return p.loader.Close(context.Background())
}

// Play makes the calls of a session of the file and returns the first difference to the recording;
// nil: there is none. The error says why the session cannot be played: its configuration does not
// fit the plugin, or the context ended.
func (p *Player) Play(ctx context.Context, s *Session) (*Difference, error) {
	var first *Difference
	err := p.play(ctx, s, func(_ int, d *Difference, _ *Call) bool {
		first = d
		return d == nil
	})
	return first, err
}

// play makes the calls of a session until each returns false. It gives each the outcome of a call,
// and the difference to the recording.
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
			return nil // the request or the machine was the reason
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
		got, err := r.makeCall(ctx, want)
		if err != nil {
			return fmt.Errorf("call %d, %s: %w", i+1, want.Call, err)
		}
		d := p.differAt(want, got, i, len(r.history), len(r.history)-r.prompt)
		if !each(i, d, got) || got != nil && got.over() {
			return nil
		}
		r.applyToHistory(want)
	}
	return nil
}

// differAt compares a call's outcome with the recording, and adds the place to the difference.
func (p *Player) differAt(want, got *Call, i, position, answered int) *Difference {
	d := p.compare(want, got)
	if d != nil {
		d.Call, d.Name, d.Position, d.Answered = i+1, want.Call, position, answered
	}
	return d
}

// plan has the plugin plan for a session's configuration. A refusal or a fault counts as the
// outcome of the session's first call.
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

// machines holds the kinds of faults that are the machine's and not the plugin's.
var machines = map[string]bool{"time": true, "busy": true, "budget": true, "cancelled": true}

// request returns the session's request as a host describes it to a plugin.
func (r *run) request() plugin.RequestInfo {
	q := r.session.Request
	request := plugin.RequestInfo{Config: r.config, Seed: q.Seed, Index: q.Place, MaxTokens: q.MaxTokens, ContextSize: q.ContextSize, Media: q.Media,
		Messages: q.Messages, Choice: q.Choice, Choices: q.Choices, Parts: func() (plugin.Parts, error) { return r.player.answers, nil }, Sampling: func() []byte { return r.player.answers.sampling }, PromptText: r.player.answers.promptText}
	if q.Time != 0 {
		request.Time = time.UnixMilli(q.Time)
	}
	if r.model != nil {
		request.Chain, request.Prompt = drive.Chains(q.Sampling), r.renderMessages
		request.ContextSize = cmp.Or(q.ContextSize, defaultContext)
		request.MaxTokens = cmp.Or(q.MaxTokens, max(0, request.ContextSize-len(q.Prompt)))
	}
	return request
}

// run is a session while it is played.
type run struct {
	player  *Player
	plugin  *load.Plugin // planned for the session's configuration
	session *Session
	model   drive.Table // the made-up model that the program runs on; nil: none
	config  []byte      // with the defaults of the plugin's schema
	stage   *Recorder
	rule    answer.StopRule
	filter  answer.Filter
	history []Token
	prompt  int
	shown   []shown // texts that the rule was given, where the file does not say which are taken back
	// filtered holds, for each call of the filter that was not taken back, the answer's length then.
	filtered []int
	made     *Call // the last call, as it came out

	prompter *prompter // once a program runs
}

// shown is a text that stop was called with.
type shown struct{ after, bytes int } // how many tokens the answer had then

func (r *run) close() {
	if r.stage != nil {
		_ = r.stage.Close() // a fault of close is no outcome
	}
}

// makeCall makes a call and returns its outcome; nil: the plugin has no such export.
func (r *run) makeCall(ctx context.Context, c *Call) (*Call, error) {
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
		return r.runOnModel(ctx)
	case CallStopRewind:
		if r.rule != nil {
			r.rule.(answer.RewindRule).Rewind(c.Count, c.Bytes)
		}
	}
	var fault *plugin.Fault
	var refusal *plugin.Refusal
	if errors.As(err, &fault) || errors.As(err, &refusal) {
		err = nil // it is recorded
	}
	return r.made, err
}

// takeTextBack takes back the text of all but the first tokens of the answer. In a recording,
// calls of its own do that.
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
	r.stage = Record(s, func([]Token) {}, r.takeCall)
	r.rule, r.filter = r.stage.Rule(), r.stage.Filter()
	r.history = append(r.history, c.Tokens...)
	return r.stage.Reset(r.history, r.prompt)
}

// view returns the row or the candidates that the call shows the plugin.
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

// applyToHistory updates the history after a call.
func (r *run) applyToHistory(c *Call) {
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

// Update makes the calls of a session of the file, and records the outcomes that differ or that the
// session does not have yet. It returns how many calls it changed. The error is that of Play.
func (p *Player) Update(ctx context.Context, s *Session) (changed int, _ error) {
	last := len(s.Calls)
	err := p.play(ctx, s, func(i int, d *Difference, got *Call) bool {
		c := &s.Calls[i]
		if d == nil && (got == nil || c.hasOutcome()) {
			return true
		}
		if c.runs() && p.file.modelOf(s) == nil { // only a model could answer other deeds
			return false
		}
		if after := c.withOutcome(got); d != nil || after.hasOutcome() {
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

// withOutcome returns the call with the outcome of another; nil: without any.
func (c *Call) withOutcome(outcome *Call) Call {
	var after Call
	if outcome != nil {
		after = *outcome
	}
	after.Call, after.Token, after.Text, after.IDs, after.Logits, after.Keep = c.Call, c.Token, c.Text, c.IDs, c.Logits, c.Keep
	after.Tokens, after.Count, after.Bytes, after.Logprob, after.Deeds = c.Tokens, c.Count, c.Bytes, c.Logprob, c.Deeds
	after.Last = c.Last
	return after
}

// isJSON is the check of a replay. Only a host knows what messages must look like.
func isJSON(text []byte) error {
	if !json.Valid(text) {
		return errors.New("what was handed to emit is no JSON")
	}
	return nil
}
