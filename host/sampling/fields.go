// SPDX-License-Identifier: MIT

package sampling

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
)

// ParamFields are Params as they stand in a JSON object. What the object leaves out, or gives as
// null, keeps its value: decode into UnsetFields, and it is what Params has then, or into FieldsOf
// what it is to be.
type ParamFields struct {
	Seed *int64 `json:"seed"` // absent or negative: random
	Plain
	LogitBias json.RawMessage `json:"logit_bias"`
	constraintFields
	thinkingFields
}

// The values of Fields that say nothing: no request can say them.
var unset = float32(math.NaN())

// Unset is that of integers.
const Unset = math.MinInt

// UnsetFields are those of an object that says nothing.
func UnsetFields() (f ParamFields) {
	plain := reflect.ValueOf(&f.Plain).Elem()
	for _, each := range ranges {
		if v := plain.FieldByIndex(each.index); v.CanInt() {
			v.SetInt(Unset)
		} else {
			v.SetFloat(float64(unset))
		}
	}
	return f
}

// over puts those of the base in the place of what says nothing.
func (p Plain) over(base Plain) Plain {
	out, from := reflect.ValueOf(&p).Elem(), reflect.ValueOf(&base).Elem()
	for _, f := range fields {
		v := out.FieldByIndex(f.index)
		if isUnset(v) {
			v.Set(from.FieldByIndex(f.index))
		}
	}
	return p
}

func isUnset(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Float32:
		return math.IsNaN(v.Float())
	case reflect.Int:
		return v.Int() == Unset
	case reflect.Slice:
		return v.IsNil()
	}
	return false // a switch, or a text
}

// FieldsOf gives the fields the values of p, except those that Params takes from p where an object
// leaves them out: the biases, what the answer must look like, and what is known of thinking.
func FieldsOf(p Params) ParamFields {
	f := ParamFields{Plain: p.Plain}
	// decoding writes into lists
	f.Chain = append(Chain(nil), p.Chain...)
	f.DrySequenceBreakers = append([]string(nil), p.DrySequenceBreakers...)
	f.PreservedTokens = append([]string(nil), p.PreservedTokens...)
	return f
}

// Params returns the parameters, checked. base gives what the object leaves out and fields cannot
// hold: the seed, whether a trace is wanted, and what FieldsOf does not give. Errors are *Invalid.
func (f ParamFields) Params(base Params, v Vocabulary) (Params, error) {
	p := base
	p.Plain = f.over(base.Plain)
	if f.Seed != nil {
		p.Seed = fold(*f.Seed)
	}
	var err error
	if p.Chain, err = canonical(p.Chain); err != nil {
		return Params{}, err
	}
	if p.LogitBias, err = parseBias(f.LogitBias, base.LogitBias, v); err != nil {
		return Params{}, err
	}
	if p.Constraint, err = f.constraint(base.Constraint); err != nil {
		return Params{}, err
	}
	if p.Thinking, err = f.thinking(base.Thinking); err != nil {
		return Params{}, err
	}
	if !slices.Equal(p.PreservedTokens, base.PreservedTokens) {
		p.Ready = nil // its triggers depend on them
	}
	if err := p.Constraint.validate(v); err != nil {
		return Params{}, err
	}
	return p, p.Validate()
}

// RandomSeed draws a seed for a request that names none.
func RandomSeed() uint32 { return fold(-1) }

// ForChoice adds a choice's number to the seed, so that the choices of one request differ.
func (p Params) ForChoice(number uint32) Params {
	p.Seed = fold(int64(p.Seed) + int64(number))
	return p
}

// fold turns a client's seed into 32 bits. llama.cpp takes the largest value as "random", so it is
// never returned.
func fold(seed int64) uint32 {
	const reserved = 1<<32 - 1
	if seed < 0 {
		return rand.Uint32N(reserved)
	}
	return uint32(seed % reserved)
}
