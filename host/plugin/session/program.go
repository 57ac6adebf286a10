// SPDX-License-Identifier: MIT

package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/drive"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/scheduler/program"
)

// prompter plays a program: it compares each of its host calls with the recording, and answers it
// as was recorded.
type prompter struct {
	player *Player
	steps  []Call // the session's calls after open
	step   int
	deeds  []Deed // the step's calls of host functions that only programs have
	deed   int
	parted *Difference // the first call that differs from the recording; nil: none
	each   func(i int, d *Difference, got *Call) bool
	over   bool // each wants no more calls
}

// takeCall takes the outcome of a call, or of a step of a played program, from the recorder.
func (r *run) takeCall(c Call) bool {
	if r.prompter != nil {
		return r.prompter.compareStep(&c)
	}
	if r.made != nil && r.made.Call == CallRun { // the step of a program that runs on a model
		c.Outputs = append(r.made.Outputs, c.Outputs...)
		c.Call, c.Deeds = CallRun, nil
	}
	r.made = &c
	return true
}

// playProgram plays a program from a call of the session on.
func (r *run) playProgram(from int, each func(i int, d *Difference, got *Call) bool) {
	q := &prompter{player: r.player, steps: r.session.Calls[from:], each: func(i int, d *Difference, got *Call) bool {
		if d != nil {
			d.Call, d.Name, d.Position = from+i+1, r.session.Calls[from+i].Call, r.prompt
			for k := range i {
				d.Answered += len(r.session.Calls[from+k].Shows(r.session.Choice))
			}
			d.Position += d.Answered
		}
		return each(from+i, d, got)
	}}
	r.prompter = q
	q.expectStep()
	_ = r.stage.run(stage.Program{Stage: r.stage.Stage}.Replay) // its end is recorded
	if q.parted != nil && !q.over {
		q.each(q.step, q.parted, nil)
	}
}

// expectStep prepares the answers of a step.
func (q *prompter) expectStep() {
	want := &q.steps[q.step]
	q.player.answers.expect(want)
	q.player.answers.program = q
	q.deed, q.deeds = 0, nil
	for i := range want.Deeds {
		if d := want.Deeds[i]; d.isProgram() {
			q.deeds = append(q.deeds, d)
		}
	}
}

// answerDeed compares a host call that only programs make with the recording, and answers it.
func (q *prompter) answerDeed(g *plugin.Deed) error {
	if q.step == len(q.steps) {
		return guest.Violationf(plugin.CauseCancelled, "the session ends here")
	}
	want, came := &q.steps[q.step], newDeed(g, len(q.player.file.Vocabulary.Pieces))
	switch {
	case q.deed == len(q.deeds) && want.Fault != nil && machines[want.Fault.Kind]: // what the machine did
		return guest.Violationf(plugin.CauseCancelled, "the session ends here")
	case q.deed == len(q.deeds) || !q.deeds[q.deed].sameInput(&came):
		q.parted = q.differenceTo(q.player.show(&came))
		return guest.Violationf(plugin.CauseCancelled, "it goes on otherwise")
	}
	d := &q.deeds[q.deed]
	q.deed++
	if d.Failed {
		return replayFault(want)
	}
	d.replayTo(g, len(q.player.file.Vocabulary.Pieces))
	return nil
}

// differenceTo returns the difference of what came in place of the next deed.
func (q *prompter) differenceTo(came string) *Difference {
	recorded := "none"
	if q.deed < len(q.deeds) {
		recorded = q.player.show(&q.deeds[q.deed])
	}
	return &Difference{Field: fmt.Sprintf("deed %d", q.deed+1), Recorded: recorded, Came: came}
}

// replayFault returns the error that ends a call with its recorded fault.
func replayFault(c *Call) error {
	kind := "cancelled"
	if c.Fault != nil {
		kind = c.Fault.Kind
	}
	return guest.Violationf(plugin.CauseOf(kind), "as it was recorded")
}

