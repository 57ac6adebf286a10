// SPDX-License-Identifier: MIT

// Package completion carries out requests for text: it finds their model, makes their prompts and
// sampler chains, and reads their answers. It knows no dialect: the packages below host/api turn
// what clients send into an [Asked], and its answers into what they expect.
//
// A request has three stages, each a type that one function makes of the one before: what is
// [Asked], what its prompts have become ([Prompted], by [Service.Prompt]), and what is computed
// ([Submitted], by [Service.Submit]).
//
// # Why are the engine and the scheduler behind interfaces of host/serving?
//
// Tests can then script them, and no test of HTTP needs a model, a C compiler or wazero. Adapters,
// conversations, measures and plugins are behind interfaces for the same reason: what implements
// them depends on the binding or on the sandbox.
//
// # Why does steering count a sixteenth of a request?
//
// set builds a sampler chain, inject and rewind have some tokens computed, attach sends an answer
// again. Each is far less than an answer and far more than nothing. A client that limits its own
// pace never notices; one that sends them without end gets 16 for each request that it could have
// had. pause, resume and cancel reduce the load, and a client that has used up its requests must be
// able to send them.
//
// # Why is a picture encoded once there is room in the queue, and not before?
//
// Encoding is what a picture costs most. A request that the queue has no room for, or whose prompt
// is too long, should cost nothing, and the queue's bound is then that of encoding too. Both are
// known before: a projector tells by the sides of a picture how many tokens it takes, so the prompt
// has as many places for it, and all that counts tokens counts these. A request that only counts
// never comes to the encoder.
//
// # Why is a prompt that ends on a picture refused?
//
// The model says what comes next after a row of logits, and the passes over embeddings have none.
// A token put behind the picture would be a text that the client has not written, and nobody can
// tell which. llama-server ends there.
package completion

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/penstock/penstock/host/integer"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

// Asked is a request for text as a client sends it: one or several answers to one or several
// prompts. A dialect makes it of a body.
type Asked struct {
	Caller      Caller
	ModelName   string // "": the default model
	PromptField string // the field of the body that holds the prompt, for errors
	Size        int    // bytes of the body
	Common      CommonFields
	Source      Source // what the prompts are made of
	Thinking    string // how the body asks that the model thinks, which not every model can; "": it does not
	Answers
}

// Answers say how the answers are to be.
type Answers struct {
	PerPrompt  int    // answers to each prompt
	OnePerSlot string // the field that asks for PerPrompt, if there may be as many as the model has slots; "": the dialect bounds them
	Limit      *int   // tokens to generate, 0: as many as fit; nil: as the server is configured
	Stops      []string
	Lines      LineRule // ends an answer by its lines and its time
	Format     Format   // what an answer must look like, beside what the common fields say

	Logprobs       int    // alternatives reported with each token, or chain.AllTokens; -1: none, and no probability of the token itself
	LogprobsField  string // that asks for them; "": logprobs
	PromptLogprobs bool   // those of the prompt are reported, too
	ReturnTokens   bool   // the answer's tokens are reported
	NoAnswer       bool   // nothing is generated
	Logits         Logits // changes the rows of the answers before anything else does; nil: nothing
	StateLayer     *int   // whose hidden states are reported, from 1; 0: the last one's, after the norm; nil: none
	Candidates     int    // how many of the most likely tokens are reported that each sampler left; 0: none
	Progress       bool   // tell how far the prompt is computed

	Slot    *int // that computes the answers; nil: any
	Keep    *int // how many of the first tokens stay when others leave a full context; nil: as the server is configured
	Discard int  // how many leave it then; 0: half
}

// OneAnswer is one answer, of which nothing is told besides its text.
func OneAnswer() Answers { return Answers{PerPrompt: 1, Logprobs: -1} }

// Format is what an answer must look like by fields of a dialect: one of JSONSchema, Grammar and
// Regex.
type Format struct {
	Field string // that asks for it; "": none does
	In    string // the field within that one which has the schema, the grammar or the expression, for errors

	JSONSchema json.RawMessage
	Grammar    string
	Regex      string
	Strict     *bool // whether the schema is enforced where it leaves things open; nil: as the server is configured
}

// AnyObject is the schema of every JSON object. An empty schema would be no format to a chat
// template.
var AnyObject = json.RawMessage(`{"type":"object"}`)

// Caller is who sends a request, as far as it matters to the answer.
type Caller struct {
	ID               string // tells clients apart: by their keys if there are any, else by their addresses
	Key              string // the name of its key; "": it has sent none that the server knows
	Route            string // by which it asks
	Keyed            bool   // by its key
	CacheSalt        string // of the prompt cache; "" where all share it
	Administers      bool   // it may change what all share: the key is the admin's, or the server has no keys
	MayRaisePriority bool   // the key is one of those that may ask for more than the ordinary priority

	// TakeScript lets a script of the caller in, whose source the field has; nil: the caller may
	// bring none.
	TakeScript func(source, field string) error

	MayBringModules bool // it may upload modules, and its requests may use them

	Files media.Files // that it has sent by themselves; nil: it cannot

	Sent Sent
}

