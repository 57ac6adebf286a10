// SPDX-License-Identifier: MIT

// Package vectors carries out requests for embeddings of texts and for scores of documents, which
// are vectors of one number. To a program of this process it streams rows.
//
// What it shares with requests for text is package completion's: the models, the few workers for
// texts, and what errors mean to a client.
package vectors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/embedding"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/operation"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/ring"
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

// RankRequest asks how well documents answer a query.
type RankRequest struct {
	Caller    completion.Caller // who asks, for turns and shares
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
func Rank(ctx context.Context, s *completion.Service, r RankRequest) (*Ranks, error) {
	if len(r.Documents) > maxInputs {
		return nil, refusal.Invalid("documents", "documents has %d entries; at most %d are taken", len(r.Documents), maxInputs)
	}
	ctx, stop, err := completion.WithTimeout(ctx, r.TimeoutMS)
	if err != nil {
		return nil, err
	}
	defer stop()
	pick := func(m *serving.Model) *embedding.Model { return m.Scores }
	m, release, err := find(ctx, s, r.ModelName, pick, "This server does not support reranking. Start it with `--reranking`, or with --rerank-model and a model for it")
	if err != nil {
		return nil, err
	}
	defer release()
	limits, err := m.Open()
	if err != nil {
		return nil, asError(err, "")
	}
	size := len(r.Query) * len(r.Documents)
	for _, d := range r.Documents {
		size += len(d)
	}
	inputs, err := completion.Work(ctx, s, r.Caller, size, func(ctx context.Context) ([][]int32, error) { return pairs(ctx, m, limits, r) })
	if err != nil {
		return nil, err
	}
	result, err := embed(ctx, m, embedding.Task{Caller: r.Caller.ID, Inputs: inputs, Pooling: embedding.PoolingRank, Normalize: embedding.NormalizeNone})
	if err != nil {
		return nil, gone(ctx, asError(err, "documents"))
	}
	defer result.Release()
	ranks := &Ranks{Model: m.Name, Scores: make([]float32, len(inputs)), Tokens: result.Tokens}
	for i, v := range result.Vectors {
		ranks.Scores[i] = v[0][0]
	}
	return ranks, nil
}

// pairs turns the query and each document into tokens. It ends with the first pair that is too
// long, since a long query is read again for each document.
func pairs(ctx context.Context, m *embedding.Model, l embedding.Limits, r RankRequest) ([][]int32, error) {
	inputs := make([][]int32, len(r.Documents))
	for i, document := range r.Documents {
		if ctx.Err() != nil {
			return nil, gone(ctx, context.Cause(ctx))
		}
		field := fmt.Sprintf("documents[%d]", i)
		if err := chat.CheckLength(r.Query+document, l.Input); err != nil {
			return nil, completion.TextError(err, field)
		}
		tokens, err := m.Pair(ctx, r.Query, document)
		switch {
		case err != nil:
			return nil, completion.TextError(err, field)
		case len(tokens) > l.Input:
			return nil, asError(embedding.TooLongError{Input: i, Tokens: len(tokens), Limit: l.Input}, "documents")
		}
		inputs[i] = tokens
	}
	return inputs, nil
}

// What follows streams rows to a program of this process, which reads them one by one while the
// next are computed (ring.Stream). Errors are those that the program gets (completion.Typed).
//
// No dialect of the API has such a stream: an answer has one status, and what fails after the first
// row could not be told by it.

// mostRows is how many rows wait for a slow reader before more are computed, and how many texts are
// computed at once.
const mostRows = 64

// Stream computes embeddings of any number of texts: with OneVector a row for each text, with
// EachToken one for each token of each text. The first text is computed alone, so that its row
// comes soon, and then twice as many at a time. The request's Input and Field are not used.
func Stream(ctx context.Context, s *completion.Service, r EmbeddingRequest, texts iter.Seq[string]) iter.Seq2[[]float32, error] {
	return rows(ctx, "texts", func(ctx context.Context, push func([]float32), room func() error) error {
		r, most, done := r, 1, 0 // of this loop
		var unsound error
		r.row = func(row []float32) {
			if unsound == nil {
				if unsound = checkRow(row); unsound == nil {
					push(row)
				}
			}
		}
		var batch []string
		flush := func() error {
			if len(batch) == 0 {
				return nil
			}
			r.Input, _ = json.Marshal(batch) // texts can always be encoded
			r.Field = fmt.Sprintf("texts[%d:]", done)
			e, err := Embed(ctx, s, r)
			if err != nil {
				return err
			}
			defer e.Release() // once there is room: until then the rows count
			if unsound != nil {
				return asError(unsound, r.Field)
			}
			done, batch = done+len(batch), batch[:0]
			if !r.EachToken { // else one text makes many rows
				most = min(2*most, mostRows)
			}
			return room()
		}
		for text := range texts {
			if batch = append(batch, text); len(batch) < most {
				continue
			}
			if err := flush(); err != nil {
				return err
			}
		}
		return flush()
	})
}

// Encode gives the rows that a model reads in place of a picture or a sound, those of each piece as
// soon as it is encoded. name is what the file is called in errors.
func Encode(ctx context.Context, s *completion.Service, c completion.Caller, name string, file []byte) iter.Seq2[[]float32, error] {
	c.Files = func(string) []byte { return file }
	shared := rows(ctx, name, func(ctx context.Context, push func([]float32), _ func() error) error {
		return encode(ctx, s, c, name, func(values []float32, n int) {
			for row := range slices.Chunk(values, len(values)/n) {
				push(row)
			}
		})
	})
	return func(yield func([]float32, error) bool) {
		for row, err := range shared {
			if !yield(slices.Clone(row), err) { // prompts have the same piece
				return
			}
		}
	}
}

// encode encodes the file that a caller has, as a serving.MediaEncoder does. The model is used, and
// pixels or samples are kept, no longer than that takes.
func encode(ctx context.Context, s *completion.Service, c completion.Caller, name string, piece func(values []float32, rows int)) error {
	m, release, err := s.Models.Use(ctx, "")
	if err != nil {
		return err
	}
	defer release()
	items, let, err := s.Media.Load(ctx, c.ID, []media.Part{{Field: name, Source: media.FrameScheme}}, m.Media, m.Name, c.Files)
	if err != nil {
		return err
	}
	defer func() {
		items = nil // else what is given back is not free
		let()
	}()
	return m.MediaEncoder.Rows(ctx, items[0], c.ID, c.CacheSalt, piece)
}

// rows is a ring.Stream whose errors are those that a program gets.
func rows(ctx context.Context, field string, produce func(context.Context, func([]float32), func() error) error) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		for row, err := range ring.Stream(ctx, mostRows, produce) {
			if !yield(row, completion.Typed(ctx, err, field)) {
				return
			}
		}
	}
}
