// SPDX-License-Identifier: MIT

// Package vectors carries out requests for embeddings of texts and for scores of documents, which
// are vectors of one number. To a program of this process it streams rows (stream.go).
//
// What it shares with requests for text is package completion's: the models, the few workers for
// texts, and what errors mean to a client.
package vectors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/embedding"
	"github.com/penstock/penstock/host/operation"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
)

// maxInputs bounds the texts and documents of one request, as OpenAI does.
const maxInputs = 2048

// EmbeddingRequest asks for embeddings of texts.
type EmbeddingRequest struct {
	Caller    completion.Caller // who asks, for turns and shares
	ModelName string            // "": the default model's
	Input     json.RawMessage   // a text, a list of tokens and texts that make one text, or a list of such texts
	Field     string            // of the body, which holds Input
	OneVector bool              // for each text, whatever the model's pooling
	EachToken bool              // has a vector, whatever the model's pooling
	Normalize *int              // nil: as configured
	Truncate  bool              // texts that are too long, instead of refusing them
	TimeoutMS *int64

	row func([]float32) // is given the vectors as they come; see embedding.Task
}

// Embeddings are the answer, which is to be released once it is sent.
type Embeddings struct {
	Model   string
	Vectors [][][]float32 // of each text: one, or one for each token
	Tokens  int           // of all texts

	result embedding.Result
}

// Release forgets the vectors. They count among those of all clients until then.
func (e *Embeddings) Release() { e.result.Release() }

// Embed computes embeddings.
func Embed(ctx context.Context, s *completion.Service, r EmbeddingRequest) (*Embeddings, error) {
	ctx, stop, err := completion.WithTimeout(ctx, r.TimeoutMS)
	if err != nil {
		return nil, err
	}
	defer stop()
	pick := func(m *serving.Model) *embedding.Model { return m.Embeddings }
	m, release, err := find(ctx, s, r.ModelName, pick, "This server does not support embeddings. Start it with `--embeddings`, or with --embedding-model and a model for them")
	if err != nil {
		return nil, err
	}
	defer release()
	e := embedding.Task{Caller: r.Caller.ID, Pooling: m.Pooling, Normalize: m.Normalize, Row: r.row}
	if e.Pooling == "" {
		e.Pooling = embedding.PoolingNone
	}
	switch {
	case r.OneVector:
		e.Pooling = m.OneVector
	case r.EachToken:
		e.Pooling = embedding.PoolingNone
	}
	if e.Pooling == embedding.PoolingNone && r.OneVector {
		return nil, refusal.Invalid("", "Pooling type 'none' is not OAI compatible. Please use a different pooling type: start the server with another --pooling")
	}
	if r.Normalize != nil {
		if err := embedding.CheckNormalize(*r.Normalize); err != nil {
			return nil, refusal.Invalid("embd_normalize", "embd_normalize: %v", err)
		}
		e.Normalize = *r.Normalize
	}
	limits, err := m.Open() // first, since it may take a while, and the pool of texts is small
	if err != nil {
		return nil, asError(err, r.Field)
	}
	e.Inputs, err = completion.Work(ctx, s, r.Caller, len(r.Input), func(ctx context.Context) ([][]int32, error) { return readInputs(ctx, m, limits, r) })
	if err != nil {
		return nil, err
	}
	result, err := embed(ctx, m, e)
	if err != nil {
		return nil, gone(ctx, asError(err, r.Field))
	}
	if err := checkNumbers(result.Vectors); err != nil {
		result.Release()
		return nil, asError(err, r.Field)
	}
	return &Embeddings{Model: m.Name, Vectors: result.Vectors, Tokens: result.Tokens, result: result}, nil
}

// checkNumbers refuses vectors that JSON cannot have, before the first of them is written.
func checkNumbers(vectors [][][]float32) error {
	for _, of := range vectors {
		for _, v := range of {
			if err := checkRow(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkRow refuses a vector that has something else than numbers.
func checkRow(v []float32) error {
	for _, x := range v {
		if x-x != 0 {
			return fmt.Errorf("%w: the model gave %v, which is no number", embedding.ErrPass, x)
		}
	}
	return nil
}

// readInputs turns the texts of a request into tokens.
func readInputs(ctx context.Context, m *embedding.Model, l embedding.Limits, r EmbeddingRequest) ([][]int32, error) {
	reader := completion.PromptReader{Encoder: chat.Encoder{Model: untemplated{m.Text}, Context: l.Input}, Vocabulary: m.Vocabulary}
	inputs, err := reader.Prompts(ctx, r.Input, r.Field, maxInputs)
	if err != nil {
		return nil, err
	}
	around, err := reader.Text(ctx, "")
	if err != nil {
		return nil, err
	}
	for i, in := range inputs {
		if len(in) == 0 {
			return nil, refusal.Invalid(r.Field, "Input content cannot be empty")
		}
		if r.Truncate && len(in) > l.Input {
			inputs[i] = truncateTokens(in, l.Input, around)
		}
	}
	return inputs, nil
}

// truncateTokens leaves most of the tokens of a text, with those that end it as they end an empty
// one, around: a model that was trained with [SEP] at the end expects it there.
func truncateTokens(tokens []int32, most int, around []int32) []int32 {
	n := 0
	for n < min(len(around), most) && tokens[len(tokens)-1-n] == around[len(around)-1-n] {
		n++
	}
	return slices.Concat(tokens[:most-n], tokens[len(tokens)-n:])
}

// untemplated is a model that is given texts only.
type untemplated struct{ embedding.Text }

func (untemplated) Render(context.Context, chat.Conversation) (chat.Prompt, error) {
	return chat.Prompt{}, errors.New("it takes no conversations")
}

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
