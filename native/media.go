// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"fmt"
	"slices"
	"unsafe"
)

// Media is a picture or a sound as it stands in a prompt, scaled to what a projector sees or cut
// to what it hears. It holds the numbers that Encode computes with: close it once they are
// encoded.
type Media struct {
	object
	pieces []Piece
}

// Piece is a part of a picture or a sound in a prompt: tokens that the model expects around it, or
// embeddings.
type Piece struct {
	Tokens     []int32 // of the vocabulary; nil: embeddings
	Embeddings int     // how many, each of which takes a KV cell; 0: tokens
	Positions  int     // that the tokens or embeddings take; those of a grid take fewer than there are
	// Columns of a grid whose rows and columns are coordinates of positions (M-RoPE); 0: position
	// follows on position.
	Columns int
	// Whole says that the embeddings see one another, not only those before, so that one pass
	// computes them all.
	Whole bool
}

// Picture divides a picture into what the model reads: rgb has three bytes a pixel, row by row
// from the top left. nil counts only: the pieces are right, but cannot be encoded. It scales on
// the calling goroutine, which for millions of pixels takes some milliseconds each.
//
// The same pixels give the same pieces, wherever they stand in a prompt.
//
// # Errors
//   - ErrUnsupported: the model cannot see.
//   - ErrInvalid: a size beyond the bounds (see MaxPictureSide), or one that rgb does not have.
func (p *Projector) Picture(width, height int, rgb []byte) (*Media, error) {
	if width < 1 || height < 1 || width > MaxPictureSide || height > MaxPictureSide {
		return nil, fmt.Errorf("picture: %w: %d x %d pixels; a side has 1 to %d", ErrInvalid, width, height, MaxPictureSide)
	}
	if rgb != nil && len(rgb) != 3*width*height {
		return nil, fmt.Errorf("picture: %w: %d bytes for %d x %d pixels of 3", ErrInvalid, len(rgb), width, height)
	}
	return p.divide("picture", func(out **C.ps_media, e *C.ps_error) C.int32_t {
		return C.ps_projector_picture(p.c(), C.uint32_t(width), C.uint32_t(height), (*C.uint8_t)(unsafe.SliceData(rgb)), out, e)
	})
}

// Sound cuts a sound into what the model reads. The samples are mono, at ProjectorInfo.SampleRate,
// from -1 to 1.
//
// # Errors
//   - ErrUnsupported: the model cannot hear.
//   - ErrInvalid: no samples, more than 2^26, or one that is no finite number.
func (p *Projector) Sound(samples []float32) (*Media, error) {
	return p.divide("sound", func(out **C.ps_media, e *C.ps_error) C.int32_t {
		return C.ps_projector_sound(p.c(), (*C.float)(unsafe.SliceData(samples)), C.size_t(len(samples)), out, e)
	})
}

func (p *Projector) divide(what string, call func(**C.ps_media, *C.ps_error) C.int32_t) (*Media, error) {
	if err := p.enter(); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	defer p.leave()
	var e C.ps_error
	var c *C.ps_media
	if err := failure(call(&c, &e), &e); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	m := &Media{}
	m.own(unsafe.Pointer(c), nil, func() { C.ps_media_free(c) })
	for i := range int(C.ps_media_size(c)) {
		var piece C.ps_media_piece
		if err := failure(C.ps_media_piece_at(c, C.size_t(i), &piece, &e), &e); err != nil {
			_ = m.Close()
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		m.pieces = append(m.pieces, pieceOf(&piece))
	}
	return m, nil
}

func pieceOf(c *C.ps_media_piece) Piece {
	if c.tokens != nil {
		return Piece{Tokens: slices.Clone(unsafe.Slice((*int32)(unsafe.Pointer(c.tokens)), int(c.n))), Positions: int(c.positions)}
	}
	return Piece{Embeddings: int(c.n), Positions: int(c.positions), Columns: int(c.columns), Whole: bool(c.whole)}
}

// Pieces are what stands in the prompt, in order. They can be asked after Close too.
func (m *Media) Pieces() []Piece { return m.pieces }

func (m *Media) c() *C.ps_media { return (*C.ps_media)(m.h.c) }
