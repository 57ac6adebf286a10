// SPDX-License-Identifier: MIT

package llamaserver

import (
	"context"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/penstock/penstock/host/api/openai"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
)

// completionShape is a completion: a frame for each token, and a description of how the answer was
// generated.
type completionShape struct {
	request *completion.Prompted
	body    *completionBody
	fields  []string // response_fields
	states  map[int]*state
}

func newCompletionShape(r *completion.Prompted, b *completionBody) *completionShape {
	return &completionShape{request: r, body: b, fields: b.ResponseFields, states: map[int]*state{}}
}

// state is what is noted of one answer.
type state struct {
	partial     []byte            // the beginning of a character
	held        string            // text of tokens whose last character is incomplete
	newLine     bool              // text that was shown has one
	tokens      []scheduler.Token // the one that ended the answer included
	probs       []tokenProb
	begun       time.Time // its slot was given
	first, last time.Time // the first and the last token came
}

// partialAnswer is a frame of a stream.
type partialAnswer struct {
	Index     int               `json:"index"`
	Content   string            `json:"content"`
	Tokens    []scheduler.Token `json:"tokens"`
	Stop      bool              `json:"stop"`
	Slot      int               `json:"id_slot"` // always -1, as from llama-server
	Predicted int               `json:"tokens_predicted"`
	Evaluated int               `json:"tokens_evaluated"`
	wire.Measured
	Probs []tokenProb       `json:"completion_probabilities,omitempty"`
	Trace []wire.TokenTrace `json:"trace,omitempty"`
	wire.Branches
}

// Event implements wire.Detailed.
func (s *completionShape) Event(c *completion.Choice, d completion.Delta) []any {
	st := s.states[c.Index]
	if st == nil {
		st = &state{begun: time.Now()}
		s.states[c.Index] = st
	}
	switch d.Event.Kind {
	case scheduler.KindStarted:
		return s.progress(c, st, c.Start.CachedTokens)
	case scheduler.KindProgress:
		return s.progress(c, st, d.Event.Computed)
	case scheduler.KindToken:
		return s.token(c, st, d.Event.Token, d.Content, answer.Details{Logprobs: d.Event.Logprobs, Trace: d.Event.Trace})
	case scheduler.KindBranches:
		return s.branches(c, st, d)
	case scheduler.KindEnd:
		return s.end(c, st, d.Content)
	}
	return nil
}

func (s *completionShape) progress(c *completion.Choice, st *state, computed int) []any {
	if !s.request.Progress {
		return nil
	}
	took := time.Since(st.begun)
	p := &partialAnswer{Index: c.Index, Tokens: []scheduler.Token{0}, Slot: -1, Evaluated: c.Start.PromptTokens}
	p.Progress = &wire.Progress{Total: c.Start.PromptTokens, Cache: c.Start.CachedTokens, Processed: computed, TimeMS: took.Milliseconds()}
	if s.body.TimingsPerToken {
		t := wire.TimingsOf(scheduler.End{Usage: scheduler.Usage{Prompt: computed, Cached: c.Start.CachedTokens}, Timing: scheduler.Timing{Prefill: took}})
		p.Timings = &t
	}
	return []any{p}
}

// branches is the frame of what has become of a program's branches.
func (s *completionShape) branches(c *completion.Choice, st *state, d completion.Delta) []any {
	told := wire.DetailsOf(c, d).Branches
	if told.IsEmpty() {
		return nil
	}
	return []any{&partialAnswer{Index: c.Index, Tokens: []scheduler.Token{}, Slot: -1, Predicted: len(st.tokens), Evaluated: c.Start.PromptTokens, Branches: told}}
}

// token is the frame of a token; none while its character is incomplete. What text it has then
// comes with the next frame.
func (s *completionShape) token(c *completion.Choice, st *state, t scheduler.Token, text string, d answer.Details) []any {
	st.last = time.Now()
	if st.first.IsZero() {
		st.first = st.last
	}
	st.tokens = append(st.tokens, t)
	st.partial = append(st.partial, s.request.Model.Engine.Shown(t)...)
	if n := unfinishedBytes(st.partial); n > 0 {
		st.partial = append(st.partial[:0], st.partial[len(st.partial)-n:]...)
		st.held += text
		return nil
	}
	st.partial = st.partial[:0]
	text, st.held = st.held+text, ""
	st.noteShown(text)
	tokens := []scheduler.Token{}
	if s.request.ShowsTokens() {
		tokens = append(tokens, t)
	}
	p := &partialAnswer{Index: c.Index, Content: text, Tokens: tokens, Slot: -1, Predicted: len(st.tokens), Evaluated: c.Start.PromptTokens}
	if s.body.TimingsPerToken {
		p.Timings = st.timings(c)
	}
	if s.request.Candidates > 0 && d.Trace != nil && len(d.Trace.Stages) > 0 || s.request.Candidates == 0 && d.Logprobs != nil {
		prob := probOf(s.request, t, text, d)
		p.Probs = []tokenProb{prob}
		if !s.body.Stream {
			st.probs = append(st.probs, prob)
		}
	}
	if trace := wire.TraceOf(s.request.Model.Engine, t, d.Trace); trace != nil && s.request.Params.Trace {
		p.Trace = []wire.TokenTrace{*trace}
	}
	return []any{p}
}

