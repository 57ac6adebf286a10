// SPDX-License-Identifier: MIT

package vectors

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/scheduler/ring"
)

// This file has rows for a program of this process, which reads them one by one while the next are
// computed (ring.Stream). Errors are those that the program gets (completion.Typed).
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
