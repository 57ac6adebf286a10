// SPDX-License-Identifier: MIT

package completion

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

// CommonFields are the fields that a body of any dialect may have beside the dialect's own.
type CommonFields struct {
	sampling.ParamFields
	Guessing

	CachePrompt bool            `json:"cache_prompt"`
	Priority    int             `json:"priority"`
	TimeoutMS   *int64          `json:"timeout_ms"`
	Plugins     json.RawMessage `json:"plugins"`
	Trace       bool            `json:"trace"`
	Record      bool            `json:"record"`
	Lora        json.RawMessage `json:"lora"`
}

// The bounds of what one request may ask for.
const (
	maxPriority = 100
	maxTimeout  = 24 * time.Hour
)

// DefaultCommonFields are what a body begins with.
func DefaultCommonFields() CommonFields {
	return CommonFields{ParamFields: sampling.UnsetFields(), CachePrompt: true}
}

// check refuses what this server does not do and what is out of range, besides the sampling
// parameters.
func (x *CommonFields) check() error {
	if x.Priority < -maxPriority || x.Priority > maxPriority {
		return refusal.Invalid("priority", "priority is %d; it must be from %d to %d", x.Priority, -maxPriority, maxPriority)
	}
	if err := x.Guessing.check(); err != nil {
		return err
	}
	if t := x.TimeoutMS; t != nil && (*t < 1 || *t > maxTimeout.Milliseconds()) {
		return refusal.Invalid("timeout_ms", "timeout_ms is %d; it must be from 1 to %d", *t, maxTimeout.Milliseconds())
	}
	return nil
}

func (x *CommonFields) deadline(now time.Time) time.Time {
	if x.TimeoutMS == nil {
		return time.Time{}
	}
	return now.Add(time.Duration(*x.TimeoutMS) * time.Millisecond)
}

// WithTimeout bounds by its timeout_ms a request that is not for an answer; nil: it has none.
func WithTimeout(ctx context.Context, ms *int64) (context.Context, context.CancelFunc, error) {
	x := CommonFields{TimeoutMS: ms}
	if err := x.check(); err != nil {
		return nil, nil, err
	}
	deadline := x.deadline(time.Now())
	if deadline.IsZero() {
		return ctx, func() {}, nil
	}
	ctx, stop := context.WithDeadlineCause(ctx, deadline, scheduler.ErrDeadline)
	return ctx, stop, nil
}

// IsSet reports whether a field asks for something: not absent, null, false, or empty.
func IsSet(raw json.RawMessage) bool {
	return !slices.Contains([]string{"", "null", "false", "[]", "{}", `""`}, string(bytes.TrimSpace(raw)))
}

// tokens shows a model's tokens to package sampling.
type tokens struct {
	ctx context.Context
	*serving.Model
}

func (t tokens) Size() int { return t.Vocabulary }
func (t tokens) Tokenize(text string) ([]int32, error) {
	tokens, err := t.Encoder().Plain(t.ctx, text)
	return tokens, TextError(err, "logit_bias")
}
