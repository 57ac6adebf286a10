// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/piece"
)

// TextRequest is a request for text: one or several answers to one or several prompts. Before
// anything is checked, a dialect says who asks and for what; Service.New fills in the rest.
type TextRequest struct {
	Caller      Caller
	ModelName   string // "": the default model
	Pictures    bool   // the prompt has pictures, so a client that names no model means one that sees
	PromptField string // the field of the body that holds the prompt, for errors
	Common      *CommonFields
	Size        int // bytes of the body

	Model    *serving.Model
	Deadline time.Time // zero: none
	asked    time.Time // when it came
	Params   sampling.Params
	Plugins  serving.Plugins

	AdapterScales []serving.AdapterScale // none: those that count for all

	Prompts   [][]scheduler.Token
	Media     []media.Item // the pictures and sounds, in their order in the prompts; without pixels and samples once they are encoded
	Rendered  chat.Prompt  // of a conversation: what its template has made of it
	LeftOut   []string     // the fields of the body that are ignored, of which the client is told
	Relaxed   []string     // the places of JSON schemas that are not enforced, likewise, each with its field and the reason; known once it is submitted
	Choices   int          // answers to each prompt
	Stops     []string
	MaxTokens int // to generate; 0: as many as fit
	Logprobs  int // alternatives reported with each token; -1: none, and no probability of the token itself
	// PromptLogprobs has those of the prompt reported, too; NoAnswer has nothing generated.
	PromptLogprobs, NoAnswer bool
	// ConstraintField is the field of the body that Params.Constraint came from, for errors; "":
	// that of its name.
	ConstraintField string
	Overflow        scheduler.OverflowPolicy

	Shift      answer.Shift             // what leaves the context when it is full, if the model is served so that answers go on then
	Slot       *int                     // that computes the answers; nil: any
	Progress   bool                     // tell how far the prompt is computed
	Candidates int                      // how many of the most likely tokens are reported that each sampler left; 0: none
	Rules      func() []answer.StopRule // that may end an answer; nil: none

	conversation *chat.Conversation                           // that becomes the prompt; nil: it is there, or was not asked for
	mustCall     bool                                         // the answer is to call a tool
	preserved    []scheduler.Token                            // the control tokens that each answer shows
	begun        answer.Begun                                 // of a fork: the answer begins with these
	used         *usedAdapters                                // with what the last prompt is computed
	renew        func(sampling.Params) ([]chain.Stage, error) // Policy.Renew, once it is submitted
	recording    serving.Recording                            // nil: none
	arrived      func()                                       // see serving.Scheduler.Expect; nil: nobody waits
	parts        []media.Part                                 // that become Media
	letGo        func()                                       // of their memory; nil: there is none
	told         []media.Told                                 // what plugins learn about each of Media
	mediaOf      [][]int                                      // the numbers of those in each prompt, once they are encoded
	rows         [][]scheduler.Token                          // the tokens of each, likewise
	encoded      bool                                         // the prompts have the true tokens of Media; before, chat.MediaPlaceholder in their places
	pieces       []*piece.Piece                               // that these stand for
	encoding     int                                          // tokens of Media whose encoding was begun
	release      func()
}

// Release releases the request's model. It is called once, when the answers have ended or nobody
// waits for them.
func (r *TextRequest) Release() {
	r.hasArrived()
	r.Plugins.Release()
	if r.Media = nil; r.letGo != nil { // else what is let go of is not free
		r.letGo()
	}
	r.release()
}

// hasArrived has the scheduler wait for the request no longer.
func (r *TextRequest) hasArrived() {
	if r.arrived != nil {
		r.arrived()
	}
}

// Service carries out requests.
type Service struct {
	Models serving.Models
	Media  *media.Loader // of the pictures and sounds of requests; nil: no model takes any
	pool   *textPool
}

// NewService makes a service.
func NewService(m serving.Models) *Service { return &Service{Models: m, pool: newTextPool()} }

