// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// OneModel serves a single model. It answers to every name, as llama-server does, since clients often send one that they cannot
// leave out; answers carry the true name.
type OneModel struct {
	Model  *Model
	Strict bool // another name than the model's is refused
}

// Use implements Models.
func (o OneModel) Use(_ context.Context, name string) (*Model, func(), error) {
	if o.Strict && name != "" && name != o.Model.Name {
		return nil, nil, UnknownModel(name, o.Model.Name)
	}
	return o.Model, func() {}, nil
}

// Default implements Models.
func (o OneModel) Default() *Model { return o.Model }

// UnknownModel refuses a name that no model has, and tells which there are.
func UnknownModel(name string, known ...string) *Error {
	quoted := make([]string, len(known))
	for i, k := range known {
		quoted[i] = strconv.Quote(k)
	}
	return &Error{Status: http.StatusNotFound, Code: "model_not_found", Type: TypeInvalid, Param: "model",
		Message: fmt.Sprintf("there is no model %q here; this server has %s", name, strings.Join(quoted, ", "))}
}
