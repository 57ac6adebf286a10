// SPDX-License-Identifier: MIT

package serving

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/penstock/penstock/host/refusal"
)

// NotLoaded refuses to tell of a model what is known only while it is in memory, as llama-server
// does.
func NotLoaded(name string) *refusal.Error {
	return &refusal.Error{Kind: refusal.KindInvalid, Code: "model_not_loaded", Field: "model",
		Message: fmt.Sprintf("the model %q is not loaded, and this route loads none; the first request for an answer does, or POST /models/load with the admin key", name)}
}

// NotLoadable refuses a model that does not load.
func NotLoadable(name string, because error) *refusal.Error {
	return &refusal.Error{Kind: refusal.KindImpossible, Code: "model_not_loadable", Field: "model",
		Message: "the model " + name + " cannot be loaded: " + because.Error()}
}

// UnknownModel refuses a name that no model has, and tells which there are.
func UnknownModel(name string, known ...string) *refusal.Error {
	quoted := make([]string, len(known))
	for i, k := range known {
		quoted[i] = strconv.Quote(k)
	}
	return &refusal.Error{Kind: refusal.KindNotFound, Code: "model_not_found", Field: "model",
		Message: fmt.Sprintf("there is no model %q here; this server has %s", name, strings.Join(quoted, ", "))}
}
