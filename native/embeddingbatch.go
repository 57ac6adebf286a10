// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// EmbeddingBatch is the input of a forward pass over the embeddings of one piece of a picture or a
// sound, or over some of them.
type EmbeddingBatch struct {
	Piece    Piece
	Values   []float32 // of the whole piece, as Projector.Encode gives them
	From, To int       // the embeddings that the pass computes; all of a piece that is Whole
	Position int32     // of the piece's first embedding, whatever From is
	Sequence int32

	// DuringCopy is as in Batch.
	DuringCopy bool
}

// DecodeEmbeddings runs one forward pass over b and waits for it. It gives no rows: a prompt ends
// in a token. Errors are those of Decode.
func (c *Context) DecodeEmbeddings(b *EmbeddingBatch) error {
	if err := c.enterAlone(); err != nil {
		return err
	}
	defer c.leaveAlone()
	c.first, c.states, c.rows = nil, nil, 0
	width := c.model.info.EmbeddingIn
	if b.From < 0 || b.From >= b.To || b.To > b.Piece.Embeddings || len(b.Values) != b.Piece.Embeddings*width {
		return fmt.Errorf("decode: %w: embeddings %d to %d of %d, with %d numbers of %d each", ErrInvalid, b.From, b.To, b.Piece.Embeddings,
			len(b.Values), width)
	}
	if err := c.finishCopyFor(&Batch{Sequences: []int32{b.Sequence}, DuringCopy: b.DuringCopy}); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	batch := C.ps_embedding_batch{
		from: C.size_t(b.From), to: C.size_t(b.To), piece: C.size_t(b.Piece.Embeddings), columns: C.int32_t(b.Piece.Columns),
		whole: C._Bool(b.Piece.Whole), position: C.int32_t(b.Position), sequence: C.int32_t(b.Sequence),
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	first := &b.Values[b.From*width]
	pin.Pin(first)
	batch.values = (*C.float)(unsafe.Pointer(first))
	C.ps_context_use_threads(c.c(), C.int32_t(c.governor.Now())) // no trial of other numbers: those compare passes over tokens
	if code := C.ps_decode_embeddings(c.c(), &batch, &c.err); code != C.PS_OK {
		return fmt.Errorf("decode: %w", failure(code, &c.err))
	}
	return nil
}
