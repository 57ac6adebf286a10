// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/piece"
)

// Media are the pictures and sounds of a request, in their order in the prompts. Each has stages of
// its own: part of a body, a file that was read (an item, of which plugins are told), and the
// tokens that stand for what was encoded.
type Media struct {
	Items []media.Item // without pixels and samples once they are encoded
	parts []media.Part // that become Items
	told  []media.Told // what plugins learn about each of Items
	let   func()       // gives back the memory of Items; it may be called more than once

	encoded bool                // the prompts have the true tokens; before, chat.MediaPlaceholder in their places
	rows    [][]scheduler.Token // the tokens of each
	pieces  []*piece.Piece      // that these stand for
	in      [][]int             // the numbers of those in each prompt
	begun   int                 // tokens whose encoding was begun
}

// free gives back the memory of the pixels and samples.
func (m *Media) free() {
	m.Items = nil // else what is given back is not free
	m.let()
}

// HasMedia reports whether there is a picture or a sound in the request's prompts.
func (p *Prompted) HasMedia() bool { return len(p.Media.parts)+len(p.Media.Items) > 0 }

// MediaTokens is how many tokens of the prompts stand for pictures, or for sounds, with those that
// the model expects around them.
func (p *Prompted) MediaTokens(kind media.Kind) (n int) {
	for i, item := range p.Media.Items {
		if item.Kind == kind {
			n += p.Media.told[i].Tokens
		}
	}
	return n
}

// MediaEmbeddings is how many numbers the embeddings of the request's pictures and sounds have,
// about.
func (p *Prompted) MediaEmbeddings() int {
	if !p.HasMedia() {
		return 0
	}
	return p.Model.Weights.Embedding * (p.MediaTokens(media.Image) + p.MediaTokens(media.Audio))
}

// TextTokens are the tokens of a prompt without the embeddings of pictures and sounds.
func (p *Prompted) TextTokens(prompt int) []scheduler.Token {
	if !p.HasMedia() {
		return p.Prompts[prompt]
	}
	return slices.DeleteFunc(slices.Clone(p.Prompts[prompt]), func(t scheduler.Token) bool { return t < 0 })
}

// BeforeMedia are the tokens of the first prompt before its first picture or sound: all of them if
// it has none.
func (p *Prompted) BeforeMedia() []scheduler.Token {
	prompt := p.Prompts[0]
	if at := slices.IndexFunc(prompt, func(t scheduler.Token) bool { return t < 0 }); at >= 0 {
		return prompt[:at]
	}
	return prompt
}

// readMedia reads the pictures and sounds of a request, whose model takes them. That may wait for
// memory and for other servers, so it is not done with a permit for texts.
func (s *Service) readMedia(ctx context.Context, p *Prompted) error {
	if len(p.Media.parts) == 0 {
		return nil
	}
	ctx, cancel := withDeadline(ctx, p.times.deadline)
	defer cancel()
	items, let, err := s.Media.Load(ctx, p.Caller.ID, p.Media.parts, p.Model.Media, p.Model.Name, p.Caller.Files)
	if err != nil && ctx.Err() != nil {
		return causeOf(ctx)
	}
	if err != nil {
		return err
	}
	p.Media.Items, p.Media.let, p.Media.parts = items, sync.OnceFunc(let), nil // the parts are as long as the body
	for i := range p.Media.Items {
		item := &p.Media.Items[i]
		n, err := p.Model.MediaEncoder.Count(*item)
		if err != nil {
			return fmt.Errorf("count the tokens of %s: %w", item.Field, err)
		}
		p.Media.told = append(p.Media.told, item.Told(n))
	}
	return nil
}

// choose keeps some of the pictures and sounds, by their numbers, in this order.
func (m *Media) choose(numbers []int) {
	items, told := make([]media.Item, len(numbers)), make([]media.Told, len(numbers))
	for i, n := range numbers {
		items[i], told[i] = m.Items[n], m.told[n]
	}
	if len(numbers) == 0 {
		m.free()
	}
	m.Items, m.told = items, told
}