// Sent is what a caller has sent, for receipts.
type Sent struct {
	Route  string // the method and the path
	SHA256 string // of the body, as it was received
}

// Owns reports whether what belongs to a client is the caller's. Without keys nobody can say: a
// client that comes back may have another address.
func (c Caller) Owns(owner Caller) bool { return !owner.Keyed || c.ID == owner.ID }

// asker is what the plugins of a request depend on.
func (c Caller) asker() serving.Asker { return serving.Asker{Client: c.ID, Key: c.Key, Route: c.Route} }

// CommonFields are the fields that a body of any dialect may have beside the dialect's own.
type CommonFields struct {
	sampling.ParamFields
	Guessing
	readyFields

	CachePrompt bool            `json:"cache_prompt"`
	Priority    int             `json:"priority"`
	TimeoutMS   *int64          `json:"timeout_ms"`
	Plugins     json.RawMessage `json:"plugins"`
	Trace       bool            `json:"trace"`
	Record      bool            `json:"record"`
	Receipt     bool            `json:"receipt"`
	Lora        json.RawMessage `json:"lora"`
}

// The bounds of what one request may ask for.
const (
	maxPriority = 100
	maxTimeout  = 24 * time.Hour
)

// DefaultCommonFields are what a body begins with.
func DefaultCommonFields() CommonFields {
	return CommonFields{ParamFields: sampling.UnsetFields(), CachePrompt: true}
}

// check refuses what this server does not do and what is out of range, besides the sampling
// parameters.
func (x *CommonFields) check() error {
	if x.Priority < -maxPriority || x.Priority > maxPriority {
		return refusal.Invalid("priority", "priority is %d; it must be from %d to %d", x.Priority, -maxPriority, maxPriority)
	}
	if err := x.Guessing.check(); err != nil {
		return err
	}
	if t := x.TimeoutMS; t != nil && (*t < 1 || *t > maxTimeout.Milliseconds()) {
		return refusal.Invalid("timeout_ms", "timeout_ms is %d; it must be from 1 to %d", *t, maxTimeout.Milliseconds())
	}
	return nil
}

func (x *CommonFields) deadline(now time.Time) time.Time {
	if x.TimeoutMS == nil {
		return time.Time{}
	}
	return now.Add(time.Duration(*x.TimeoutMS) * time.Millisecond)
}

// check refuses what can be refused before it is known how busy the server is.
func (a *Asked) check() error {
	if err := a.Common.check(); err != nil {
		return err
	}
	priority := a.Common.Priority
	if priority <= 0 || a.Caller.MayRaisePriority {
		return nil
	}
	return &refusal.Error{Kind: refusal.KindForbidden, Code: "priority_not_allowed", Field: "priority",
		Message: fmt.Sprintf("priority is %d; it may be at most 0 but for the keys that server.priority_keys lists", priority)}
}

// ScriptsForbidden refuses a script of a caller who may bring none.
func ScriptsForbidden(field string) error {
	return &refusal.Error{Kind: refusal.KindForbidden, Code: "scripts_not_allowed", Field: field,
		Message: field + " is a script, and whoever asks may bring none: the server's operator can set plugins.scripts to on, or list the key in plugins.script_keys"}
}

// ModulesForbidden refuses a module of a caller who may bring none; field is "" where there is no
// request that uses it.
func ModulesForbidden(field string) error {
	return &refusal.Error{Kind: refusal.KindForbidden, Code: "modules_not_allowed", Field: field,
		Message: "whoever asks may bring no modules: the server's operator can set plugins.modules to on, or to keys with the key in plugins.module_keys"}
}

// takeScript lets a script of the caller in, or refuses it.
func (c Caller) takeScript(source, field string) error {
	if c.TakeScript == nil {
		return ScriptsForbidden(field)
	}
	return c.TakeScript(source, field)
}

// WithTimeout bounds by its timeout_ms a request that is not for an answer; nil: it has none.
func WithTimeout(ctx context.Context, ms *int64) (context.Context, context.CancelFunc, error) {
	x := CommonFields{TimeoutMS: ms}
	if err := x.check(); err != nil {
		return nil, nil, err
	}
	ctx, stop := withDeadline(ctx, x.deadline(time.Now()))
	return ctx, stop, nil
}

// withDeadline makes a context that ends with a deadline; zero: there is none.
func withDeadline(ctx context.Context, deadline time.Time) (context.Context, context.CancelFunc) {
	if deadline.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, deadline, scheduler.ErrDeadline)
}

// Guessing says which tokens of the answer may be guessed (speculative decoding), by
// llama-server's names. The text is the same.
type Guessing struct {
	Most        *int    `json:"speculative.n_max"` // at once; 0: none; nil: as many as the server does
	Least       int     `json:"speculative.n_min"` // fewer are dropped
	LeastChance float64 `json:"speculative.p_min"` // that a guessed token is right, for it to be computed
}

