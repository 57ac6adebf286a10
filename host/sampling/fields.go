// SPDX-License-Identifier: MIT

package sampling

import (
	"encoding/json"
	"math/rand/v2"
)

// Fields are Params as they stand in a JSON object. Decode into FieldsOf(defaults): what the object leaves out, or gives
// as null, keeps its value.
type Fields struct {
	Seed *int64 `json:"seed"` // absent or negative: random
	Plain
	LogitBias json.RawMessage `json:"logit_bias"`
	constraintFields
	thinkingFields
}

// FieldsOf gives the fields the values of p, except those that Params takes from p where an object leaves them out: the biases, what
// the answer must look like, and what is known of thinking.
func FieldsOf(p Params) Fields {
	f := Fields{Plain: p.Plain}
	// decoding writes into lists
	f.Chain = append(Chain(nil), p.Chain...)
	f.DrySequenceBreakers = append([]string(nil), p.DrySequenceBreakers...)
	f.PreservedTokens = append([]string(nil), p.PreservedTokens...)
	return f
}

// Params returns the parameters, checked. base gives what the object leaves out and fields cannot hold: the seed, whether a trace is
// wanted, and what FieldsOf does not give. Errors are *Invalid.
func (f Fields) Params(base Params, v Vocabulary) (Params, error) {
	p := base
	p.Plain = f.Plain
	if f.Seed != nil {
		p.Seed = fold(*f.Seed)
	}
	var err error
	if p.Chain, err = canonical(f.Chain); err != nil {
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

// fold turns a client's seed into 32 bits. llama.cpp takes the largest value as "random", so it is never returned.
func fold(seed int64) uint32 {
	const reserved = 1<<32 - 1
	if seed < 0 {
		return rand.Uint32N(reserved)
	}
	return uint32(seed % reserved)
}
