// SPDX-License-Identifier: MIT

package engine

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/tools/must"
)

// perceiving is an engine with a small model that sees or hears.
type perceiving struct {
	*Engine
	pair      synth.MediaPair
	projector string
	table     *piece.Table
}

// encoded are the parts that projectors have made, by pair and seed: encoding a sound is dearer
// than what most tests do with it.
var encoded = map[synth.MediaPair]map[int][]part{}

// openPair opens a pair, and checks at the end that everything is freed.
func openPair(t testing.TB, pair synth.MediaPair, o Options) *perceiving {
	t.Helper()
	before := native.LiveObjects()
	text, projector, err := pair.WriteFiles(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	p := &perceiving{pair: pair, projector: projector, table: piece.NewTable()}
	o.Path, o.Threads, o.ContextSize = text, 1, cmp.Or(o.ContextSize, 8192)
	if p.Engine, err = Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if after := native.LiveObjects(); after != before {
			t.Errorf("%+v before, %+v after", before, after)
		}
	})
	return p
}

// part is a part of a prompt: tokens of the vocabulary, or a piece with its tokens.
type part struct {
	tokens []scheduler.Token
	piece  *piece.Piece
}

// said are the tokens of a text.
func (p *perceiving) said(t testing.TB, text string) part {
	t.Helper()
	tokens := must.Get(p.Tokenize(t.Context(), text, false, true))(t)
	return part{tokens: tokens}
}

// seen are the parts of a picture or a sound that differs with its seed. Of a pair for both, even
// seeds are sounds.
func (p *perceiving) seen(t testing.TB, seed int) (parts []part) {
	t.Helper()
	if encoded[p.pair] == nil {
		encoded[p.pair] = map[int][]part{}
	}
	if encoded[p.pair][seed] == nil {
		encoded[p.pair][seed] = p.encode(t, seed)
	}
	for _, of := range encoded[p.pair][seed] {
		if of.piece != nil {
			made := *of.piece
			tokens := must.Get(p.table.Add(&made))(t)
			of = part{tokens, &made}
		}
		parts = append(parts, of)
	}
	return parts
}

// encode has the projector divide and encode what is seen or heard. Its pieces have no tokens yet.
func (p *perceiving) encode(t testing.TB, seed int) (parts []part) {
	t.Helper()
	projector := must.Get(native.OpenProjector(p.weights, p.projector, native.ProjectorOptions{Threads: 1}))(t)
	media := must.Get(p.divide(projector, seed))(t)
	defer func() {
		if err := errors.Join(media.Close(), projector.Close()); err != nil {
			t.Error(err)
		}
	}()
	for i, of := range media.Pieces() {
		if of.Tokens != nil {
			parts = append(parts, part{tokens: of.Tokens})
			continue
		}
		values := must.Get(projector.Encode(t.Context(), media, i))(t)
		s := piece.Shape{Rows: of.Embeddings, Positions: of.Positions, Columns: of.Columns, Whole: of.Whole}
		s.Hash = sha256.Sum256(fmt.Append(nil, seed, i))
		parts = append(parts, part{piece: &piece.Piece{Shape: s, Values: values}})
	}
	return parts
}

func (p *perceiving) divide(projector *native.Projector, seed int) (*native.Media, error) {
	if p.pair.Sees() && !(p.pair.Hears() && seed%2 == 0) {
		const width, height = 100, 80
		rgb := make([]byte, 0, 3*width*height)
		for y := range height {
			for x := range width {
				rgb = append(rgb, byte(x*2+seed*70), byte(y*3), byte(x+y*seed))
			}
		}
		return projector.Picture(width, height, rgb)
	}
	samples := make([]float32, projector.Info().SampleRate/2)
	for i := range samples {
		samples[i] = float32(0.4 * math.Sin(2*math.Pi*300*float64(seed*i)/float64(projector.Info().SampleRate)))
	}
	return projector.Sound(samples)
}

// read computes parts in a sequence from a position on, at most slice rows of a piece at once, and
// returns the next position.
func (p *perceiving) read(t testing.TB, seq int32, position, slice int, parts ...part) int {
	t.Helper()
	for _, of := range parts {
		if of.piece == nil {
			feed(t, p.backend, seq, position, of.tokens...)
			position += len(of.tokens)
			continue
		}
		for row := 0; row < of.piece.Rows; {
			b := p.rows(of, seq, position, row, slice)
			pass(t, p.backend, b)
			row += b.Len()
		}
		position += of.piece.Positions
	}
	return position
}

// rows is a pass over rows of a piece that begins at a position.
func (p *perceiving) rows(of part, seq int32, position, row, slice int) *scheduler.Batch {
	to := of.piece.Rows
	if slice > 0 && !of.piece.Whole {
		to = min(row+slice, to)
	}
	b := &scheduler.Batch{Piece: of.piece, FirstRow: row}
	for ; row < to; row++ {
		at := position
		if of.piece.Columns == 0 {
			at += row
		}
		b.Add(of.tokens[row], int32(at), seq, false)
	}
	return b
}

const replied = 12 // tokens

// answer reads parts and goes on greedily.
func (p *perceiving) answer(t testing.TB, seq int32, position int, parts ...part) (text string) {
	t.Helper()
	position = p.read(t, seq, position, 0, parts...)
	token := likeliestOf(p.backend.Row(0))
	for range replied {
		text += p.Engine.Piece(token)
		token = likeliestOf(feed(t, p.backend, seq, position, token))
		position++
	}
	return text
}

func likeliestOf(row []float32) int32 {
	token, _ := likeliest(row)
	return token
}

// conversation is a prompt with two pictures or sounds.
func (p *perceiving) conversation(t testing.TB) (parts []part) {
	t.Helper()
	return slices.Concat([]part{p.said(t, "<|im_start|>user\n")}, p.seen(t, 1), []part{p.said(t, "beside ")}, p.seen(t, 2),
		[]part{p.said(t, "what?<|im_end|>\n<|im_start|>assistant\n")})
}
