// SPDX-License-Identifier: MIT

package sampling

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"strconv"
)

// Describe is a JSON object of the parameters in force, under the names of a request's body. In
// the place of what the answer must look like it has "grammar": whether there is a constraint.
// more are further members.
func (p Params) Describe(more map[string]any) ([]byte, error) {
	object := p.Values()
	maps.DeleteFunc(object, isEmptyList)
	object["seed"], object["grammar"], object["logit_bias"] = p.Seed, p.IsSet(), describeBias(p.LogitBias)
	object["reasoning_budget_tokens"] = p.Thinking.Budget
	maps.Copy(object, more)
	return json.Marshal(object)
}

// isEmptyList reports whether a value is a list without entries: plugins are not told of those.
func isEmptyList(_ string, value any) bool {
	v := reflect.ValueOf(value)
	return v.Kind() == reflect.Slice && v.Len() == 0
}

// describeBias is the object that a request would have; false bans a token.
func describeBias(biases map[int32]float32) map[string]any {
	object := make(map[string]any, len(biases))
	for token, bias := range biases {
		name := strconv.Itoa(int(token))
		object[name] = bias
		if math.IsInf(float64(bias), -1) {
			object[name] = false
		}
	}
	return object
}