// end is the frame of the token that ended the answer, if one did, and the last frame. The last
// has text that was held back until then.
func (s *completionShape) end(c *completion.Choice, st *state, text string) (frames []any) {
	if e := c.End.EndToken; e != nil {
		frames, text = s.token(c, st, e.Token, text, e.Details), ""
	}
	text, st.held = st.held+text, ""
	st.noteShown(text)
	final := s.describeEnd(c, st)
	final["content"], final["tokens"] = text, []scheduler.Token{}
	return append(frames, pickFields(final, s.fields))
}

// Whole implements wire.Shape: a list, if there are several answers.
func (s *completionShape) Whole(choices []*completion.Choice, wholes []*wire.Whole) any {
	all := make([]any, len(choices))
	for i, c := range choices {
		st := s.states[c.Index]
		final := s.describeEnd(c, st)
		final["content"], final["tokens"] = wholes[i].Content.String(), []scheduler.Token{}
		if s.body.ReturnTokens {
			final["tokens"] = append([]scheduler.Token{}, st.tokens...)
		}
		if probs := s.wholeProbs(c, st); len(probs) > 0 {
			final["completion_probabilities"] = probs
		}
		if len(wholes[i].Traces) > 0 {
			final["trace"] = wholes[i].Traces
		}
		if told := wholes[i].Branches; !told.IsEmpty() {
			final["branches"], final["branches_left_out"] = told.Branches, told.LeftOut
		}
		all[i] = pickFields(final, s.fields)
	}
	if len(all) == 1 {
		return all[0]
	}
	return all
}

// wholeProbs are the probabilities of an answer's tokens, without as many as the stop string that
// ended it has.
func (s *completionShape) wholeProbs(c *completion.Choice, st *state) []tokenProb {
	if c.End.Stop == "" {
		return st.probs
	}
	word, err := s.request.Model.Encoder().Plain(context.Background(), c.End.Stop)
	if err != nil {
		return st.probs
	}
	return st.probs[:max(0, len(st.probs)-len(word))]
}

// Start implements wire.Shape.
func (*completionShape) Start(*completion.Choice) []any { return nil }

// Part implements wire.Shape.
func (*completionShape) Part(*completion.Choice, completion.Delta) []any { return nil }

// Last implements wire.Shape.
func (*completionShape) Last(*completion.Choice) []any { return nil }

// Closing implements wire.Shape.
func (*completionShape) Closing([]*completion.Choice) []any { return nil }

// Framing implements wire.Shape.
func (*completionShape) Framing() wire.Framing { return wire.Events }

// Describe is the shape of a completion for a request that came by OpenAI's API, which shows it
// beside its own.
func Describe(r *completion.Prompted, of *openai.AnswerFields) wire.Detailed {
	b := defaultBody()
	b.CommonFields, b.Stream, b.ReturnProgress, b.TimingsPerToken = r.Common, of.Stream, of.ReturnProgress, of.TimingsPerToken
	if r.MaxTokens > 0 {
		b.NPredict = &r.MaxTokens
	}
	if r.Logprobs > 0 {
		b.NProbs = &r.Logprobs
	}
	return newCompletionShape(r, &b)
}

// lowest is the least number that JSON can hold in 32 bits; it stands for the logarithm of nothing.
const lowest = -math.MaxFloat32

// tokenProb is a token with its probability, as a logarithm unless it is one after the sampler
// chain.
type tokenProb struct {
	ID         scheduler.Token `json:"id"`
	Token      string          `json:"token"`
	Bytes      []int           `json:"bytes"`
	Logprob    *float32        `json:"logprob,omitempty"`
	Prob       *float32        `json:"prob,omitempty"`
	TopLogprob []tokenProb     `json:"top_logprobs,omitempty"`
	TopProb    []tokenProb     `json:"top_probs,omitempty"`
}

