// SPDX-License-Identifier: MIT

package session

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
)

// Recorder is a plugin's stage, or a program, that records its calls. Of a program it records a
// step for each wait, and the run at its end.
type Recorder struct {
	*stage.Stage
	of        chain.Stage // the stage, or the program
	isProgram bool

	notes   notes
	logprob float32 // of the next token to be accepted
	history []Token
	opened  bool
	begin   func(prompt []Token)
}

var (
	_ chain.Stage    = (*Recorder)(nil)
	_ chain.Preparer = (*Recorder)(nil)
)

// Record begins to record a stage before its first call. begin is told the prompt's tokens. take
// gets each call when it is over, and returns false to get no more. Both are called one after the
// other, on the goroutines that the stage is called on.
func Record(s *stage.Stage, begin func(prompt []Token), take func(Call) bool) *Recorder {
	p, q := s.Plugin()
	r := &Recorder{Stage: s, of: s, isProgram: p.IsProgram(), logprob: float32(math.NaN()), begin: begin,
		notes: notes{view: p.Manifest.View, vocabulary: p.Module.Env.Vocabulary.Size(), take: take}}
	if r.isProgram {
		r.of = stage.Program{Stage: s}
	}
	if q.Sampling != nil {
		r.notes.sampling = string(q.Sampling())
	}
	s.Watch(&r.notes)
	return r
}

// Main implements program.Program.
func (r *Recorder) Main(run *program.Run) error {
	return r.run(func() error { return stage.Program{Stage: r.Stage}.Main(run) })
}

func (r *Recorder) run(main func() error) error { return r.record(Call{Call: CallStep}, false, main) }

// record makes and records a call, and stops watching after the last one. A call for which the
// plugin has no export is recorded only with always.
func (r *Recorder) record(c Call, always bool, make func() error) error {
	r.notes.begin(c)
	err := make()
	r.notes.refused(err)
	if open := r.notes.call; open != nil && open.Call == CallOpen {
		open.Declined = r.Declined()
	}
	if r.notes.end(always); r.notes.over {
		r.Watch(nil)
	}
	return err
}

// Traits implements chain.Stage: those of the plugin, with its refusals recorded.
func (r *Recorder) Traits() chain.Traits {
	t := r.of.Traits()
	if !r.isProgram {
		t.Refuse = func(act chain.Act, why error) error {
			return r.record(Call{Call: CallRefuse}, false, func() error { return r.Stage.Refuse(act, why) })
		}
	}
	if tell := t.Logprob; tell != nil {
		t.Logprob = func(l float32) {
			r.logprob = l
			tell(l)
		}
	}
	return t
}

// Reset implements chain.Stage.
func (r *Recorder) Reset(history []chain.Token, prompt int) error {
	if r.isProgram && r.opened {
		return r.of.Reset(history, prompt)
	}
	history = plugin.SeenTokens(history)
	call, keep := Call{Call: CallRewind}, 0
	if r.opened {
		for keep < min(len(r.history), len(history)) && r.history[keep] == history[keep] {
			keep++
		}
		call.Keep = &keep
	} else {
		r.opened, call.Call, keep = true, CallOpen, prompt
		r.begin(append([]Token(nil), history[:prompt]...))
	}
	call.Tokens = append([]Token(nil), history[keep:]...)
	if !r.notes.over {
		r.history = append(r.history[:0], history...)
	}
	return r.record(call, true, func() error { return r.of.Reset(history, prompt) })
}

// Prepare implements chain.Preparer.
func (r *Recorder) Prepare() (p chain.Prepared, err error) {
	err = r.record(Call{Call: CallPrepare}, false, func() (err error) {
		p, err = r.Stage.Prepare()
		return err
	})
	return p, err
}

// Apply implements chain.Stage.
func (r *Recorder) Apply(v *chain.View) error {
	return r.record(Call{Call: CallSample}, false, func() error { return r.of.Apply(v) })
}

