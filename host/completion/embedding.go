// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/embedding"
	"github.com/penstock/penstock/host/operation"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
)

// maxInputs bounds the texts and documents of one request, as OpenAI does.
const maxInputs = 2048

// EmbeddingRequest asks for embeddings of texts.
type EmbeddingRequest struct {
	ModelName string          // "": the default model's
	Input     json.RawMessage // a text, a list of tokens and texts that make one text, or a list of such texts
	Field     string          // of the body, which holds Input
	OneVector bool            // for each text, whatever the model's pooling
	Normalize *int            // nil: as configured
	Truncate  bool            // texts that are too long, instead of refusing them
	TimeoutMS *int64
}

// Embeddings are the answer.
type Embeddings struct {
	Model   string
	Vectors [][][]float32 // of each text: one, or one for each token
	Tokens  int           // of all texts
}

// Embed computes embeddings.
func (s *Service) Embed(ctx context.Context, r EmbeddingRequest) (*Embeddings, error) {
	ctx, stop, err := withTimeout(ctx, r.TimeoutMS)
	if err != nil {
		return nil, err
	}
	defer stop()
	m, release, err := s.embedder(ctx, r.ModelName)
	if err != nil {
		return nil, err
	}
	defer release()
	e := embedding.Request{Pooling: m.Pooling, Normalize: m.Normalize}
	if e.Pooling == "" {
		e.Pooling = embedding.PoolingNone
	}
	if r.OneVector {
		e.Pooling = m.OneVector
	}
	if e.Pooling == embedding.PoolingNone && r.OneVector {
		return nil, Invalid("", "Pooling type 'none' is not OAI compatible. Please use a different pooling type: start the server with another --pooling")
	}
	if r.Normalize != nil {
		if err := embedding.CheckNormalize(*r.Normalize); err != nil {
			return nil, Invalid("embd_normalize", "embd_normalize: %v", err)
		}
		e.Normalize = *r.Normalize
	}
	limits, err := m.Open() // first, since it may take a while, and the pool of texts is small
	if err != nil {
		return nil, AsError(err, r.Field)
	}
	e.Inputs, err = Work(ctx, s, len(r.Input), func(ctx context.Context) ([][]int32, error) { return readInputs(ctx, m, limits, r) })
	if err != nil {
		return nil, err
	}
	result, err := embed(ctx, m, e)
	if err != nil {
		return nil, gone(ctx, AsError(err, r.Field))
	}
	return &Embeddings{Model: m.Name, Vectors: result.Vectors, Tokens: result.Tokens}, nil
}

// readInputs turns the texts of a request into tokens.
func readInputs(ctx context.Context, m *embedding.Model, l embedding.Limits, r EmbeddingRequest) ([][]int32, error) {
	reader := promptReader{chat.Encoder{Model: untemplated{m.Text}, Context: l.Input}, m.Vocabulary}
	inputs, err := reader.prompts(ctx, r.Input, r.Field, maxInputs)
	if err != nil {
		return nil, err
	}
	for i, in := range inputs {
		if len(in) == 0 {
			return nil, Invalid(r.Field, "Input content cannot be empty")
		}
		if r.Truncate && len(in) > l.Input {
			inputs[i] = in[:l.Input]
		}
	}
	return inputs, nil
}

// untemplated is a model that is given texts only.
type untemplated struct{ embedding.Text }

func (untemplated) Render(context.Context, chat.Conversation) (chat.Prompt, error) {
	return chat.Prompt{}, errors.New("it takes no conversations")
}

// embedder finds what gives embeddings.
func (s *Service) embedder(ctx context.Context, name string) (*embedding.Model, func(), error) {
	pick := func(m *Model) *embedding.Model { return m.Embeddings }
	return s.special(ctx, name, pick, "This server does not support embeddings. Start it with `--embeddings`, or with --embedding-model and a model for them")
}

