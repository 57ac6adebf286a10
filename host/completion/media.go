// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/scheduler"
)

// HasMedia reports whether there is a picture or a sound in the request's prompts.
func (r *TextRequest) HasMedia() bool { return len(r.parts)+len(r.Media) > 0 }

// MediaTokens is how many tokens of the prompts stand for pictures, or for sounds, with those that
// the model expects around them.
func (r *TextRequest) MediaTokens(kind media.Kind) (n int) {
	for i, item := range r.Media {
		if item.Kind == kind {
			n += r.told[i].Tokens
		}
	}
	return n
}

// MediaEmbeddings is how many numbers the embeddings of the request's pictures and sounds have,
// about.
func (r *TextRequest) MediaEmbeddings() int {
	if !r.HasMedia() {
		return 0
	}
	return r.Model.Embedding * (r.MediaTokens(media.Image) + r.MediaTokens(media.Audio))
}

// TextTokens are the tokens of a prompt without the embeddings of pictures and sounds.
func (r *TextRequest) TextTokens(prompt int) []scheduler.Token {
	if !r.HasMedia() {
		return r.Prompts[prompt]
	}
	return slices.DeleteFunc(slices.Clone(r.Prompts[prompt]), func(t scheduler.Token) bool { return t < 0 })
}

// BeforeMedia are the tokens of the first prompt before its first picture or sound: all of them if
// it has none.
func (r *TextRequest) BeforeMedia() []scheduler.Token {
	prompt := r.Prompts[0]
	if at := slices.IndexFunc(prompt, func(t scheduler.Token) bool { return t < 0 }); at >= 0 {
		return prompt[:at]
	}
	return prompt
}

// readMedia reads the pictures and sounds of a request, whose model takes them. That may wait for
// memory and for other servers, so it is not done in the text pool.
func (s *Service) readMedia(ctx context.Context, r *TextRequest) (err error) {
	if len(r.parts) == 0 {
		return nil
	}
	ctx, cancel := r.untilDeadline(ctx)
	defer cancel()
	r.Media, r.letGo, err = s.Media.Load(ctx, r.Caller.ID, r.parts, r.Model.Media, r.Model.Name, r.Caller.Files)
	if err != nil && ctx.Err() != nil {
		return causeOf(ctx)
	}
	if err != nil {
		return err
	}
	r.parts = nil // which are as long as the body
	for i := range r.Media {
		item := &r.Media[i]
		n, err := r.Model.MediaEncoder.Count(*item)
		if err != nil {
			return fmt.Errorf("count the tokens of %s: %w", item.Field, err)
		}
		r.told = append(r.told, item.Told(n))
	}
	return nil
}

// choose has the request go on with some of its pictures and sounds, by their numbers, in this
// order.
func (r *TextRequest) choose(numbers []int) {
	items, told := make([]media.Item, len(numbers)), make([]media.Told, len(numbers))
	for i, n := range numbers {
		items[i], told[i] = r.Media[n], r.told[n]
	}
	r.Media, r.told = items, told
	if len(numbers) == 0 && r.letGo != nil {
		r.letGo()
		r.letGo = nil
	}
}

// loadMedia reads the pictures and sounds of a request, unless plugins were told of them already,
// and gives each the room in the prompts that it will take.
func (s *Service) loadMedia(ctx context.Context, r *TextRequest) error {
	if err := s.readMedia(ctx, r); err != nil || len(r.Media) == 0 {
		return err
	}
	places := make([][]scheduler.Token, len(r.Media))
	taken := make([]int, len(r.Media))
	for i := range r.Media {
		taken[i], places[i] = 1, slices.Repeat([]scheduler.Token{chat.MediaPlaceholder}, r.told[i].Tokens)
	}
	r.place(taken, places)
	return nil
}

// untilDeadline is a context that ends with the request's deadline, if it has one.
func (r *TextRequest) untilDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.Deadline.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, r.Deadline, scheduler.ErrDeadline)
}

// place has tokens stand for the pictures and sounds in the prompts, where each has taken so many
// places until now.
func (r *TextRequest) place(taken []int, tokens [][]scheduler.Token) {
	for p, rest := range r.Prompts {
		var prompt []scheduler.Token
		for {
			at := slices.Index(rest, chat.MediaPlaceholder)
			if at < 0 {
				break
			}
			prompt = append(append(prompt, rest[:at]...), tokens[0]...)
			rest, taken, tokens = rest[at+taken[0]:], taken[1:], tokens[1:]
		}
		r.Prompts[p] = append(prompt, rest...)
	}
}

// encodeMedia encodes the pictures and sounds of a request, one after another and each once, and
// frees their pixels and samples. It waits for its turn among clients, and ends with ctx or the
// request's deadline.
func (r *TextRequest) encodeMedia(ctx context.Context) error {
	if len(r.Media) == 0 || r.encoded {
		return nil
	}
	r.hasArrived() // nobody's first token waits for this
	ctx, cancel := r.untilDeadline(ctx)
	defer cancel()
	defer func() {
		for i, item := range r.Media {
			r.Media[i] = media.Item{Field: item.Field, Kind: item.Kind}
		}
		r.letGo()
		r.letGo = nil
	}()
	r.rows = make([][]scheduler.Token, len(r.Media))
	taken := make([]int, len(r.Media))
	for i, item := range r.Media {
		taken[i] = r.told[i].Tokens
		if same := slices.IndexFunc(r.told[:i], func(t media.Told) bool { return t.Hash == r.told[i].Hash && t.Detail == r.told[i].Detail }); same >= 0 {
			r.rows[i] = r.rows[same]
			continue
		}
		r.encoding += taken[i]
		found, pieces, err := r.Model.MediaEncoder.Encode(ctx, item, r.Caller.ID, r.Caller.CacheSalt)
		if err != nil && ctx.Err() != nil {
			return causeOf(ctx)
		}
		if err != nil {
			return fmt.Errorf("encode %s: %w", item.Field, err)
		}
		r.rows[i], r.pieces = found, append(r.pieces, pieces...)
	}
	r.tellPlaces()
	r.place(taken, r.rows)
	r.encoded = true
	return nil
}

// tellPlaces notes where in its prompt each picture and sound begins, and which prompt that is.
// Each still has a run of chat.MediaPlaceholder there.
func (r *TextRequest) tellPlaces() {
	next := 0
	r.mediaOf = make([][]int, len(r.Prompts))
	for p, prompt := range r.Prompts {
		for at := 0; at < len(prompt); at++ {
			if prompt[at] != chat.MediaPlaceholder {
				continue
			}
			begin := at
			r.told[next].At = &begin
			r.mediaOf[p] = append(r.mediaOf[p], next)
			at += r.told[next].Tokens - 1
			next++
		}
	}
}

// tellMedia is what plugins learn about the pictures and sounds of a prompt; nil where it has none.
func (r *TextRequest) tellMedia(prompt int) []byte {
	if prompt >= len(r.mediaOf) || len(r.mediaOf[prompt]) == 0 {
		return nil
	}
	var told []media.Told
	for _, n := range r.mediaOf[prompt] {
		told = append(told, r.told[n])
	}
	text, err := json.Marshal(told)
	if err != nil {
		panic(err) // texts and finite numbers
	}
	return text
}
