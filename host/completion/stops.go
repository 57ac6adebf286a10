// SPDX-License-Identifier: MIT

package completion

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/penstock/penstock/host/refusal"
)

// MaxStops bounds the texts that end an answer.
const MaxStops = 64

// ReadStops reads the stop strings in a field: a text, a list of texts, or nothing.
func ReadStops(raw json.RawMessage, field string) ([]string, error) {
	if !IsSet(raw) {
		return nil, nil
	}
	var one string
	var list []string
	if json.Unmarshal(raw, &one) == nil {
		list = []string{one}
	} else if json.Unmarshal(raw, &list) != nil {
		return nil, refusal.Invalid(field, "%s must be a text or a list of texts", field)
	}
	if len(list) > MaxStops {
		return nil, refusal.Invalid(field, "%s has %d texts; at most %d are allowed", field, len(list), MaxStops)
	}
	if i := slices.Index(list, ""); i >= 0 {
		field = fmt.Sprintf("%s[%d]", field, i)
		return nil, refusal.Invalid(field, "%s is empty; it would end every answer at once", field)
	}
	return list, nil
}
