// SPDX-License-Identifier: MIT

package servingtest

import (
	"context"
	"sync/atomic"

	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// MediaEncoder is the toy's serving.MediaEncoder. A picture stands between two tokens, a sound has
// none around it, and the embeddings of both depend on their content.
type MediaEncoder struct {
	Table   *piece.Table
	Before  func(ctx context.Context, caller string) error // each is encoded; nil: nothing
	Encoded atomic.Int32                                   // pictures and sounds
}

// The tokens around a picture.
const (
	PictureBegin = '<'
	PictureEnd   = '>'
)

// rows is how many embeddings a picture or a sound has: 2 to 6.
func rows(item media.Item) int { return 2 + int(item.Hash[0])%5 }

// Encode implements serving.MediaEncoder.
func (e *MediaEncoder) Encode(ctx context.Context, item media.Item, caller, salt string) ([]int32, []*piece.Piece, error) {
	if e.Before != nil {
		if err := e.Before(ctx, caller); err != nil {
			return nil, nil, err
		}
	}
	if item.Picture.Pixels == nil && item.Sound.Mono == nil {
		panic("its pixels and samples are gone")
	}
	e.Encoded.Add(1)
	n := rows(item)
	shape := piece.Shape{Rows: n, Positions: n, Whole: item.Hash[1]%2 == 0}
	if item.Kind == media.Image && item.Hash[2]%2 == 0 {
		shape.Positions, shape.Columns = 1+n/2, 2 // a grid
	}
	p := schedulertest.NewPiece(string(item.Hash[:])+salt, shape)
	tokens, err := e.Table.Add(p)
	if item.Kind == media.Image {
		tokens = append(append([]int32{PictureBegin}, tokens...), PictureEnd)
	}
	return tokens, []*piece.Piece{p}, err
}

// Rows implements serving.MediaEncoder.
func (e *MediaEncoder) Rows(ctx context.Context, item media.Item, caller, salt string, piece func(values []float32, rows int)) error {
	_, pieces, err := e.Encode(ctx, item, caller, salt)
	for _, p := range pieces {
		piece(p.Values, p.Rows)
	}
	return err
}

// Count implements serving.MediaEncoder.
func (*MediaEncoder) Count(item media.Item) (int, error) {
	if item.Kind == media.Image {
		return 2 + rows(item), nil
	}
	return rows(item), nil
}
