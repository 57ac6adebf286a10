// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
// extern _Bool penstockProgress(float progress, uintptr_t user);
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime/cgo"
	"slices"
	"sync"
	"unsafe"
)

// Projector is the encoder of pictures, of sounds or of both that belongs to a model: it makes
// embeddings of them, which the model reads in place of tokens. Its methods may run concurrently;
// encodes wait for one another.
type Projector struct {
	object
	info     ProjectorInfo
	encoding sync.Mutex
}

// ProjectorOptions say how a projector is loaded and computes. The zero value computes on the CPU,
// with as many threads as there are cores.
type ProjectorOptions struct {
	Device         string // name of one of Devices that computes; "": the CPU
	Threads        int    // of the CPU; 0: physical cores
	FlashAttention string // auto, on, off; "" is auto
	ImageMinTokens int    // of a picture, where the projector leaves a choice; 0: as its file says
	ImageMaxTokens int
}

// ProjectorInfo is what a projector can do.
type ProjectorInfo struct {
	Vision     bool // it sees pictures
	Audio      bool // it hears sounds
	SampleRate int  // of sounds, in Hz; 0 without Audio
	Width      int  // numbers of an embedding
	// Whole is how many embeddings a pass must have room for: those of the largest piece that is
	// computed in one pass. 0: passes may be smaller.
	Whole int
}

// The bounds of pictures, beyond which llama.cpp's 32-bit arithmetic wraps, or a side is scaled to
// nothing. A sound has at most as many samples as a picture may have pixels.
const (
	MaxPictureSide   = C.PS_MEDIA_SIDE   // pixels
	MaxPictureAspect = C.PS_MEDIA_ASPECT // of the longer side to the shorter one
	MaxPicturePixels = C.PS_MEDIA_PIXELS
)

// OpenProjector loads the projector file at path for m, which may be closed before it.
//
// libmtmd aborts the process on some damaged files: check an unknown file first, as package
// host/model does.
//
// # Errors
//   - ErrNotFound, ErrNotGGUF, ErrBadModel and ErrTooLarge are about the file, as with LoadModel.
//   - ErrUnsupported: it belongs to another model, or is of a kind that llama.cpp does not know.
//   - ErrInvalid is about the options.
func OpenProjector(m *Model, path string, o ProjectorOptions) (*Projector, error) {
	if err := checkFile(path); err != nil {
		return nil, err
	}
	p, err := openProjector(m, path, o)
	if errors.Is(err, ErrNoMemory) {
		err = fmt.Errorf("%w: %w", ErrTooLarge, err)
	} else if errors.Is(err, ErrFailed) {
		err = fmt.Errorf("%w: %w", ErrBadModel, err)
	}
	if err != nil {
		return nil, fmt.Errorf("load projector %s: %w", path, err)
	}
	if err := p.measure(); err != nil {
		_ = p.Close()
		return nil, fmt.Errorf("load projector %s: %w", path, err)
	}
	return p, nil
}

func openProjector(m *Model, path string, o ProjectorOptions) (*Projector, error) {
	flash, err := choose("flash attention", o.FlashAttention, "auto", flashAttention)
	if err != nil {
		return nil, err
	}
	const most = 1 << 20 // what does not fit 32 bits is refused as what is too large
	params := C.ps_projector_params{
		threads: C.int32_t(min(o.Threads, most)), flash_attention: flash,
		least: C.int32_t(max(-1, min(o.ImageMinTokens, most))), most: C.int32_t(max(-1, min(o.ImageMaxTokens, most))),
	}
	if o.Threads == 0 {
		params.threads = C.int32_t(min(PhysicalCores(), most))
	}
	if err := m.enter(); err != nil {
		return nil, fmt.Errorf("model %w", err)
	}
	defer m.leave()
	cpath, device := C.CString(path), C.CString(o.Device)
	defer freeString(cpath)
	defer freeString(device)
	params.device = device
	var e C.ps_error
	var c *C.ps_projector
	var info C.ps_projector_info
	if err := failure(C.ps_projector_open(m.c(), cpath, &params, &c, &info, &e), &e); err != nil {
		return nil, err
	}
	p := &Projector{info: ProjectorInfo{
		Vision: bool(info.vision), Audio: bool(info.audio), SampleRate: int(info.sample_rate), Width: int(info.width),
	}}
	p.own(unsafe.Pointer(c), m, func() { C.ps_projector_free(c) })
	return p, nil
}

