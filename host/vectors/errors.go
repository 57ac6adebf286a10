// SPDX-License-Identifier: MIT

package vectors

import (
	"context"
	"errors"
	"fmt"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/embedding"
	"github.com/penstock/penstock/host/refusal"
)

// asError turns any error into a refusal. field holds the texts.
func asError(err error, field string) *refusal.Error {
	var tooLong embedding.TooLongError
	switch {
	case errors.As(err, &tooLong):
		return &refusal.Error{Kind: refusal.KindTooLong, Code: refusal.TooLongCode, Field: field,
			Numbers: map[string]int{refusal.PromptTokens: tooLong.Tokens, refusal.ContextTokens: tooLong.Limit},
			Message: fmt.Sprintf("input (%d tokens) is too large to process. increase the physical batch size (current batch size: %d): "+
				"entry %d of %s is longer than the model takes, or than --ubatch-size", tooLong.Tokens, tooLong.Limit, tooLong.Input, field)}
	case errors.Is(err, embedding.ErrInvalid):
		return refusal.Invalid(field, "%v", err)
	case errors.Is(err, embedding.ErrShare):
		return &refusal.Error{Kind: refusal.KindBusy, Code: "queue_full", Retry: 1, Message: err.Error() + "; try again in a moment"}
	case errors.Is(err, embedding.ErrQueueFull):
		return &refusal.Error{Kind: refusal.KindUnavailable, Code: "queue_full", Retry: 1, Message: err.Error() + "; try again in a moment"}
	case errors.Is(err, embedding.ErrClosed):
		return refusal.ShuttingDown()
	case errors.Is(err, embedding.ErrUnavailable):
		return &refusal.Error{Kind: refusal.KindUnavailable, Code: "embeddings_unavailable", Retry: 60, Message: err.Error()}
	}
	return completion.AsError(err, field)
}

// gone is refusal.ErrGone where the client has left, else err.
func gone(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return refusal.ErrGone
	}
	return err
}
