// SPDX-License-Identifier: MIT

package vectors

import (
	"context"
	"time"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/embedding"
	"github.com/penstock/penstock/host/operation"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
)

// find finds a model beside one that generates, by its own name or that one's.
func find(ctx context.Context, s *completion.Service, name string, pick func(*serving.Model) *embedding.Model, lacking string) (*embedding.Model, func(), error) {
	m, release, err := s.Models.Use(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if pick(m) == nil {
		release()
		return nil, nil, &refusal.Error{Kind: refusal.KindLacking, Code: "unsupported", Message: lacking}
	}
	return pick(m), release, nil
}

// embed computes embeddings, and notes in the request's operation what that took.
func embed(ctx context.Context, m *embedding.Model, r embedding.Task) (embedding.Result, error) {
	begin := time.Now()
	result, err := m.Embed(ctx, r)
	took := time.Since(begin)
	done := scheduler.RequestRecord{Reason: answer.ReasonStop, Usage: scheduler.Usage{Prompt: result.Tokens}, Timing: scheduler.Timing{Prefill: took}, Total: took}
	if err != nil {
		done.Reason = answer.ReasonError
	}
	op := operation.From(ctx)
	op.Submitted(m.Name, 1)
	op.Ended(done)
	return result, err
}