// special finds a model beside one that generates, by its own name or that one's.
func (s *Service) special(ctx context.Context, name string, pick func(*Model) *embedding.Model, lacking string) (*embedding.Model, func(), error) {
	m, release, err := s.Models.Use(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if pick(m) == nil {
		release()
		return nil, nil, &Error{Status: http.StatusNotImplemented, Code: "unsupported", Type: TypeLacking, Message: lacking}
	}
	return pick(m), release, nil
}

// RankRequest asks how well documents answer a query.
type RankRequest struct {
	ModelName string
	Query     string
	Documents []string
	TimeoutMS *int64
}

// Ranks are the answer: a score for each document, in the order of the request. Higher is better.
type Ranks struct {
	Model  string
	Scores []float32
	Tokens int
}

// Rank scores documents.
func (s *Service) Rank(ctx context.Context, r RankRequest) (*Ranks, error) {
	if len(r.Documents) > maxInputs {
		return nil, Invalid("documents", "documents has %d entries; at most %d are taken", len(r.Documents), maxInputs)
	}
	ctx, stop, err := withTimeout(ctx, r.TimeoutMS)
	if err != nil {
		return nil, err
	}
	defer stop()
	pick := func(m *Model) *embedding.Model { return m.Scores }
	m, release, err := s.special(ctx, r.ModelName, pick, "This server does not support reranking. Start it with `--reranking`, or with --rerank-model and a model for it")
	if err != nil {
		return nil, err
	}
	defer release()
	limits, err := m.Open()
	if err != nil {
		return nil, AsError(err, "")
	}
	size := len(r.Query) * len(r.Documents)
	for _, d := range r.Documents {
		size += len(d)
	}
	inputs, err := Work(ctx, s, size, func(ctx context.Context) ([][]int32, error) { return pairs(ctx, m, limits, r) })
	if err != nil {
		return nil, err
	}
	result, err := embed(ctx, m, embedding.Request{Inputs: inputs, Pooling: embedding.PoolingRank, Normalize: embedding.NormalizeNone})
	if err != nil {
		return nil, gone(ctx, AsError(err, "documents"))
	}
	ranks := &Ranks{Model: m.Name, Scores: make([]float32, len(inputs)), Tokens: result.Tokens}
	for i, v := range result.Vectors {
		ranks.Scores[i] = v[0][0]
	}
	return ranks, nil
}

// pairs turns the query and each document into tokens. It ends with the first pair that is too long, since a long query is read again for
// each document.
func pairs(ctx context.Context, m *embedding.Model, l embedding.Limits, r RankRequest) ([][]int32, error) {
	inputs := make([][]int32, len(r.Documents))
	for i, document := range r.Documents {
		if ctx.Err() != nil {
			return nil, causeOf(ctx)
		}
		field := fmt.Sprintf("documents[%d]", i)
		if err := chat.CheckLength(r.Query+document, l.Input); err != nil {
			return nil, TextError(err, field)
		}
		tokens, err := m.Pair(ctx, r.Query, document)
		switch {
		case err != nil:
			return nil, TextError(err, field)
		case len(tokens) > l.Input:
			return nil, embeddingError(embedding.TooLongError{Input: i, Tokens: len(tokens), Limit: l.Input}, "documents")
		}
		inputs[i] = tokens
	}
	return inputs, nil
}

// withTimeout bounds a request by its timeout_ms.
func withTimeout(ctx context.Context, ms *int64) (context.Context, context.CancelFunc, error) {
	x := Extras{TimeoutMS: ms}
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

// gone is ErrGone where the client has left, else err.
func gone(ctx context.Context, err *Error) error {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return ErrGone
	}
	return err
}

// embeddingError tells what an error of package embedding means for a client; nil: it is none of them. field holds the texts.
func embeddingError(err error, field string) *Error {
	var tooLong embedding.TooLongError
	switch {
	case errors.As(err, &tooLong):
		return &Error{Status: http.StatusBadRequest, Code: TooLongCode, Type: TypeTooLong, Param: field,
			Numbers: map[string]int{PromptTokens: tooLong.Tokens, ContextTokens: tooLong.Limit},
			Message: fmt.Sprintf("input (%d tokens) is too large to process. increase the physical batch size (current batch size: %d): "+
				"entry %d of %s is longer than the model takes, or than --ubatch-size", tooLong.Tokens, tooLong.Limit, tooLong.Input, field)}
	case errors.Is(err, embedding.ErrInvalid):
		return Invalid(field, "%v", err)
	case errors.Is(err, embedding.ErrQueueFull):
		return &Error{Status: http.StatusTooManyRequests, Code: "queue_full", Type: TypeBusy, Retry: 1, Message: err.Error() + "; try again in a moment"}
	case errors.Is(err, embedding.ErrClosed):
		return schedulerError(scheduler.ErrClosed, field)
	case errors.Is(err, embedding.ErrUnavailable):
		return &Error{Status: http.StatusServiceUnavailable, Code: "embeddings_unavailable", Type: TypeUnavailable, Retry: 60, Message: err.Error()}
	}
	return nil
}

// embed computes embeddings, and notes in the request's operation what that took.
func embed(ctx context.Context, m *embedding.Model, r embedding.Request) (embedding.Result, error) {
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