const maxDrafted = 1 << 20

func (g *Guessing) check() error {
	if n := g.Most; n != nil && (*n < 0 || *n > maxDrafted) {
		return refusal.Invalid("speculative.n_max", "speculative.n_max is %d; it must be from 0 (no tokens are guessed) to %d", *n, maxDrafted)
	}
	if n := g.Least; n < 0 || n > maxDrafted {
		return refusal.Invalid("speculative.n_min", "speculative.n_min is %d; it must be from 0 to %d", n, maxDrafted)
	}
	if g.Most != nil && *g.Most > 0 && g.Least > *g.Most {
		return refusal.Invalid("speculative.n_min", "speculative.n_min is %d; it must not be more than speculative.n_max, which is %d", g.Least, *g.Most)
	}
	if p := g.LeastChance; !(p >= 0 && p <= 1) {
		return refusal.Invalid("speculative.p_min", "speculative.p_min is %v; it must be from 0 to 1", p)
	}
	return nil
}

// tell puts it into a request for the scheduler.
func (g *Guessing) tell(r *scheduler.Request) {
	r.LeastDrafted, r.LeastChance = g.Least, g.LeastChance
	switch {
	case g.Most != nil && *g.Most == 0:
		r.MostDrafted = -1
	case g.Most != nil:
		r.MostDrafted = *g.Most
	}
}

// IsSet reports whether a field asks for something: not absent, null, false, or empty.
func IsSet(raw json.RawMessage) bool {
	return !slices.Contains([]string{"", "null", "false", "[]", "{}", `""`}, string(bytes.TrimSpace(raw)))
}

// MaxStops bounds the texts that end an answer.
const MaxStops = 64

// ReadStops reads the stop strings in a field: a text, a list of texts, or nothing.
func ReadStops(raw json.RawMessage, field string) ([]string, error) {
	if !IsSet(raw) {
		return nil, nil
	}
	var one string
	var list []string
	if json.Unmarshal(raw, &one) == nil {
		list = []string{one}
	} else if json.Unmarshal(raw, &list) != nil {
		return nil, refusal.Invalid(field, "%s must be a text or a list of texts", field)
	}
	if len(list) > MaxStops {
		return nil, refusal.Invalid(field, "%s has %d texts; at most %d are allowed", field, len(list), MaxStops)
	}
	if i := slices.Index(list, ""); i >= 0 {
		field = fmt.Sprintf("%s[%d]", field, i)
		return nil, refusal.Invalid(field, "%s is empty; it would end every answer at once", field)
	}
	return list, nil
}

// maxAdapters bounds the entries of a list.
const maxAdapters = 64

// ReadAdapterScales reads a list of objects with id or name, and scale, as llama-server's "lora"
// has them; field names it in errors.
func ReadAdapterScales(raw json.RawMessage, field string) ([]serving.AdapterScale, error) {
	if !IsSet(raw) {
		return nil, nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, refusal.Invalid(field, "%s must be a list of objects with id or name, and scale", field)
	}
	if len(items) > maxAdapters {
		return nil, refusal.Invalid(field, "%s has %d entries; at most %d are allowed", field, len(items), maxAdapters)
	}
	var scales []serving.AdapterScale
	for i, item := range items {
		s, err := readAdapterScale(item, field+"["+strconv.Itoa(i)+"]")
		if err != nil {
			return nil, err
		}
		for _, other := range scales {
			if other.ID == s.ID && other.Name == s.Name {
				return nil, refusal.Invalid(s.Field, "%s names an adapter that is in the list already", s.Field)
			}
		}
		scales = append(scales, s)
	}
	return scales, nil
}

func readAdapterScale(item json.RawMessage, field string) (serving.AdapterScale, error) {
	var object struct {
		ID    *int     `json:"id"`
		Name  *string  `json:"name"`
		Scale *float64 `json:"scale"`
	}
	s := serving.AdapterScale{ID: -1, Field: field}
	err := integer.UnmarshalKnown(item, &object)
	switch {
	case err != nil:
		return s, refusal.Invalid(field, "%s must be an object with id or name, and scale, and nothing else%s", field, unknownField(err))
	case (object.ID == nil) == (object.Name == nil):
		return s, refusal.Invalid(field, "%s must have either id or name", field)
	case object.Scale == nil:
		return s, refusal.Invalid(field+".scale", "%s.scale is missing: 1 is as the adapter was trained, 0 without it", field)
	case math.Abs(*object.Scale) > serving.MaxAdapterScale:
		return s, refusal.Invalid(field+".scale", "%s.scale is %v; it must be from %d to %d", field, *object.Scale, -serving.MaxAdapterScale, serving.MaxAdapterScale)
	}
	if s.Scale = float32(*object.Scale); object.ID != nil {
		s.ID = *object.ID
	} else if s.Name = *object.Name; s.Name == "" {
		return s, refusal.Invalid(field+".name", "%s.name is empty", field)
	}
	return s, nil
}