// loadMedia reads the pictures and sounds of a request, unless plugins were told of them already,
// and gives each the room in the prompts that it will take.
func (s *Service) loadMedia(ctx context.Context, p *Prompted) error {
	if err := s.readMedia(ctx, p); err != nil || len(p.Media.Items) == 0 {
		return err
	}
	places := make([][]scheduler.Token, len(p.Media.Items))
	taken := make([]int, len(p.Media.Items))
	for i := range p.Media.Items {
		taken[i], places[i] = 1, slices.Repeat([]scheduler.Token{chat.MediaPlaceholder}, p.Media.told[i].Tokens)
	}
	p.placeMedia(taken, places)
	return nil
}

// placeMedia has tokens stand for the pictures and sounds in the prompts, in the places that each
// has taken until now: their numbers are in taken.
func (p *Prompted) placeMedia(taken []int, tokens [][]scheduler.Token) {
	for n, rest := range p.Prompts {
		var prompt []scheduler.Token
		for {
			at := slices.Index(rest, chat.MediaPlaceholder)
			if at < 0 {
				break
			}
			prompt = append(append(prompt, rest[:at]...), tokens[0]...)
			rest, taken, tokens = rest[at+taken[0]:], taken[1:], tokens[1:]
		}
		p.Prompts[n] = append(prompt, rest...)
	}
}

// encodeMedia encodes the pictures and sounds of a request, one after another and each once, and
// frees their pixels and samples. It waits for its turn among clients, and ends with ctx or the
// request's deadline.
func (p *Prompted) encodeMedia(ctx context.Context) error {
	if len(p.Media.Items) == 0 || p.Media.encoded {
		return nil
	}
	p.held.arrived() // nobody's first token waits for this
	ctx, cancel := withDeadline(ctx, p.times.deadline)
	defer cancel()
	defer func() {
		for i, item := range p.Media.Items {
			p.Media.Items[i] = media.Item{Field: item.Field, Kind: item.Kind}
		}
		p.Media.let()
	}()
	p.Media.rows = make([][]scheduler.Token, len(p.Media.Items))
	taken := make([]int, len(p.Media.Items))
	for i, item := range p.Media.Items {
		taken[i] = p.Media.told[i].Tokens
		if same := slices.IndexFunc(p.Media.told[:i], func(t media.Told) bool { return t.Hash == p.Media.told[i].Hash && t.Detail == p.Media.told[i].Detail }); same >= 0 {
			p.Media.rows[i] = p.Media.rows[same]
			continue
		}
		p.Media.begun += taken[i]
		found, pieces, err := p.Model.MediaEncoder.Encode(ctx, item, p.Caller.ID, p.Caller.CacheSalt)
		if err != nil && ctx.Err() != nil {
			return causeOf(ctx)
		}
		if err != nil {
			return fmt.Errorf("encode %s: %w", item.Field, err)
		}
		p.Media.rows[i], p.Media.pieces = found, append(p.Media.pieces, pieces...)
	}
	p.tellPlaces()
	p.placeMedia(taken, p.Media.rows)
	p.Media.encoded = true
	return nil
}

// tellPlaces notes where in its prompt each picture and sound begins, and which prompt that is.
// Each still has a run of chat.MediaPlaceholder there.
func (p *Prompted) tellPlaces() {
	next := 0
	p.Media.in = make([][]int, len(p.Prompts))
	for n, prompt := range p.Prompts {
		for at := 0; at < len(prompt); at++ {
			if prompt[at] != chat.MediaPlaceholder {
				continue
			}
			begin := at
			p.Media.told[next].At = &begin
			p.Media.in[n] = append(p.Media.in[n], next)
			at += p.Media.told[next].Tokens - 1
			next++
		}
	}
}

// tellMedia is what plugins learn about the pictures and sounds of a prompt; nil where it has none.
func (p *Prompted) tellMedia(prompt int) []byte {
	if prompt >= len(p.Media.in) || len(p.Media.in[prompt]) == 0 {
		return nil
	}
	var told []media.Told
	for _, n := range p.Media.in[prompt] {
		told = append(told, p.Media.told[n])
	}
	text, err := json.Marshal(told)
	if err != nil {
		panic(err) // texts and finite numbers
	}
	return text
}