// measure finds the largest piece that is computed whole. Pictures are only counted, of many
// shapes, since how many embeddings one has depends on how its sides are rounded.
func (p *Projector) measure() error {
	const long, step = 4096, 24
	if p.info.Vision {
		for short := long; short > long/MaxPictureAspect; short -= step {
			for _, shape := range [][2]int{{long, short}, {short, long}} {
				m, err := p.Picture(shape[0], shape[1], nil)
				if err != nil {
					return err
				}
				if err := p.note(m); err != nil {
					return err
				}
			}
			if p.info.Whole == 0 {
				break // it is a matter of the projector, not of the shape
			}
		}
	}
	if p.info.Audio {
		m, err := p.Sound(make([]float32, p.info.SampleRate))
		if err != nil {
			return err
		}
		return p.note(m)
	}
	return nil
}

// note takes the largest of the pieces that are computed whole, and closes the media.
func (p *Projector) note(m *Media) error {
	for _, piece := range m.pieces {
		if piece.Whole {
			p.info.Whole = max(p.info.Whole, piece.Embeddings)
		}
	}
	return m.Close()
}

// Info describes the projector. It can be asked after Close too.
func (p *Projector) Info() ProjectorInfo { return p.info }

// Encode computes the embeddings of a piece of m that has no tokens: Piece.Embeddings rows of
// ProjectorInfo.Width numbers. It stops within a layer of the encoder after ctx is done. What it
// computes with stays as it was, whether it stops or not.
//
// # Errors
//   - ErrCancelled, with the cause of ctx.
//   - ErrInvalid: there is no such piece, or m was only counted.
//   - ErrFailed: the encoder returned NaN or an infinity.
func (p *Projector) Encode(ctx context.Context, m *Media, piece int) ([]float32, error) {
	if piece < 0 || piece >= len(m.pieces) || m.pieces[piece].Tokens != nil {
		return nil, fmt.Errorf("encode: %w: piece %d of %d has no embeddings", ErrInvalid, piece, len(m.pieces))
	}
	if err := m.enter(); err != nil {
		return nil, fmt.Errorf("encode: media %w", err)
	}
	defer m.leave()
	if err := p.enter(); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	defer p.leave()
	p.encoding.Lock()
	defer p.encoding.Unlock()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("encode: %w: %w", ErrCancelled, context.Cause(ctx))
	}
	user := cgo.NewHandle(progress{ctx: ctx})
	defer user.Delete()
	out := make([]float32, m.pieces[piece].Embeddings*p.info.Width)
	var e C.ps_error
	code := C.ps_projector_encode(p.c(), m.c(), C.size_t(piece), C.ps_progress_fn(C.penstockProgress), C.uintptr_t(user),
		(*C.float)(unsafe.Pointer(unsafe.SliceData(out))), C.size_t(len(out)), &e)
	err := failure(code, &e)
	if errors.Is(err, ErrCancelled) {
		err = fmt.Errorf("%w: %w", err, context.Cause(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return out, nil
}

// Pause has a running Encode, and later ones, wait within an operation until Resume (on the CPU
// only). It may be called from any goroutine, and returns once they wait, after 10 ms at most.
func (p *Projector) Pause() { p.pause(true) }

// Resume ends Pause.
func (p *Projector) Resume() { p.pause(false) }

func (p *Projector) pause(on bool) {
	if p.h.hold() { // a running Encode keeps Close waiting
		C.ps_projector_pause(p.c(), C._Bool(on))
		p.h.drop()
	}
}

func (p *Projector) c() *C.ps_projector { return (*C.ps_projector)(p.h.c) }

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
