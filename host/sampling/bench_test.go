// SPDX-License-Identifier: MIT

package sampling

import (
	"encoding/json"
	"testing"
)

// BenchmarkFields_Params reads the parameters of a request: those of an everyday one, and all.
func BenchmarkFields_Params(b *testing.B) {
	for name, body := range map[string]string{
		"few": `{"temperature":0.7,"top_p":0.9,"seed":5,"stream":true,"max_tokens":100}`,
		"all": `{"seed":1,"samplers":["top_k","top_p","temperature"],"min_keep":1,"temperature":0.5,"dynatemp_range":0.1,"dynatemp_exponent":1,"top_k":5,
			"top_p":0.9,"min_p":0.1,"typical_p":1,"top_n_sigma":1,"xtc_probability":0.1,"xtc_threshold":0.1,"repeat_last_n":5,"repeat_penalty":1.1,
			"frequency_penalty":0.1,"presence_penalty":0.1,"dry_multiplier":0.5,"dry_base":1.5,"dry_allowed_length":3,"dry_penalty_last_n":5,
			"dry_sequence_breakers":["x"],"mirostat":1,"mirostat_tau":5,"mirostat_eta":0.1,"adaptive_target":0.5,"adaptive_decay":0.5,
			"logit_bias":{"5":1},"ignore_eos":true,"grammar":"root ::= \"a\"","reasoning_budget_tokens":5}`,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f := FieldsOf(Default())
				if err := json.Unmarshal([]byte(body), &f); err != nil {
					b.Fatal(err)
				}
				if _, err := f.Params(Default(), letters{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkParams_Validate checks the ranges alone.
func BenchmarkParams_Validate(b *testing.B) {
	p := Default()
	for b.Loop() {
		if err := p.Validate(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParams_Describe is what a plugin pays once for an answer.
func BenchmarkParams_Describe(b *testing.B) {
	p := Default()
	for b.Loop() {
		if _, err := p.Describe(nil); err != nil {
			b.Fatal(err)
		}
	}
}
