// SPDX-License-Identifier: MIT

package adapter

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/native/gguf"
)

// refuse tells what it means for a client that an adapter could not be loaded.
func refuse(err error) error {
	refused := func(kind refusal.Kind, code string) error {
		return &refusal.Error{Kind: kind, Code: code, Field: "name", Message: err.Error()}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, model.ErrNotFound):
		return refused(refusal.KindNotFound, "adapter_not_found")
	case errors.Is(err, errLoaded):
		return refused(refusal.KindConflict, "adapter_loaded")
	}
	for _, bad := range []error{gguf.ErrAdapter, gguf.ErrNotGGUF, gguf.ErrMalformed, gguf.ErrTruncated, model.ErrNotFile, model.ErrRefused,
		model.ErrCrashed, model.ErrTooLarge, model.ErrTimeout} {
		if errors.Is(err, bad) {
			return refused(refusal.KindImpossible, "adapter_refused")
		}
	}
	return err
}

// unknown refuses a name of which no adapter is loaded.
func unknown(name string, loaded []serving.AdapterInfo) error {
	var names []string
	for _, l := range loaded {
		names = append(names, l.Name)
	}
	return &refusal.Error{Kind: refusal.KindNotFound, Code: "adapter_not_found", Field: "name",
		Message: fmt.Sprintf("no adapter %s is loaded; loaded are: %s", strconv.Quote(name), strings.Join(names, ", "))}
}