// New begins a request, of which a dialect says the first fields: it checks what all dialects
// share, finds the model, and has fill complete the request, with one choice and without
// log-probabilities unless that says otherwise. fill gives it a prompt, or a conversation that
// becomes one (Converse). fill runs in the text pool, so it may tokenise. The caller releases the
// request.
func (s *Service) New(ctx context.Context, asked TextRequest, fill func(context.Context, *TextRequest) error) (_ *TextRequest, err error) {
	if err := asked.Common.check(); err != nil {
		return nil, err
	}
	if err := asked.Caller.checkPriority(asked.Common.Priority); err != nil {
		return nil, err // before the server is asked how busy it is
	}
	asked.asked = time.Now()
	asked.Deadline = asked.Common.deadline(asked.asked)
	if asked.Pictures {
		asked.ModelName = s.Models.Seeing(asked.ModelName)
	}
	m, release, err := s.use(ctx, asked.ModelName, asked.Deadline)
	if err != nil {
		return nil, err
	}
	asked.Model, asked.release = m, release
	if m.EmbedsOnly {
		release()
		return nil, refusal.Unsupported("model", "the model %s makes embeddings and generates no text; name another", m.Name)
	}
	if err := asked.record(); err != nil {
		release()
		return nil, err
	}
	asked.Choices, asked.Logprobs, asked.MaxTokens, asked.Shift, asked.arrived = 1, -1, m.MaxTokens, answer.Shift{Keep: m.ShiftKeep}, m.Scheduler.Expect()
	r, err := inPool(ctx, s.pool, asked.Caller, asked.Deadline, asked.Size, func(ctx context.Context) (*TextRequest, error) {
		r := asked // who waits may have left, and gives up what was asked
		return &r, r.complete(ctx, fill)
	}, func(r *TextRequest) { r.Plugins.Release() })
	if err != nil {
		asked.arrived()
		asked.release() // the work may go on for a moment: a model can be closed under it
		return nil, err
	}
	err = s.converse(ctx, r)
	if err == nil {
		err = s.loadMedia(ctx, r)
	}
	if err != nil {
		r.Release()
		return nil, err
	}
	return r, nil
}

// use finds a model, which may have to be loaded, until a deadline; zero: none.
func (s *Service) use(ctx context.Context, name string, deadline time.Time) (*serving.Model, func(), error) {
	if deadline.IsZero() {
		return s.Models.Use(ctx, name)
	}
	ctx, cancel := context.WithDeadlineCause(ctx, deadline, timedOut("the model was not loaded within timeout_ms"))
	defer cancel()
	return s.Models.Use(ctx, name)
}

// complete reads what all dialects share, and has fill do the rest.
func (r *TextRequest) complete(ctx context.Context, fill func(context.Context, *TextRequest) error) error {
	if err := r.takeCommonFields(ctx); err != nil {
		return err
	}
	filled := false
	defer func() {
		if !filled { // nor after a panic does anybody use them
			r.Plugins.Release()
		}
	}()
	if err := fill(ctx, r); err != nil {
		return err
	}
	if err := r.Model.Media.Check(r.parts, r.Model.Name); err != nil {
		return err
	}
	if r.conversation == nil || !r.Plugins.Renders() {
		if err := r.takePrompt(ctx); err != nil {
			return err
		}
	}
	filled = true
	return nil
}

// takeCommonFields reads the sampling parameters and the plugins.
func (r *TextRequest) takeCommonFields(ctx context.Context) (err error) {
	base := r.Model.Sampling.Params()
	base.Trace = r.Common.Trace
	if t := r.Model.Thinking; t != nil {
		base.Thinking = *t
	}
	base.Schemas = r.Model.Schemas
	if r.Params, err = r.Common.Params(base, tokens{ctx, r.Model}); err != nil {
		return err
	}
	uses, err := readUses(r.Common.Plugins)
	if err != nil {
		return err
	}
	if r.AdapterScales, err = ReadAdapterScales(r.Common.Lora, "lora"); err != nil {
		return err
	}
	r.Plugins, err = pluginsOf(r.Model, r.Caller.ID, uses, r.Params.Chain)
	return err
}

// Work does work on a text of size bytes in the text pool for a caller, for requests that are not
// for an answer. It ends with ctx, of which the work is told.
func Work[T any](ctx context.Context, s *Service, caller Caller, size int, work func(context.Context) (T, error)) (T, error) {
	return inPool(ctx, s.pool, caller, time.Time{}, size, work, nil)
}
