// SPDX-License-Identifier: MIT

package loading

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/penstock/penstock/host/encoder"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler/piece"
)

// mediaEncoder is a serving.MediaEncoder: it gives what an encoder has made its place among tokens.
type mediaEncoder struct {
	encoder   *encoder.Encoder
	projector *native.Projector
	digest    string // of the projector's file, and of the options that decide what it makes
	pieces    *piece.Table
}

// Encode implements serving.MediaEncoder. Pixels and samples live as long as the item does: an
// encode that is shared reads those of the request that asked first.
func (m *mediaEncoder) Encode(ctx context.Context, item media.Item, caller, salt string) (tokens []int32, held []*piece.Piece, err error) {
	if err := inBounds(item); err != nil {
		return nil, nil, err
	}
	hash := m.hash(item)
	encoded, err := m.encoder.Encode(ctx, encoder.Source{
		Hash: hash, Scope: salt, Client: caller,
		Decode: func(context.Context) (encoder.Media, error) { return decoded(item), nil },
	})
	if err != nil {
		return nil, nil, told(ctx, item, err)
	}
	for i, part := range encoded {
		if part.Values == nil {
			tokens = append(tokens, part.Tokens...)
			continue
		}
		p := &piece.Piece{Shape: shapeOf(hash, i, part.Piece), Values: part.Values}
		rows, p, err := m.add(p)
		if err != nil {
			return nil, nil, told(ctx, item, err)
		}
		tokens, held = append(tokens, rows...), append(held, p)
	}
	return tokens, held, nil
}

// add gives a piece its tokens, and returns the piece that they stand for: another request may
// hold one with the same numbers.
func (m *mediaEncoder) add(p *piece.Piece) ([]int32, *piece.Piece, error) {
	for {
		rows, err := m.pieces.Add(p)
		if err != nil {
			return nil, nil, err
		}
		if held := m.pieces.Piece(rows[0]); held != nil {
			return rows, held, nil
		}
		// The last request that held the other one has just ended.
	}
}

// Count implements serving.MediaEncoder.
func (m *mediaEncoder) Count(item media.Item) (n int, err error) {
	if err := inBounds(item); err != nil {
		return 0, err
	}
	var parts *native.Media
	if item.Kind == media.Image {
		width, height := seen(item)
		parts, err = m.projector.Picture(width, height, nil)
	} else {
		parts, err = m.projector.Sound(item.Sound.Mono)
	}
	if err != nil {
		return 0, told(context.Background(), item, err)
	}
	for _, p := range parts.Pieces() {
		n += len(p.Tokens) + p.Embeddings
	}
	return n, parts.Close()
}

// hash is that of a file and of all else that decides its embeddings.
func (m *mediaEncoder) hash(item media.Item) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%x %s %t", item.Hash, m.digest, item.Kind == media.Image && item.Detail == lowDetail))
}

// shapeOf is that of the piece number i of what has a hash.
func shapeOf(of [sha256.Size]byte, i int, p native.Piece) piece.Shape {
	return piece.Shape{Hash: sha256.Sum256(binary.LittleEndian.AppendUint32(of[:], uint32(i))), Rows: p.Embeddings, Positions: p.Positions,
		Columns: p.Columns, Whole: p.Whole}
}

// lowDetail asks for a picture to be looked at in passing. As with OpenAI, no side of it has more
// than lowSide pixels then.
const (
	lowDetail = "low"
	lowSide   = 512
)

// seen is the size in which a picture is encoded.
func seen(item media.Item) (width, height int) {
	p := item.Picture
	if item.Detail == lowDetail {
		return p.Within(lowSide)
	}
	return p.Width, p.Height
}

// decoded is what the encoder reads of an item.
func decoded(item media.Item) encoder.Media {
	if item.Kind != media.Image {
		return encoder.Media{Samples: item.Sound.Mono}
	}
	p := item.Picture
	if width, height := seen(item); width != p.Width || height != p.Height {
		p = p.Scaled(width, height)
	}
	return encoder.Media{Width: p.Width, Height: p.Height, RGB: p.Pixels}
}

// inBounds refuses what a projector cannot take, in the words of requests.
func inBounds(item media.Item) error {
	if item.Kind != media.Image {
		return nil
	}
	p := item.Picture
	shorter, longer := min(p.Width, p.Height), max(p.Width, p.Height)
	switch {
	case longer > native.MaxPictureSide || longer*shorter > native.MaxPicturePixels:
		return refusal.Invalid(item.Field, "%s is a picture of %d×%d pixels; a side may have %d, and the whole %d: scale it down",
			item.Field, p.Width, p.Height, native.MaxPictureSide, native.MaxPicturePixels)
	case longer > shorter*native.MaxPictureAspect:
		return refusal.Invalid(item.Field, "%s is a picture of %d×%d pixels; the longer side may have %d times the pixels of the shorter one: cut it into several",
			item.Field, p.Width, p.Height, native.MaxPictureAspect)
	}
	return nil
}

// told is an error as a client should read it.
func told(ctx context.Context, item media.Item, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, encoder.ErrShare):
		return &refusal.Error{Kind: refusal.KindBusy, Code: "media_queue_full", Field: item.Field, Retry: 1,
			Message: "too many pictures and sounds of your key or address are waiting to be encoded (media.max_queue); try again in a moment"}
	case errors.Is(err, encoder.ErrFull):
		return &refusal.Error{Kind: refusal.KindUnavailable, Code: "media_queue_full", Field: item.Field, Retry: 1,
			Message: "too many pictures and sounds of others are waiting to be encoded (media.max_queue); try again in a moment"}
	case errors.Is(err, piece.ErrFull):
		return &refusal.Error{Kind: refusal.KindBusy, Code: "media_full", Field: item.Field, Retry: 1,
			Message: "the requests that are running have too many pictures and sounds; try again in a moment"}
	case errors.Is(err, encoder.ErrClosed), errors.Is(err, native.ErrClosed):
		return refusal.ShuttingDown()
	case errors.Is(err, native.ErrInvalid), errors.Is(err, native.ErrUnsupported):
		return refusal.Invalid(item.Field, "%s cannot be encoded for this model: %v", item.Field, err)
	}
	return fmt.Errorf("%s: %w", item.Field, err)
}
