// SPDX-License-Identifier: MIT

package completion

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/penstock/penstock/host/integer"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

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

// usedAdapters are those that a prompt is computed with, from a position on.
type usedAdapters struct {
	set  scheduler.Adapters
	from int
}

// adapters finds what a prompt is computed with besides the model. A fork is computed with what
// the answer was.
func (r *TextRequest) adapters(prompt []scheduler.Token) (*usedAdapters, error) {
	if r.begun.Tokens != nil {
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
