// SPDX-License-Identifier: MIT

package sampling

import (
	"encoding/json"
	"math/rand/v2"
)

// Fields are Params as they stand in a JSON object. Decode into FieldsOf(defaults): what the object leaves out, or gives
// as null, keeps its value.
type Fields struct {
	Seed    *int64 `json:"seed"` // absent or negative: random
	Chain   Chain  `json:"samplers"`
	MinKeep int    `json:"min_keep"`

	Temperature      float32 `json:"temperature"`
	DynatempRange    float32 `json:"dynatemp_range"`
	DynatempExponent float32 `json:"dynatemp_exponent"`

	TopK      int     `json:"top_k"`
	TopP      float32 `json:"top_p"`
	MinP      float32 `json:"min_p"`
	TypicalP  float32 `json:"typical_p"`
	TopNSigma float32 `json:"top_n_sigma"`

	XTCProbability float32 `json:"xtc_probability"`
	XTCThreshold   float32 `json:"xtc_threshold"`

	RepeatLastN      int     `json:"repeat_last_n"`
	RepeatPenalty    float32 `json:"repeat_penalty"`
	FrequencyPenalty float32 `json:"frequency_penalty"`
	PresencePenalty  float32 `json:"presence_penalty"`

	DryMultiplier       float32  `json:"dry_multiplier"`
	DryBase             float32  `json:"dry_base"`
	DryAllowedLength    int      `json:"dry_allowed_length"`
	DryPenaltyLastN     int      `json:"dry_penalty_last_n"`
	DrySequenceBreakers []string `json:"dry_sequence_breakers"`

	Mirostat    int     `json:"mirostat"`
	MirostatTau float32 `json:"mirostat_tau"`
	MirostatEta float32 `json:"mirostat_eta"`

	AdaptiveTarget float32 `json:"adaptive_target"`
	AdaptiveDecay  float32 `json:"adaptive_decay"`

	LogitBias json.RawMessage `json:"logit_bias"`
	IgnoreEOS bool            `json:"ignore_eos"`

	constraintFields
	thinkingFields

	GenerationPrompt string   `json:"generation_prompt"`
	PreservedTokens  []string `json:"preserved_tokens"`
}

// FieldsOf gives the fields the values of p, except those that Params takes from p where an object leaves them out: the biases, what
// the answer must look like, and what is known of thinking.
func FieldsOf(p Params) Fields {
	return Fields{
		Chain:               append([]string(nil), p.Chain...),
		MinKeep:             p.MinKeep,
		Temperature:         p.Temperature,
		DynatempRange:       p.DynatempRange,
		DynatempExponent:    p.DynatempExponent,
		TopK:                p.TopK,
		TopP:                p.TopP,
		MinP:                p.MinP,
		TypicalP:            p.TypicalP,
		TopNSigma:           p.TopNSigma,
		XTCProbability:      p.XTCProbability,
		XTCThreshold:        p.XTCThreshold,
		RepeatLastN:         p.RepeatLastN,
		RepeatPenalty:       p.RepeatPenalty,
		FrequencyPenalty:    p.FrequencyPenalty,
		PresencePenalty:     p.PresencePenalty,
		DryMultiplier:       p.DryMultiplier,
		DryBase:             p.DryBase,
		DryAllowedLength:    p.DryAllowedLength,
		DryPenaltyLastN:     p.DryPenaltyLastN,
		DrySequenceBreakers: append([]string(nil), p.DrySequenceBreakers...),
		Mirostat:            p.Mirostat,
		MirostatTau:         p.MirostatTau,
		MirostatEta:         p.MirostatEta,
		AdaptiveTarget:      p.AdaptiveTarget,
		AdaptiveDecay:       p.AdaptiveDecay,
		IgnoreEOS:           p.IgnoreEOS,
		GenerationPrompt:    p.GenerationPrompt,
		PreservedTokens:     append([]string(nil), p.PreservedTokens...),
	}
}

// Params returns the parameters, checked. base gives what the object leaves out and fields cannot hold: the seed, whether a trace is
// wanted, and what FieldsOf does not give. Errors are *Invalid.
func (f Fields) Params(base Params, v Vocabulary) (Params, error) {
	p := Params{
		Seed:                base.Seed,
		Trace:               base.Trace,
		MinKeep:             f.MinKeep,
		Temperature:         f.Temperature,
		DynatempRange:       f.DynatempRange,
		DynatempExponent:    f.DynatempExponent,
		TopK:                f.TopK,
		TopP:                f.TopP,
		MinP:                f.MinP,
		TypicalP:            f.TypicalP,
		TopNSigma:           f.TopNSigma,
		XTCProbability:      f.XTCProbability,
		XTCThreshold:        f.XTCThreshold,
		RepeatLastN:         f.RepeatLastN,
		RepeatPenalty:       f.RepeatPenalty,
		FrequencyPenalty:    f.FrequencyPenalty,
		PresencePenalty:     f.PresencePenalty,
		DryMultiplier:       f.DryMultiplier,
		DryBase:             f.DryBase,
		DryAllowedLength:    f.DryAllowedLength,
		DryPenaltyLastN:     f.DryPenaltyLastN,
		DrySequenceBreakers: f.DrySequenceBreakers,
		Mirostat:            f.Mirostat,
		MirostatTau:         f.MirostatTau,
		MirostatEta:         f.MirostatEta,
		AdaptiveTarget:      f.AdaptiveTarget,
		AdaptiveDecay:       f.AdaptiveDecay,
		LogitBias:           base.LogitBias,
		IgnoreEOS:           f.IgnoreEOS,
		GenerationPrompt:    f.GenerationPrompt,
		PreservedTokens:     f.PreservedTokens,
	}
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