// compareStep compares a step that is over. It returns false if no more steps are wanted.
func (q *prompter) compareStep(got *Call) bool {
	if q.over || q.parted != nil || q.step == len(q.steps) {
		return false
	}
	want := &q.steps[q.step]
	d := q.player.compare(want, got)
	switch {
	case d != nil:
	case want.Call != got.Call:
		d = &Difference{Field: "call", Recorded: want.Call, Came: got.Call}
	case q.deed < len(q.deeds):
		d = q.differenceTo("none")
	}
	if !q.each(q.step, d, got) || got.over() {
		q.over = true
		return false
	}
	if q.step++; q.step < len(q.steps) {
		q.expectStep()
	}
	return true
}

// Written is what a program has written, with the model of its session.
type Written struct {
	Shown    ByChoice[Token] `json:"shown,omitempty"`
	Logprobs ByChoice[Logit] `json:"logprobs,omitempty"`
	Adopted  []Adopted       `json:"adopted,omitempty"`
	Computed *int            `json:"computed,omitempty"` // rows that the program had computed
}

// Adopted is a choice that the host goes on with when the program has returned.
type Adopted struct {
	Choice int     `json:"choice,omitempty"`
	Tokens []Token `json:"tokens"` // of the branch
	From   int     `json:"from"`   // how many of the tokens are the prompt
}

// Template has the tokens that the model's template makes of messages, for a program.
type Template struct {
	Messages json.RawMessage `json:"messages"`
	Tokens   []Token         `json:"tokens"`
}

// ByChoice is a list for each choice of a request: in JSON a list of lists, or one list if there is
// one choice.
type ByChoice[T any] [][]T

// MarshalJSON implements json.Marshaler.
func (b ByChoice[T]) MarshalJSON() ([]byte, error) {
	if len(b) == 1 {
		return json.Marshal(append([]T{}, b[0]...))
	}
	return json.Marshal([][]T(b))
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *ByChoice[T]) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, (*[][]T)(b)) == nil && len(*b) > 0 {
		return nil
	}
	*b = make([][]T, 1)
	return json.Unmarshal(text, &(*b)[0])
}

// defaultContext is the context of a session with a model that does not say how long it is.
const defaultContext = 4096

// modelOf returns the made-up model of a session; nil: it has none.
func (f *File) modelOf(s *Session) drive.Table {
	runs := func(c Call) bool { return c.Call == CallRun }
	if s.Model == nil && slices.ContainsFunc(s.Calls, runs) {
		return f.Table
	}
	return s.Model
}

// checkModel checks the fields that only a session with a model has.
func (s *Session) checkModel(n int, modelled bool) error {
	q := s.Request
	most := func(field string, value, most int) error {
		if !modelled || value >= 0 && value <= most {
			return nil
		}
		return fmt.Errorf("request.%s: %d; with a model it is from 0 to %d", field, value, most)
	}
	err := cmp.Or(s.Model.Check("model", n), checkEach("templates", s.Templates, func(_ int, t *Template) error { return checkTokens("tokens", t.Tokens, n) }),
		most("max_tokens", q.MaxTokens, mostContext), most("context_size", q.ContextSize, mostContext), most("choices", q.Choices, mostChoices))
	context := cmp.Or(q.ContextSize, defaultContext)
	switch {
	case err != nil:
		return err
	case !modelled && s.Templates != nil:
		return errors.New("templates: they belong to a session with a model")
	case modelled && len(q.Prompt) >= context:
		return fmt.Errorf("request.prompt: %d tokens; a context of %d has room for less; raise request.context_size", len(q.Prompt), context)
	}
	for i := range s.Calls {
		switch c := &s.Calls[i]; {
		case c.Written != nil && (!modelled || c.Call != CallRun):
			return fmt.Errorf("calls[%d]: shown, logprobs, adopted and computed belong to the run of a session with a model", i)
		case modelled && c.Call != CallOpen && c.Call != CallRun:
			return fmt.Errorf("calls[%d].call: %q; a session with a model has open, and run", i, c.Call)
		case modelled && slices.ContainsFunc(c.Deeds, func(d Deed) bool { return d.isProgram() }):
			return fmt.Errorf("calls[%d].deeds: the model answers what the program does; leave them out, or the model", i)
		}
	}
	return nil
}

