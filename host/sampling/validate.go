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

// ErrCrowded says that nothing is wrong with a schema or grammar, but there is no memory for it
// now.
var ErrCrowded = errors.New("the schemas and grammars of other answers take all the memory that there is for them; try again when some have ended")

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

// Validate checks that every parameter is a number and within its range. Its error is an *Invalid.
func (p Params) Validate() error {
	if err := p.checkRanges(); err != nil {
		return err
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
