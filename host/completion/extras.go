// SPDX-License-Identifier: MIT

package completion

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/penstock/penstock/host/sampling"
)

// Extras are the fields that a body of any dialect may have beside the dialect's own.
type Extras struct {
	sampling.Fields

	CachePrompt bool            `json:"cache_prompt"`
	Priority    int             `json:"priority"`
	TimeoutMS   *int64          `json:"timeout_ms"`
	Plugins     json.RawMessage `json:"plugins"`
	Trace       bool            `json:"trace"`
	Record      bool            `json:"record"`
	Lora        json.RawMessage `json:"lora"`
	// MostDrafted is how many tokens may be guessed at once, as llama-server calls it; 0: none; nil: as many as the server does.
	MostDrafted *int `json:"speculative.n_max"`
}

// The bounds of what one request may ask for.
const (
	maxPriority = 100
	maxTimeout  = 24 * time.Hour
	maxDrafted  = 1 << 20
)

// DefaultExtras are what a body begins with.
func DefaultExtras() Extras {
	return Extras{Fields: sampling.FieldsOf(sampling.Default()), CachePrompt: true}
}

// check refuses what this server does not do and what is out of range, besides the sampling parameters.
func (x *Extras) check() error {
	if x.Priority < -maxPriority || x.Priority > maxPriority {
		return Invalid("priority", "priority is %d; it must be from %d to %d", x.Priority, -maxPriority, maxPriority)
	}
	if n := x.MostDrafted; n != nil && (*n < 0 || *n > maxDrafted) {
		return Invalid("speculative.n_max", "speculative.n_max is %d; it must be from 0 (no tokens are guessed) to %d", *n, maxDrafted)
	}
	if t := x.TimeoutMS; t != nil && (*t < 1 || *t > maxTimeout.Milliseconds()) {
		return Invalid("timeout_ms", "timeout_ms is %d; it must be from 1 to %d", *t, maxTimeout.Milliseconds())
	}
	return nil
}

// mostDrafted is the scheduler's number for it.
func (x *Extras) mostDrafted() int {
	switch {
	case x.MostDrafted == nil:
		return 0
	case *x.MostDrafted == 0:
		return -1
	}
	return *x.MostDrafted
}

func (x *Extras) deadline(now time.Time) time.Time {
	if x.TimeoutMS == nil {
		return time.Time{}
	}
	return now.Add(time.Duration(*x.TimeoutMS) * time.Millisecond)
}

// IsSet reports whether a field asks for something: not absent, null, false, or empty.
func IsSet(raw json.RawMessage) bool {
	return !slices.Contains([]string{"", "null", "false", "[]", "{}", `""`}, string(bytes.TrimSpace(raw)))
}