// Bounds of the request of a session with a model.
const (
	mostContext = 1 << 16
	mostChoices = 64
)

// runOnModel runs the program of a session with a model, and returns the run as a call.
func (r *run) runOnModel(ctx context.Context) (*Call, error) {
	a, request, n := r.player.answers, r.request(), len(r.player.file.Vocabulary.Pieces)
	prompt, err := drive.WithPictures(r.session.Request.Prompt)
	if err != nil {
		return nil, err
	}
	r.made = &Call{Call: CallRun}
	written, err := drive.Writing{
		Vocabulary: a,
		Row: func(tokens []Token) []float32 {
			if ctx.Err() != nil { // the program may ask for many more before it waits
				return make([]float32, n)
			}
			return r.model.Row(n, plugin.SeenTokens(tokens))
		},
		Waited: func([]program.Shown) bool { return ctx.Err() == nil },
	}.Run(&program.Program{Main: r.stage.Main, Branches: r.plugin.Branches(r.config)}, request, prompt)
	var fault *plugin.Fault
	var refusal *plugin.Refusal
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && !errors.As(err, &fault) && !errors.As(err, &refusal):
		return nil, err
	}
	r.made.Written = newWritten(written)
	return r.made, nil
}

func newWritten(from drive.Written) *Written {
	w := &Written{Computed: &from.Computed, Shown: make([][]Token, len(from.Shown)), Logprobs: make([][]Logit, len(from.Shown))}
	some := false
	for c, list := range from.Shown {
		for _, t := range list {
			l := Logit(math.NaN())
			if t.Logprob != nil {
				l, some = Logit(*t.Logprob), true
			}
			w.Shown[c], w.Logprobs[c] = append(w.Shown[c], t.Token), append(w.Logprobs[c], l)
		}
	}
	if !some {
		w.Logprobs = nil
	}
	for c, a := range from.Adopted {
		if a != nil {
			w.Adopted = append(w.Adopted, Adopted{c, plugin.SeenTokens(a.Tokens), a.From})
		}
	}
	return w
}

// renderMessages returns the tokens that the session's templates have for messages.
func (r *run) renderMessages(_ context.Context, messages []byte) ([]Token, error) {
	for _, t := range r.session.Templates {
		if sameJSON(decodeJSON(t.Messages), decodeJSON(messages)) {
			return t.Tokens, nil
		}
	}
	return nil, r.player.answers.reportUnanswered("it opens a branch with the messages %.200s, which templates does not have", messages)
}

// sameJSON reports whether two JSON values are the same except for the last digits of numbers,
// which for exponentials depend on the compiler.
func sameJSON(a, b any) bool {
	switch a := a.(type) {
	case float64:
		b, ok := b.(float64)
		return ok && sameNumber(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameJSON)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, sameJSON)
	}
	return a == b // null, a text, true or false
}

// sameNumber reports whether two numbers are the same except for the last digits. Whole numbers
// must be equal.
func sameNumber(a, b float64) bool {
	whole := a == math.Trunc(a) && b == math.Trunc(b)
	return a == b || math.IsNaN(a) && math.IsNaN(b) || !whole && math.Abs(a-b) <= 1e-6+1e-4*math.Abs(a)
}

func decodeJSON(text []byte) (v any) {
	if json.Unmarshal(text, &v) != nil {
		return nil
	}
	return v
}

func asJSON(v any) string {
	text, _ := json.Marshal(v) // what was read is JSON
	return string(text)
}
