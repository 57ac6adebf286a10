// SPDX-License-Identifier: MIT

package completion

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// UnknownModel refuses a name that no model has, and tells which there are.
func UnknownModel(name string, known ...string) *Error {
	quoted := make([]string, len(known))
	for i, k := range known {
		quoted[i] = strconv.Quote(k)
	}
	return &Error{Status: http.StatusNotFound, Code: "model_not_found", Type: TypeInvalid, Param: "model",
		Message: fmt.Sprintf("there is no model %q here; this server has %s", name, strings.Join(quoted, ", "))}
}
