// SPDX-License-Identifier: MIT

package adapter

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/native/gguf"
)

// refusal tells what it means for a client that an adapter could not be loaded.
func refusal(err error) error {
	refused := func(status int, code string) error {
		return &completion.Error{Status: status, Code: code, Type: completion.TypeInvalid, Param: "name", Message: err.Error()}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, model.ErrNotFound):
		return refused(http.StatusNotFound, "adapter_not_found")
	case errors.Is(err, errLoaded):
		return refused(http.StatusConflict, "adapter_loaded")
	}
	for _, bad := range []error{gguf.ErrAdapter, gguf.ErrNotGGUF, gguf.ErrMalformed, gguf.ErrTruncated, model.ErrNotFile, model.ErrRefused,
		model.ErrCrashed, model.ErrTooLarge, model.ErrTimeout} {
		if errors.Is(err, bad) {
			return refused(http.StatusUnprocessableEntity, "adapter_refused")
		}
	}
	return err
}

// unknown refuses a name of which no adapter is loaded.
func unknown(name string, loaded []completion.AdapterInfo) error {
	var names []string
	for _, l := range loaded {
		names = append(names, l.Name)
	}
	return &completion.Error{Status: http.StatusNotFound, Code: "adapter_not_found", Type: completion.TypeInvalid, Param: "name",
		Message: fmt.Sprintf("no adapter %s is loaded; loaded are: %s", strconv.Quote(name), strings.Join(names, ", "))}
}
