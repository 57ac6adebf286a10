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

// prompter plays a program: it answers what that does as was recorded, and compares it.
type prompter struct {
	player *Player
	steps  []Call // of the session, after it was opened
	step   int
	deeds  []Deed // of the step: what only programs do
	deed   int
	parted *Difference // what the program has done differently; nil: nothing
	each   func(i int, d *Difference, got *Call) bool
	over   bool // no more is wanted
}

// taken takes what came of a call: that of open, or a step of what is played.
func (r *run) taken(c Call) bool {
	if r.prompter != nil {
		return r.prompter.taken(&c)
	}
	if r.made != nil && r.made.Call == CallRun { // the step of a program that runs on a model
		c.Outputs = append(r.made.Outputs, c.Outputs...)
		c.Call, c.Deeds = CallRun, nil
	}
	r.made = &c
	return true
}

// play plays a program from call from of the session on.
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
	q.begin()
	_ = r.stage.run(stage.Program{Stage: r.stage.Stage}.Replay) // what it ends with is written down
	if q.parted != nil && !q.over {
		q.each(q.step, q.parted, nil)
	}
}

// begin has the answers of a step ready.
func (q *prompter) begin() {
	want := &q.steps[q.step]
	q.player.answers.expect(want)
	q.player.answers.program = q
	q.deed, q.deeds = 0, nil
	for i := range want.Deeds {
		if d := want.Deeds[i]; d.ofProgram() {
			q.deeds = append(q.deeds, d)
		}
	}
}

// answer answers what only programs do.
func (q *prompter) answer(g *plugin.Deed) error {
	if q.step == len(q.steps) {
		return guest.Violationf(plugin.CauseCancelled, "the session ends here")
	}
	want, came := &q.steps[q.step], deedOf(g, len(q.player.file.Vocabulary.Pieces))
	switch {
	case q.deed == len(q.deeds) && want.Fault != nil && machines[want.Fault.Kind]: // what the machine did
		return guest.Violationf(plugin.CauseCancelled, "the session ends here")
	case q.deed == len(q.deeds) || !q.deeds[q.deed].same(&came):
		q.parted = q.differ(q.player.show(&came))
		return guest.Violationf(plugin.CauseCancelled, "it goes on otherwise")
	}
	d := &q.deeds[q.deed]
	q.deed++
	if d.Failed {
		return failed(want)
	}
	d.answer(g, len(q.player.file.Vocabulary.Pieces))
	return nil
}

// differ is what came in the place of the next deed.
func (q *prompter) differ(came string) *Difference {
	recorded := "none"
	if q.deed < len(q.deeds) {
		recorded = q.player.show(&q.deeds[q.deed])
	}
	return &Difference{Field: fmt.Sprintf("deed %d", q.deed+1), Recorded: recorded, Came: came}
}

// failed ends a call as it was recorded.
func failed(c *Call) error {
	kind := "cancelled"
	if c.Fault != nil {
		kind = c.Fault.Kind
	}
	return guest.Violationf(plugin.CauseOf(kind), "as it was recorded")
}

// taken compares a step that is over; false: no more is wanted.
func (q *prompter) taken(got *Call) bool {
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
		d = q.differ("none")
	}
	if !q.each(q.step, d, got) || got.over() {
		q.over = true
		return false
	}
	if q.step++; q.step < len(q.steps) {
		q.begin()
	}
	return true
}

// Written is what a program has written, with the model of its session.
type Written struct {
	Shown    ByChoice[Token] `json:"shown,omitempty"`
	Logprobs ByChoice[Logit] `json:"logprobs,omitempty"`
	Adopted  []Adopted       `json:"adopted,omitempty"`
	Computed *int            `json:"computed,omitempty"` // rows that the model was asked for
}

// Adopted is a choice that the host goes on with when the program has returned.
type Adopted struct {
	Choice int     `json:"choice,omitempty"`
	Tokens []Token `json:"tokens"` // of the branch
	From   int     `json:"from"`   // so many of them are the prompt
}

// Template is what the model's template makes of messages, for a program.
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

// modelOf is the made-up model of a session; nil: it has none.
func (f *File) modelOf(s *Session) drive.Table {
	runs := func(c Call) bool { return c.Call == CallRun }
	if s.Model == nil && slices.ContainsFunc(s.Calls, runs) {
		return f.Table
	}
	return s.Model
}

// checkModel checks what a session has with a model, and that it has nothing of it without one.
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
		case modelled && slices.ContainsFunc(c.Deeds, func(d Deed) bool { return d.ofProgram() }):
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

// write has the program of a session with a model write its answers, and returns the call of that.
func (r *run) write(ctx context.Context) (*Call, error) {
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
	r.made.Written = writtenOf(written)
	return r.made, nil
}

func writtenOf(from drive.Written) *Written {
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

// template is what a program gets for messages.
func (r *run) template(_ context.Context, messages []byte) ([]Token, error) {
	for _, t := range r.session.Templates {
		if near(decoded(t.Messages), decoded(messages)) {
			return t.Tokens, nil
		}
	}
	return nil, r.player.answers.unanswered("it opens a branch with the messages %.200s, which templates does not have", messages)
}

// near reports whether two JSON values are the same, but for the last digits of numbers: those of
// exponentials are the compiler's.
func near(a, b any) bool {
	switch a := a.(type) {
	case float64:
		b, ok := b.(float64)
		return ok && nearly(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, near)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, near)
	}
	return a == b // null, a text, true or false
}

// nearly reports whether two numbers are the same, but for the last digits of one that is not
// whole.
func nearly(a, b float64) bool {
	whole := a == math.Trunc(a) && b == math.Trunc(b)
	return a == b || math.IsNaN(a) && math.IsNaN(b) || !whole && math.Abs(a-b) <= 1e-6+1e-4*math.Abs(a)
}

func decoded(text []byte) (v any) {
	if json.Unmarshal(text, &v) != nil {
		return nil
	}
	return v
}

func asJSON(v any) string {
	text, _ := json.Marshal(v) // what was read is JSON
	return string(text)
}
