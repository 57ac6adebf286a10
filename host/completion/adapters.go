// SPDX-License-Identifier: MIT

package completion

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/scheduler"
)

// Adapters are the LoRA adapters of a model. Errors that are a client's to mend are *refusal.Error.
type Adapters interface {
	// Choose finds what a prompt is computed with besides the model, and from which position on: the adapters that a request names,
	// or if it names none those that count for all. It is nil if there is nothing.
	Choose(scales []AdapterScale, prompt []scheduler.Token) (_ scheduler.Adapters, from int, _ error)
	// List describes what is loaded, by number.
	List() []AdapterInfo
	// Named are the adapters of a set by its key. It fails if one of them is no longer loaded.
	Named(key string) (_ []AdapterScale, ok bool)
	// SetScales sets how strongly the adapters count for requests that name none; those that it leaves out do not count any more.
	SetScales(scales []AdapterScale) error
	// Load loads the adapter of that name in the model folder; it counts for all with a scale, 0 for requests that name it only.
	Load(ctx context.Context, name string, scale float32) (AdapterInfo, error)
	// Unload takes an adapter away. Requests that use it go on to their end.
	Unload(name string) error
}

// AdapterInfo describes a LoRA adapter.
type AdapterInfo struct {
	ID               int // the number by which llama-server's clients name it; never used again for another
	Name             string
	Path             string
	Scale            float32 // for requests that name no adapter
	TaskName         string
	PromptPrefix     string
	InvocationTokens []int32 // of an activated LoRA: it counts from where a prompt has them last
	InvocationText   string
	Rank             int
	Bytes            uint64 // of its weights
}

// AdapterScale is how strongly an adapter is to count.
type AdapterScale struct {
	ID    int
	Name  string // in place of ID; "": by ID
	Scale float32
	Field string // of the request, for errors
}

// maxAdapters bounds the entries of a list.
const maxAdapters = 64

// ReadAdapterScales reads a list of objects with id or name, and scale, as llama-server's "lora" has them; field names it in errors.
func ReadAdapterScales(raw json.RawMessage, field string) ([]AdapterScale, error) {
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
	var scales []AdapterScale
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

func readAdapterScale(item json.RawMessage, field string) (AdapterScale, error) {
	var object struct {
		ID    *int     `json:"id"`
		Name  *string  `json:"name"`
		Scale *float64 `json:"scale"`
	}
	d := json.NewDecoder(bytes.NewReader(item))
	d.DisallowUnknownFields()
	s := AdapterScale{ID: -1, Field: field}
	err := d.Decode(&object)
	switch {
	case err != nil:
		return s, refusal.Invalid(field, "%s must be an object with id or name, and scale, and nothing else%s", field, unknownField(err))
	case (object.ID == nil) == (object.Name == nil):
		return s, refusal.Invalid(field, "%s must have either id or name", field)
	case object.Scale == nil:
		return s, refusal.Invalid(field+".scale", "%s.scale is missing: 1 is as the adapter was trained, 0 without it", field)
	case math.Abs(*object.Scale) > MaxAdapterScale:
		return s, refusal.Invalid(field+".scale", "%s.scale is %v; it must be from %d to %d", field, *object.Scale, -MaxAdapterScale, MaxAdapterScale)
	}
	if s.Scale = float32(*object.Scale); object.ID != nil {
		s.ID = *object.ID
	} else if s.Name = *object.Name; s.Name == "" {
		return s, refusal.Invalid(field+".name", "%s.name is empty", field)
	}
	return s, nil
}

// MaxAdapterScale is far beyond what makes sense; with more, numbers overflow.
const MaxAdapterScale = 1000

// usedAdapters are those that a prompt is computed with, from a position on.
type usedAdapters struct {
	set  scheduler.Adapters
	from int
}

// adapters finds what a prompt is computed with besides the model. A fork is computed with what the answer was.
func (r *Request) adapters(prompt []scheduler.Token) (*usedAdapters, error) {
	if r.begun != nil {
		return r.used, nil
	}
	r.used = &usedAdapters{}
	if r.Model.Adapters == nil {
		if len(r.AdapterScales) > 0 {
			return nil, refusal.Unsupported("lora", "lora is not supported by this server")
		}
		return r.used, nil
	}
	var err error
	r.used.set, r.used.from, err = r.Model.Adapters.Choose(r.AdapterScales, prompt)
	return r.used, err
}

// UnknownAdapter refuses an adapter that is not loaded.
func (s AdapterScale) UnknownAdapter(loaded []AdapterInfo) *refusal.Error {
	field, value := s.Field+".id", fmt.Sprint(s.ID)
	if s.Name != "" {
		field, value = s.Field+".name", strconv.Quote(s.Name)
	}
	known := "none is"
	for i, l := range loaded {
		if i == 0 {
			known = ""
		} else {
			known += ", "
		}
		known += fmt.Sprintf("%d (%s)", l.ID, l.Name)
	}
	return refusal.Invalid(field, "%s is %s; no such LoRA adapter is loaded: %s", field, value, known)
}