// Accept implements chain.Stage.
func (r *Recorder) Accept(t chain.Token) (effect chain.Effect, err error) {
	if r.isProgram {
		return r.of.Accept(t)
	}
	call := Call{Call: CallAccept, Token: &t}
	if l := Logit(r.logprob); l == l { // it is known
		call.Logprob = &l
	}
	err = r.record(call, true, func() (err error) {
		effect, err = r.Stage.Accept(t)
		return err
	})
	if !r.notes.over {
		r.history = append(r.history, t)
		r.history = r.history[:len(r.history)-int(effect.Backtrack)]
	}
	return effect, err
}

// Rule returns the plugin as a stop rule, or nil if it is none.
func (r *Recorder) Rule() answer.StopRule {
	inner := r.Stage.Rule()
	if inner == nil {
		return nil
	}
	return &recordedRule{inner, r}
}

type recordedRule struct {
	answer.StopRule
	of *Recorder
}

// Check implements answer.StopRule.
func (u *recordedRule) Check(t chain.Token, text string) (v answer.Verdict, err error) {
	err = u.of.record(Call{Call: CallStop}, false, func() (err error) {
		v, err = u.StopRule.Check(t, text)
		return err
	})
	return v, err
}

// Name implements answer.NamedRule.
func (u *recordedRule) Name() string { return u.StopRule.(answer.NamedRule).Name() } // a stage's rule is one

// Rewind implements answer.RewindRule.
func (u *recordedRule) Rewind(tokens, bytes int) {
	_ = u.of.record(Call{Call: CallStopRewind, Count: tokens, Bytes: bytes}, true, func() error {
		u.StopRule.(answer.RewindRule).Rewind(tokens, bytes) // a stage's rule is one
		return nil
	})
}

// Filter returns the plugin as a filter of the shown text, or nil if it is none.
func (r *Recorder) Filter() answer.Filter {
	inner := r.Stage.Filter()
	if inner == nil {
		return nil
	}
	return &recordedFilter{inner, r}
}

type recordedFilter struct {
	inner answer.Filter
	of    *Recorder
}

// Filter implements answer.Filter.
func (u *recordedFilter) Filter(text string, last bool) (shown string, err error) {
	call := Call{Call: CallFilter, Text: newText(text), Last: last}
	err = u.of.record(call, false, func() (err error) {
		if shown, err = u.inner.Filter(text, last); err == nil && u.of.notes.call != nil {
			u.of.notes.call.Filtered = (*Text)(&shown)
		}
		return err
	})
	return shown, err
}

// Unfilter implements answer.Filter.
func (u *recordedFilter) Unfilter(calls int) {
	_ = u.of.record(Call{Call: CallUnfilter, Count: calls}, true, func() error {
		u.inner.Unfilter(calls)
		return nil
	})
}

// New begins the session of a plugin in a request. Prompt or messages, and calls, come later.
func New(p *load.Plugin, q plugin.RequestInfo) Session {
	s := Session{Plugin: Plugin{Name: p.Name, SHA256: p.SHA256},
		Request: RequestFacts{Config: q.Config, MaxTokens: q.MaxTokens, ContextSize: q.ContextSize, Seed: q.Seed, Place: q.Index, Choice: q.Choice, Choices: q.Choices, Media: q.Media, Messages: q.Messages}}
	if !q.Time.IsZero() {
		s.Request.Time = q.Time.UnixMilli()
	}
	if q.Sampling != nil {
		s.Request.Sampling = q.Sampling()
	}
	s.Warm, s.Plan = deedsOf(p, p.Module.Did), deedsOf(p, p.Module.Planned)
	return s
}

// deedsOf records the host calls that a plugin made before there was a request.
func deedsOf(p *load.Plugin, did []plugin.Deed) (list []Deed) {
	for i := range did {
		list = append(list, newDeed(&did[i], p.Module.Env.Vocabulary.Size()))
	}
	return list
}

// Render has a plugin render a conversation (CallRender), as stage.Render does, or rewrite it
// (CallMessages), as stage.RewriteMessages does. It returns the result and the recorded call.
func Render(ctx context.Context, p *load.Plugin, call string, messages []byte, r plugin.RequestInfo, check func([]byte) error) (made string, done *Call, err error) {
	n := &notes{vocabulary: p.Module.Env.Vocabulary.Size(), take: func(c Call) bool { done = &c; return true }}
	n.begin(Call{Call: call})
	var rewritten []byte
	if call == CallRender {
		made, err = stage.RenderWatched(ctx, p, messages, r, n)
	} else {
		rewritten, err = stage.RewriteMessages(ctx, p, messages, r, n, check)
	}
	if n.refused(err); n.call != nil && err == nil {
		if call == CallRender {
			n.call.Prompt = newText(made)
		}
		n.call.Messages = rewritten
	}
	n.end(true)
	return made, done, err
}

