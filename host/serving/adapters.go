// SPDX-License-Identifier: MIT

package serving

import (
	"context"
	"fmt"
	"strconv"

	"github.com/penstock/penstock/host/receipt"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/scheduler"
)

// Adapters are the LoRA adapters of a model. Errors that the client can fix are *refusal.Error.
type Adapters interface {
	// Choose finds what a prompt is computed with besides the model, and from which position on:
	// the adapters that a request names, or if it names none those that count for all. It is nil
	// if there is nothing.
	Choose(scales []AdapterScale, prompt []scheduler.Token) (_ scheduler.Adapters, from int, _ error)
	// List describes what is loaded, by number.
	List() []AdapterInfo
	// Named are the adapters of a set by its key. It fails if one of them is no longer loaded.
	Named(key string) (_ []AdapterScale, ok bool)
	// SetScales sets how strongly the adapters count for requests that name none; those that it
	// leaves out do not count any more.
	SetScales(scales []AdapterScale) error
	// Load loads the adapter of that name in the model folder; it counts for all with a scale, 0
	// for requests that name it only.
	Load(ctx context.Context, name string, scale float32) (AdapterInfo, error)
	// Unload takes an adapter away. Requests that use it go on to their end.
	Unload(name string) error
}

// AdapterInfo describes a LoRA adapter.
type AdapterInfo struct {
	ID               int // the number by which llama-server's clients name it; never used again for another
	Name             string
	Path             string
	File             receipt.File // as it was when it was loaded
	Scale            float32      // for requests that name no adapter
	TaskName         string
	PromptPrefix     string
	InvocationTokens []int32 // of an activated LoRA: it counts from where a prompt has them last
	InvocationText   string
	Rank             int
	Bytes            uint64 // of its weights
}

// AdapterScale is how strongly an adapter is to count.
type AdapterScale struct {
	ID    int
	Name  string // in place of ID; "": by ID
	Scale float32
	Field string // of the request, for errors
}

// MaxAdapterScale is far beyond what makes sense; with more, numbers overflow.
const MaxAdapterScale = 1000

// UnknownAdapter refuses an adapter that is not loaded.
func (s AdapterScale) UnknownAdapter(loaded []AdapterInfo) *refusal.Error {
	field, value := s.Field+".id", fmt.Sprint(s.ID)
	if s.Name != "" {
		field, value = s.Field+".name", strconv.Quote(s.Name)
	}
	known := "none is"
	for i, l := range loaded {
		if i == 0 {
			known = ""
		} else {
			known += ", "
		}
		known += fmt.Sprintf("%d (%s)", l.ID, l.Name)
	}
	return refusal.Invalid(field, "%s is %s; no such LoRA adapter is loaded: %s", field, value, known)
}
