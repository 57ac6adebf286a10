// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import "math"

// SamplerNumbers are the parameters of llama.cpp's samplers. Each must be in the range that
// llama.cpp can work with, used or not. A temperature under 0.0001 counts as 0: the most likely
// token. The fields are those of sampling.Numbers, which becomes one of these.
type SamplerNumbers struct {
	Temperature, DynatempRange, DynatempExponent     float32
	TopK, MinKeep                                    int
	TopP, MinP, TypicalP, TopNSigma                  float32
	XTCProbability, XTCThreshold                     float32
	RepeatLastN                                      int
	RepeatPenalty, FrequencyPenalty, PresencePenalty float32
	DryMultiplier, DryBase                           float32
	DryAllowedLength, DryPenaltyLastN                int
	MirostatTau, MirostatEta                         float32
	AdaptiveTarget, AdaptiveDecay                    float32
}

// params are the numbers, and what else fits into a field, as C has them.
func (o SamplerOptions) params() C.ps_sampler_params {
	i := func(v int) C.int32_t { return C.int32_t(min(max(v, math.MinInt32), math.MaxInt32)) }
	return C.ps_sampler_params{
		seed:     C.uint32_t(o.Seed),
		_select:  C.int32_t(o.Select),
		min_keep: i(o.MinKeep), top_k: i(o.TopK), repeat_last_n: i(o.RepeatLastN),
		dry_allowed_length: i(o.DryAllowedLength), dry_last_n: i(o.DryPenaltyLastN),
		temperature: C.float(o.Temperature), dynatemp_range: C.float(o.DynatempRange), dynatemp_exponent: C.float(o.DynatempExponent),
		top_p: C.float(o.TopP), min_p: C.float(o.MinP), typical_p: C.float(o.TypicalP), top_n_sigma: C.float(o.TopNSigma),
		xtc_probability: C.float(o.XTCProbability), xtc_threshold: C.float(o.XTCThreshold),
		repeat_penalty: C.float(o.RepeatPenalty), frequency_penalty: C.float(o.FrequencyPenalty), presence_penalty: C.float(o.PresencePenalty),
		dry_multiplier: C.float(o.DryMultiplier), dry_base: C.float(o.DryBase),
		mirostat_tau: C.float(o.MirostatTau), mirostat_eta: C.float(o.MirostatEta),
		adaptive_target: C.float(o.AdaptiveTarget), adaptive_decay: C.float(o.AdaptiveDecay),
	}
}