// notes is a guest.Watcher that records a guest's calls.
type notes struct {
	view       load.View
	vocabulary int    // tokens
	sampling   string // the parameters when the answer began, as JSON
	take       func(Call) bool

	call *Call // the call in progress; nil: none that is recorded
	made bool  // the guest was called
	over bool  // nothing more is recorded
	step int   // bytes of the deeds of a program's step
	held int   // bytes of all deeds of the call
}

// begin begins a call.
func (n *notes) begin(c Call) {
	n.call, n.made, n.held = &c, false, 0
}

// end records the call. A call that was not made is recorded only with always.
func (n *notes) end(always bool) {
	c := n.call
	n.call = nil
	if c == nil || n.over || !n.made && !always && c.Fault == nil {
		return
	}
	if !n.take(*c) || c.over() {
		n.over = true
	}
}

// refused records the refusal that a call ended with, if any.
func (n *notes) refused(err error) {
	var refusal *plugin.Refusal
	if errors.As(err, &refusal) && n.call != nil {
		n.call.Refusal = &refusal.Message
	}
}

// Calling implements guest.Watcher.
func (n *notes) Calling(e guest.Export, a, b int32, buffers *guest.Buffers) {
	c := n.call
	if c == nil {
		return
	}
	switch {
	case e == guest.Sample && n.view == load.ViewCandidates:
		ids, logits := buffers.Candidates()
		c.IDs, c.Logits = slices.Clone(ids[:a]), slices.Clone(logits[:a])
	case e == guest.Sample && n.view == load.ViewLogits:
		c.Logits = slices.Clone(buffers.Logits()[:n.vocabulary])
	case e == guest.Stop:
		if n.made { // text that is longer than the guest's buffer comes in several calls
			n.end(true)
			n.begin(Call{Call: CallStop})
			c = n.call
		}
		text := Text(buffers.Text()[:b])
		c.Token, c.Text = &a, &text
	}
	n.made = true
}

// Answered implements guest.Watcher.
func (n *notes) Answered(e guest.Export, answer int32, buffers *guest.Buffers) {
	c := n.call
	if c != nil && e == guest.Run {
		c.Call = CallRun
	}
	if c == nil || exportOf[c.Call] != e {
		return
	}
	c.Answer = &answer
	switch {
	case e == guest.Prepare:
		n.prepared(c, answer, buffers)
	case e == guest.Accept && answer == abi.AcceptSplice && buffers.Bound(abi.BufferSplice):
		c.Splice = spliceOf(buffers)
	case e == guest.Sample && answer == abi.SampleBiased && buffers.Bound(abi.BufferBias):
		c.Bias = biasesOf(buffers.Bias())
	case e == guest.Sample && answer == abi.SampleEdited && n.view == load.ViewCandidates:
		ids, logits := buffers.Candidates()
		c.Left = &Left{IDs: slices.Clone(ids[:len(c.IDs)]), Logits: slices.Clone(logits[:len(c.IDs)])}
	case e == guest.Sample && answer == abi.SampleEdited && n.view == load.ViewLogits:
		c.Left = leftRow(buffers.Logits()[:n.vocabulary])
	}
}

// exportOf maps the calls whose answer is recorded to their exports.
var exportOf = map[string]guest.Export{
	CallPrepare: guest.Prepare, CallSample: guest.Sample, CallAccept: guest.Accept, CallStop: guest.Stop, CallRun: guest.Run,
}

