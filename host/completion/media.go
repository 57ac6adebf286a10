// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"fmt"
	"slices"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/scheduler"
)

// HasMedia reports whether there is a picture or a sound in the request's prompts.
func (r *Request) HasMedia() bool { return len(r.parts)+len(r.Media) > 0 }

// MediaTokens is how many tokens of the prompts stand for pictures, or for sounds, with those that the model expects around them.
func (r *Request) MediaTokens(kind media.Kind) (n int) {
	for i, item := range r.Media {
		if item.Kind == kind {
			n += r.mediaTokens[i]
		}
	}
	return n
}

// MediaEmbeddings is how many numbers the embeddings of the request's pictures and sounds have, about.
func (r *Request) MediaEmbeddings() int {
	if !r.HasMedia() {
		return 0
	}
	return r.Model.Embedding * (r.MediaTokens(media.Image) + r.MediaTokens(media.Audio))
}

// TextTokens are the tokens of a prompt without the embeddings of pictures and sounds.
func (r *Request) TextTokens(prompt int) []scheduler.Token {
	if !r.HasMedia() {
		return r.Prompts[prompt]
	}
	return slices.DeleteFunc(slices.Clone(r.Prompts[prompt]), func(t scheduler.Token) bool { return t < 0 })
}

// BeforeMedia are the tokens of the first prompt before its first picture or sound: all of them if it has none.
func (r *Request) BeforeMedia() []scheduler.Token {
	prompt := r.Prompts[0]
	if at := slices.IndexFunc(prompt, func(t scheduler.Token) bool { return t < 0 }); at >= 0 {
		return prompt[:at]
	}
	return prompt
}

// loadMedia reads the pictures and sounds of a request, whose model takes them, and gives each the room in the prompts that it will take.
// That may wait for memory and for other servers, so it is not done in the text pool.
func (s *Service) loadMedia(ctx context.Context, r *Request) (err error) {
	if len(r.parts) == 0 {
		return nil
	}
	ctx, cancel := r.untilDeadline(ctx)
	defer cancel()
	r.Media, r.letGo, err = s.Media.Load(ctx, r.parts, r.Model.Media, r.Model.Name, r.Caller.Files)
	if err != nil && ctx.Err() != nil {
		return causeOf(ctx)
	}
	if err != nil {
		return err
	}
	r.parts = nil // which are as long as the body
	places := make([][]scheduler.Token, len(r.Media))
	taken := make([]int, len(r.Media))
	for i, item := range r.Media {
		n, err := r.Model.MediaEncoder.Count(item)
		if err != nil {
			return fmt.Errorf("count the tokens of %s: %w", item.Field, err)
		}
		taken[i], places[i] = 1, slices.Repeat([]scheduler.Token{chat.MediaPlace}, n)
		r.mediaTokens = append(r.mediaTokens, n)
	}
	r.place(taken, places)
	return nil
}

// untilDeadline is a context that ends with the request's deadline, if it has one.
func (r *Request) untilDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.Deadline.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, r.Deadline, scheduler.ErrDeadline)
}

// place has tokens stand for the pictures and sounds in the prompts, where each has taken so many places until now.
func (r *Request) place(taken []int, tokens [][]scheduler.Token) {
	for p, rest := range r.Prompts {
		var prompt []scheduler.Token
		for {
			at := slices.Index(rest, chat.MediaPlace)
			if at < 0 {
				break
			}
			prompt = append(append(prompt, rest[:at]...), tokens[0]...)
			rest, taken, tokens = rest[at+taken[0]:], taken[1:], tokens[1:]
		}
		r.Prompts[p] = append(prompt, rest...)
	}
}

// encodeMedia has the pictures and sounds of a request encoded, one after another, and lets go of their pixels and samples. It waits for
// its turn among clients, and ends with ctx or the request's deadline.
func (r *Request) encodeMedia(ctx context.Context) error {
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
	tokens := make([][]scheduler.Token, len(r.Media))
	for i, item := range r.Media {
		r.encoding += r.mediaTokens[i]
		found, pieces, err := r.Model.MediaEncoder.Encode(ctx, item, r.Caller.ID, r.Caller.CacheSalt)
		if err != nil && ctx.Err() != nil {
			return causeOf(ctx)
		}
		if err != nil {
			return fmt.Errorf("encode %s: %w", item.Field, err)
		}
		tokens[i], r.pieces = found, append(r.pieces, pieces...)
	}
	r.place(r.mediaTokens, tokens)
	r.encoded = true
	return nil
}
