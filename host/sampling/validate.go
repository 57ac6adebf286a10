// SPDX-License-Identifier: MIT

package sampling

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/penstock/penstock/host/excerpt"
)

// ErrInvalid is what every *Invalid is.
var ErrInvalid = errors.New("invalid sampling parameter")

// Invalid is a parameter that cannot be used.
type Invalid struct {
	Field string // its JSON name
	Value string
	Want  string // what is allowed
	Why   string // instead of Value and Want, where a value of the right kind is wrong in itself
}

// Refused makes an Invalid from a sentence that names the field.
func Refused(field, format string, args ...any) *Invalid {
	return &Invalid{Field: field, Why: fmt.Sprintf(format, args...)}
}

// Error names the field, the value and what is allowed.
func (e *Invalid) Error() string {
	if e.Why != "" {
		return e.Why
	}
	return fmt.Sprintf("%s is %s; it must be %s", e.Field, e.Value, e.Want)
}

// Is reports whether target is ErrInvalid.
func (e *Invalid) Is(target error) bool { return target == ErrInvalid }

// longest is how much of a client's value an error repeats.
const longest = 80

func invalid(field string, value any, want string) error {
	text := excerpt.Of(fmt.Sprint(value), longest)
	if _, isText := value.(string); isText {
		text = strconv.Quote(text)
	}
	return &Invalid{Field: field, Value: text, Want: want}
}

// maxPreserved bounds what each token of an answer is compared with.
const maxPreserved = 1024

// look is the furthest the penalties may look back; −1 stands for the whole context.
const look = 1 << 20

// Validate checks that every parameter is a number and within its range. Its error is an *Invalid.
func (p Params) Validate() error {
	for _, f := range []struct {
		field     string
		value     float32
		low, high float32
		want      string
	}{
		{"temperature", p.Temperature, 0, 100, "a number from 0 to 100"},
		{"dynatemp_range", p.DynatempRange, 0, 100, "a number from 0 to 100"},
		{"dynatemp_exponent", p.DynatempExponent, 0, 100, "a number from 0 to 100"},
		{"top_p", p.TopP, 0, 1, "a number from 0 to 1"},
		{"min_p", p.MinP, 0, 1, "a number from 0 to 1"},
		{"typical_p", p.TypicalP, 0, 1, "a number from 0 to 1"},
		{"top_n_sigma", p.TopNSigma, -1, 1000, "a number from -1 (off) to 1000"},
		{"xtc_probability", p.XTCProbability, 0, 1, "a number from 0 to 1"},
		{"xtc_threshold", p.XTCThreshold, 0, 1, "a number from 0 to 1"},
		{"repeat_penalty", p.RepeatPenalty, 0.01, 100, "a number from 0.01 to 100"},
		{"frequency_penalty", p.FrequencyPenalty, -100, 100, "a number from -100 to 100"},
		{"presence_penalty", p.PresencePenalty, -100, 100, "a number from -100 to 100"},
		{"dry_multiplier", p.DryMultiplier, 0, 100, "a number from 0 to 100"},
		{"dry_base", p.DryBase, 0, 100, "a number from 0 to 100"},
		{"mirostat_tau", p.MirostatTau, 0, 100, "a number from 0 to 100"},
		{"mirostat_eta", p.MirostatEta, 0, 10, "a number from 0 to 10"},
		{"adaptive_target", p.AdaptiveTarget, -1, 1, "a number from -1 (off) to 1"},
		{"adaptive_decay", p.AdaptiveDecay, 0, 0.99, "a number from 0 to 0.99"},
	} {
		if !(f.value >= f.low && f.value <= f.high) { // written so that NaN fails
			return invalid(f.field, f.value, f.want)
		}
	}
	for _, f := range []struct {
		field            string
		value, low, high int
	}{
		{"top_k", p.TopK, -1, math.MaxInt32},
		{"min_keep", p.MinKeep, 0, look},
		{"repeat_last_n", p.RepeatLastN, -1, look},
		{"dry_allowed_length", p.DryAllowedLength, 0, look},
		{"dry_penalty_last_n", p.DryPenaltyLastN, -1, look},
		{"mirostat", p.Mirostat, 0, 2},
	} {
		if f.value < f.low || f.value > f.high {
			return invalid(f.field, f.value, fmt.Sprintf("an integer from %d to %d", f.low, f.high))
		}
	}
	if err := p.validateBiases(); err != nil {
		return err
	}
	if n := len(p.PreservedTokens); n > maxPreserved {
		return invalid("preserved_tokens", n, fmt.Sprintf("at most %d texts", maxPreserved))
	}
	return p.Thinking.validate()
}

func (p Params) validateBiases() error {
	for token, bias := range p.LogitBias {
		if math.IsNaN(float64(bias)) || math.IsInf(float64(bias), 1) {
			return invalid("logit_bias", bias, fmt.Sprintf("a finite number for token %d", token))
		}
	}
	return nil
}