func newTokenProb(t scheduler.Token, text string) tokenProb {
	bytes := make([]int, len(text))
	for i := range len(text) {
		bytes[i] = int(text[i])
	}
	return tokenProb{ID: t, Token: text, Bytes: bytes}
}

// probOf describes a token, which has sent a text, and what else was likely.
func probOf(r *completion.Prompted, t scheduler.Token, text string, d answer.Details) tokenProb {
	p := newTokenProb(t, text)
	if r.Candidates > 0 {
		p.Prob = new(float32)
		for _, s := range drawnFrom(d.Trace) {
			if s.Token == t {
				*p.Prob = s.P
			}
			if s.P > 0 && len(p.TopProb) < r.Candidates {
				one := newTokenProb(s.Token, r.Model.Engine.Shown(s.Token))
				one.Prob = &s.P
				p.TopProb = append(p.TopProb, one)
			}
		}
		return p
	}
	p.Logprob = logOf(d.Logprobs.Token)
	for _, c := range d.Logprobs.Top {
		one := newTokenProb(c.Token, r.Model.Engine.Shown(c.Token))
		one.Logprob = logOf(c.Logprob)
		p.TopLogprob = append(p.TopLogprob, one)
	}
	return p
}

// drawnFrom are the candidates among which the token was drawn: what the stage before the last has
// left.
func drawnFrom(t *chain.Trace) []chain.Score {
	switch {
	case t == nil || len(t.Stages) == 0:
		return nil
	case len(t.Stages) == 1: // a chain that could not be taken apart
		return t.Stages[0].After.Best
	}
	return t.Stages[len(t.Stages)-2].After.Best
}

func logOf(v float32) *float32 {
	v = max(v, lowest) // NaN stays, which no row has
	return &v
}

// describeEnd describes an answer at its end, but for its text.
func (s *completionShape) describeEnd(c *completion.Choice, st *state) map[string]any {
	prompt, err := s.request.Model.Engine.Detokenize(c.Request.TextTokens(c.Index / s.request.PerPrompt))
	if err != nil {
		prompt = "" // the tokens were computed, so they have a text
	}
	final := map[string]any{
		"index": c.Index, "id_slot": c.Start.Slot, "stop": true, "model": s.request.Model.Name,
		"tokens_predicted": c.End.Usage.Generated, "tokens_evaluated": c.End.Usage.Prompt, "tokens_cached": c.End.Usage.Context,
		"generation_settings": s.body.settings(c.Request.Prompted, c.Index), "prompt": prompt,
		"has_new_line": st.newLine, "truncated": c.End.Truncated, "stop_type": c.StopType(), "stopping_word": c.End.Stop,
		"timings": wire.TimingsOf(c.End),
	}
	if id := c.Request.RecordingID(); id != "" {
		final["recording"] = id
	}
	if signed := c.Receipt(); signed != "" {
		final["receipt"] = signed
	}
	if plugin := c.StoppedBy(); plugin != "" {
		final["stopped_by"] = plugin
	}
	if outputs := wire.OutputsOf(c); outputs != nil {
		final["plugin_outputs"] = outputs
	}
	return final
}

// pickFields takes fields out of an object; "a/b" is the field b of the object a. Those that are
// not there are left out. Without any it takes the whole object.
func pickFields(object map[string]any, fields []string) map[string]any {
	if len(fields) == 0 {
		return object
	}
	picked := map[string]any{}
	for _, field := range fields {
		var at any = object
		for name := range strings.SplitSeq(field, "/") {
			switch o := at.(type) {
			case map[string]any:
				at = o[name]
			case settings:
				at = o[name]
			default:
				at = nil
			}
		}
		if at != nil {
			picked[field] = at
		}
	}
	return picked
}

// noteShown notes that text was shown.
func (st *state) noteShown(text string) { st.newLine = st.newLine || strings.Contains(text, "\n") }

// timings measures an answer that has not ended.
func (st *state) timings(c *completion.Choice) *wire.Timings {
	t := wire.TimingsOf(scheduler.End{
		Usage:  scheduler.Usage{Prompt: c.Start.PromptTokens, Cached: c.Start.CachedTokens, Generated: len(st.tokens)},
		Timing: scheduler.Timing{Prefill: st.first.Sub(st.begun), Decode: max(st.last.Sub(st.first), time.Microsecond)},
	})
	return &t
}

// unfinishedBytes is the length of an unfinished but so far valid character at the end of text.
func unfinishedBytes(text []byte) int {
	for n := 1; n <= min(utf8.UTFMax-1, len(text)); n++ {
		if c := text[len(text)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(text[len(text)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