// prepared records the buffers that prepare says it filled.
func (n *notes) prepared(c *Call, bits int32, b *guest.Buffers) {
	if bits&abi.PrepareMask != 0 && b.Bound(abi.BufferMask) {
		c.Mask = NewMask(b.Mask(n.vocabulary), n.vocabulary)
	}
	if bits&abi.PrepareBias != 0 && b.Bound(abi.BufferBias) {
		c.Bias = biasesOf(b.Bias())
	}
	if bits&abi.PrepareForce != 0 && b.Bound(abi.BufferSplice) {
		c.Force = spliceOf(b).Tokens
	}
}

// biasesOf reads a bias buffer, as far as it has entries.
func biasesOf(b []byte) []Bias {
	count := min(int64(binary.LittleEndian.Uint32(b)), int64(len(b)-4)/8)
	list := make([]Bias, count)
	_, _ = binary.Decode(b[4:], binary.LittleEndian, list) // it is long enough
	return list
}

// spliceOf reads a splice buffer, as far as it has entries.
func spliceOf(b *guest.Buffers) *Splice {
	w := b.Splice()
	s := &Splice{Backtrack: int(w[0])}
	for _, t := range w[2 : 2+min(int(w[1]), len(w)-2)] {
		s.Tokens = append(s.Tokens, int32(t))
	}
	return s
}

// shownBest is how many of a row's best entries are recorded beside its digest.
const shownBest = 16

// leftRow records a row: all of it if a person could read it, otherwise its digest.
func leftRow(row Logits) *Left {
	if len(row) <= readable {
		return &Left{Logits: slices.Clone(row)}
	}
	l := &Left{SHA256: row.digest()}
	for range shownBest {
		best, highest := int32(0), float32(math.Inf(-1))
		for i, x := range row {
			if x > highest && !slices.Contains(l.IDs, int32(i)) {
				best, highest = int32(i), x
			}
		}
		l.IDs, l.Logits = append(l.IDs, best), append(l.Logits, highest)
	}
	return l
}

// mostStep bounds the deeds of a program's step, as stepSize counts them, before another begins.
const mostStep = 64 << 10

// mostHeld bounds the deeds of one call, in bytes. A call can ask for very little very often, and a
// recording counts its bytes only when it is over.
const mostHeld = 32 << 20

// Did implements guest.Watcher.
func (n *notes) Did(g *plugin.Deed) {
	c := n.call
	switch {
	case c == nil || n.over:
		return
	case g.Import == abi.ImportOutput:
		var compact bytes.Buffer
		if g.Answer == abi.OutputOk && json.Compact(&compact, []byte(g.Text)) == nil {
			c.Outputs = append(c.Outputs, compact.Bytes())
		}
		return
	case g.Import == abi.ImportRequest && sampling(g.Gave.Text) == n.sampling:
		return
	}
	d := newDeed(g, n.vocabulary)
	if n.held += sizeOf(reflect.ValueOf(&d)); n.held > mostHeld {
		c.Endless = true
		return
	}
	c.Deeds = append(c.Deeds, d)
	if c.Call != CallStep || d.Failed {
		return
	}
	if d.isProgram() { // calls that all plugins have do not end a step
		n.step += d.stepSize()
	}
	if d.Do == abi.ImportBranchesWait || n.step > mostStep {
		n.end(true)
		n.step = 0
		n.begin(Call{Call: CallStep})
		n.made = true
	}
}

// sampling returns the sampling parameters in the result of the import request.
func sampling(told string) string {
	var parts struct {
		Sampling json.RawMessage `json:"sampling"`
	}
	if json.Unmarshal([]byte(told), &parts) != nil {
		return "{}"
	}
	return string(parts.Sampling)
}

// faultOf records a fault, with what the plugin said, since a recording is for the request's own
// client.
func faultOf(f *plugin.Fault) *Fault {
	detail := f.Detail
	if f.Said != "" {
		detail = strings.TrimPrefix(detail+": "+f.Said, ": ")
	}
	return &Fault{Export: f.Export, Kind: f.Kind(), Detail: detail}
}

// Failed implements guest.Watcher.
func (n *notes) Failed(f *plugin.Fault) {
	switch {
	case n.call == nil:
	case errors.Is(f, plugin.CauseCancelled): // the request ended in the middle of it
		n.call, n.over = nil, true
	default:
		if n.call.Call == CallStep {
			n.call.Call = CallRun
		}
		n.call.Fault = faultOf(f)
	}
}
