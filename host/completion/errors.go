// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"errors"
	"slices"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// timedOut ends a request that did not come to its end within its timeout_ms. The kind is one that
// clients do not answer by trying again, as OpenAI's do with the statuses 408, 409, 429 and all
// from 500 on: the same request would take as long again.
func timedOut(message string) *refusal.Error {
	return &refusal.Error{Kind: refusal.KindImpossible, Code: "timeout", Field: "timeout_ms", Message: message}
}

// AsError turns any error into a refusal. prompt names the field the prompt came from.
func AsError(err error, prompt string) *refusal.Error {
	var own *refusal.Error
	var badParam *sampling.Invalid
	var badMessage *chat.Invalid
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, sampling.ErrCrowded):
		return &refusal.Error{Kind: refusal.KindBusy, Code: "grammars_busy", Retry: 1, Message: sampling.ErrCrowded.Error()}
	case errors.As(err, &badParam):
		return refusal.Invalid(badParam.Field, "%v", badParam)
	case errors.As(err, &badMessage):
		return refusal.Invalid(badMessage.Field, "%v", badMessage)
	}
	if e := pluginError(err); e != nil {
		return e
	}
	return schedulerError(err, prompt)
}

// Typed is an error of a request as the program gets it whose own request it is: the context's, or
// one of the types of package refusal; nil: there is none.
func Typed(ctx context.Context, err error, prompt string) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var known *refusal.RequestError // allocated here, so not where a stream goes on
	if errors.As(err, &known) || errors.Is(err, refusal.ErrClosed) {
		return err
	}
	return AsError(err, prompt).Typed(err)
}

// pluginError tells what a plugin's refusal or fault means for a client.
func pluginError(err error) *refusal.Error {
	var refused interface {
		error
		Told() string
		Param() string
	}
	var fault interface {
		error
		Told() string
		Kind() string
	}
	switch {
	case errors.As(err, &refused):
		return &refusal.Error{Kind: refusal.KindInvalid, Code: refusal.PluginCode, Field: refused.Param(), Message: refused.Told(),
			Public: refused.Error()}
	case errors.As(err, &fault) && slices.Contains([]string{"busy", "budget"}, fault.Kind()):
		return &refusal.Error{Kind: refusal.KindPluginsBusy, Code: "plugins_busy", Retry: 1, Message: fault.Told(), Public: fault.Error()}
	case errors.As(err, &fault):
		return &refusal.Error{Kind: refusal.KindPluginFault, Code: "plugin_fault", Field: "plugins", Message: fault.Told(), Public: fault.Error()}
	}
	return nil
}

func schedulerError(err error, prompt string) *refusal.Error {
	var long *scheduler.PromptTooLong
	switch {
	case errors.Is(err, scheduler.ErrQueueShare):
		return &refusal.Error{Kind: refusal.KindBusy, Code: "queue_full", Retry: 1,
			Message: "too many requests of your key or address are waiting; try again in a moment"}
	case errors.Is(err, scheduler.ErrQueueFull):
		return &refusal.Error{Kind: refusal.KindUnavailable, Code: "queue_full", Retry: 1,
			Message: "too many requests of others are waiting; try again in a moment"}
	case errors.As(err, &long):
		return refusal.TooLong(prompt, long.Tokens, long.Context)
	case errors.Is(err, scheduler.ErrEmptyPrompt), errors.Is(err, scheduler.ErrBadRequest):
		return refusal.Invalid(prompt, "%v", err)
	case errors.Is(err, scheduler.ErrClosed):
		return refusal.ShuttingDown()
	case errors.Is(err, scheduler.ErrLost):
		return &refusal.Error{Kind: refusal.KindUnavailable, Code: "worker_lost", Retry: 5, Message: err.Error()}
	case errors.Is(err, scheduler.ErrDeadline):
		return timedOut(err.Error())
	case errors.Is(err, chain.ErrNoToken), errors.Is(err, chain.ErrNotAllowed):
		return &refusal.Error{Kind: refusal.KindImpossible, Code: "unsatisfiable",
			Message: "the answer cannot go on with what the request demands of it: " + err.Error()}
	}
	return &refusal.Error{Kind: refusal.KindInternal, Code: "internal_error", Message: err.Error()}
}
