// SPDX-License-Identifier: MIT

// Package sampling defines the sampling parameters of a request, with their ranges and defaults.
//
// The API reads them from requests, and the engine builds a sampler chain from them. Names and defaults are llama.cpp's.
package sampling

// Params are the sampling parameters of one request. Default gives llama.cpp's values; Validate checks the ranges.
type Params struct {
	Seed    uint32   // start of every random draw; the API draws one if the request has none
	Chain   []string // the order of the samplers, natives by their llama.cpp names, plugins as plugin:NAME
	MinKeep int      // every truncating sampler leaves at least so many candidates

	Temperature      float32 // at or below 0 the most likely token is taken
	DynatempRange    float32 // temperature moves within ± this by entropy; 0: off
	DynatempExponent float32

	TopK      int     // at or below 0: off
	TopP      float32 // 1: off
	MinP      float32 // 0: off
	TypicalP  float32 // 1: off
	TopNSigma float32 // at or below 0: off

	XTCProbability float32 // 0: off
	XTCThreshold   float32 // above 0.5: off

	RepeatLastN      int // tokens the penalties look back; 0: off
	RepeatPenalty    float32
	FrequencyPenalty float32
	PresencePenalty  float32

	DryMultiplier       float32 // 0: off
	DryBase             float32
	DryAllowedLength    int
	DryPenaltyLastN     int // tokens DRY looks back; 0: off
	DrySequenceBreakers []string

	Mirostat    int // 0 off, 1 or 2 for its two versions; then only penalties, dry and temperature of the chain are used
	MirostatTau float32
	MirostatEta float32

	AdaptiveTarget float32 // negative: off
	AdaptiveDecay  float32

	LogitBias map[int32]float32 // token → added to its logit; −Inf bans it
	IgnoreEOS bool              // end-of-generation tokens are never drawn

	Constraint

	// GenerationPrompt is the end of the prompt that a chat template has put there as the beginning of the answer. A format's grammar
	// begins with it, and thinking may have begun in it.
	GenerationPrompt string
	PreservedTokens  []string // control tokens that are shown in the answer as their text, because its reader looks for them
	Thinking         Thinking

	Trace bool // a trace is wanted: where it changes no token, each sampler is a stage of its own
}

// Default gives llama.cpp's default parameters.
func Default() Params {
	return Params{
		Chain:               []string{"penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"},
		Temperature:         0.8,
		DynatempExponent:    1,
		TopK:                40,
		TopP:                0.95,
		MinP:                0.05,
		TypicalP:            1,
		TopNSigma:           -1,
		XTCThreshold:        0.1,
		RepeatLastN:         64,
		RepeatPenalty:       1,
		DryBase:             1.75,
		DryAllowedLength:    2,
		DryPenaltyLastN:     64,
		DrySequenceBreakers: []string{"\n", ":", "\"", "*"},
		MirostatTau:         5,
		MirostatEta:         0.1,
		AdaptiveTarget:      -1,
		AdaptiveDecay:       0.9,
		Thinking:            Thinking{Budget: -1},
	}
}
