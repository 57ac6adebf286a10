// SPDX-License-Identifier: MIT

package loading

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/encoder"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/media/fetch"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler/piece"
)

// projector is the file with which a model sees or hears, once it was tried with the model. Nil:
// it takes text only.
type projector struct {
	model.Projector
	path    string
	options native.ProjectorOptions
}

// findProjector tries the projector that the configuration names, or else the one that lies beside
// the model. Without the latter the model takes text.
func (l *loader) findProjector(ctx context.Context, file *model.File) (*projector, error) {
	if file.NoGPU != nil {
		l.config.Model.MMProjDevice = "none"
	}
	c := l.config
	named := c.Model.MMProj != ""
	path := cmp.Or(c.Model.MMProj, file.Projector)
	if path == "" || !named && !c.Model.MMProjAuto {
		return nil, nil
	}
	p, err := l.tryProjector(ctx, file, path)
	l.projector = serving.Projector{Path: path}
	switch {
	case err == nil:
		l.projector.Kinds, l.config.Model.MMProj = p.Kinds(), path
		return p, nil
	case context.Cause(ctx) != nil:
		return nil, err
	case named && errors.Is(err, model.ErrTimeout):
		return nil, fmt.Errorf("model.mmproj: %s could not be tried with %s: %w; start again when less computes on this machine", path, file.Name, err)
	case named:
		return nil, fmt.Errorf("model.mmproj: %s cannot be the projector of %s: %w; leave out --mmproj, or name the file that was made for this model", path, file.Name, err)
	}
	l.projector.Unused, l.config.Model.MMProjAuto = err.Error(), false
	l.log.Warn("the projector beside the model is not used, so the model takes text only; remove it, or start with --no-mmproj",
		slog.String("model", file.Name), slog.String("projector", path), slog.Any("error", err))
	return nil, nil
}

func (l *loader) tryProjector(ctx context.Context, file *model.File, path string) (*projector, error) {
	if len(l.config.Workers.RPC) > 0 {
		return nil, engine.ErrRemote
	}
	p := &projector{path: path}
	var trial model.CheckOptions
	var err error
	if p.options, trial, err = projectorOptions(ctx, l.config); err != nil {
		return nil, err
	}
	trial.WhileServing = l.WhileServing
	trial.Trying = func() { l.log.Info("trying the projector in a child process, as with every new file") }
	p.Projector, err = model.CheckProjector(ctx, file.Path, path, p.options, trial)
	return p, err
}

// projectorOptions say how a projector encodes, and how it is tried.
func projectorOptions(ctx context.Context, c config.Config) (o native.ProjectorOptions, trial model.CheckOptions, err error) {
	m := c.Model
	trial = model.CheckOptions{Folder: c.Models.Dir, Kernels: native.KernelChoice(m.Kernels), Loading: withoutGPU(modelOptions(m)), Computing: contextOptions(m)}
	o = native.ProjectorOptions{Threads: m.Threads, FlashAttention: m.FlashAttn, ImageMinTokens: m.ImageMinTokens, ImageMaxTokens: m.ImageMaxTokens}
	gpus, err := model.GPUs(ctx)
	o.Device = m.ProjectorDevice(gpus)
	return o, trial, err
}

// expectProjector is what is known of the projector with which a model is to be served, before it
// is tried. Nil: there is none, or loading says what is wrong with it.
func expectProjector(ctx context.Context, c config.Config, path string) *projector {
	p := &projector{path: c.Model.MMProj}
	if p.path == "" && c.Model.MMProjAuto {
		p.path = library.ProjectorOf(path)
	}
	if p.path == "" || len(c.Workers.RPC) > 0 {
		return nil
	}
	var trial model.CheckOptions
	var err error
	if p.options, trial, err = projectorOptions(ctx, c); err != nil {
		return nil
	}
	if p.Projector, err = model.KnownProjector(path, p.path, p.options, trial); err != nil {
		return nil
	}
	return p
}

// enlarge has passes take what a projector makes that one pass must compute: the embeddings of a
// picture that see one another. Later steps go by these sizes.
func (l *loader) enlarge(o engine.Options, p *projector) engine.Options {
	c := &l.config.Scheduler
	o = p.passes(o)
	if o.UBatch != c.UBatchSize {
		l.log.Info("passes are larger than configured, since one computes all of a picture", slog.Int("ubatch_size", o.UBatch), slog.Int("configured", c.UBatchSize))
	}
	c.UBatchSize, c.BatchSize = o.UBatch, o.Batch
	return o
}

// passes are the options with passes that have room for what the projector makes.
func (p *projector) passes(o engine.Options) engine.Options {
	if p != nil {
		o.UBatch, o.Batch = max(o.UBatch, p.Trial.Whole), max(o.Batch, p.Trial.Whole)
	}
	return o
}

// openProjector loads the projector beside the engine, with the encoder that uses it.
func (l *loader) openProjector(e *engine.Engine, p *projector) (*mediaEncoder, error) {
	if p == nil {
		return nil, nil
	}
	c := l.config.Media
	open, digest, err := e.OpenProjector(p.path, p.options)
	if err != nil {
		return nil, fmt.Errorf("model.mmproj: %w", err)
	}
	o := encoder.QueueOptions{CacheBytes: c.Cache, Queue: c.MaxQueue}
	if p.options.Device == "" && !e.OnDevice() { // else they do not want the same processors
		o.Gate = &l.Passes.Encoders
	}
	m := &mediaEncoder{digest: digest, projector: open, encoder: encoder.New(open, o), pieces: piece.NewTable()}
	l.opened = append(l.opened, func() error {
		m.encoder.Close()
		return open.Close()
	})
	l.metrics.Media(m.encoder.Stats)
	can := m.abilities()
	l.log.Info("the model reads more than text", slog.Bool("pictures", can.Images), slog.Bool("sounds", can.AudioRate > 0), slog.String("projector", p.path),
		slog.String("device", cmp.Or(p.options.Device, "CPU")), slog.Int("whole", p.Trial.Whole))
	return m, nil
}

// abilities are what the model takes besides text.
func (m *mediaEncoder) abilities() media.Abilities {
	if m == nil {
		return media.Abilities{}
	}
	i := m.projector.Info()
	return media.Abilities{Images: i.Vision, AudioRate: i.SampleRate}
}

// table has the pieces of the model's prompts; nil: it takes text only.
func (m *mediaEncoder) table() *piece.Table {
	if m == nil {
		return nil
	}
	return m.pieces
}

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
	encoded, err := m.encoder.Encode(ctx, source(item, hash, caller, salt))
	if err != nil {
		return nil, nil, explainError(ctx, item, err)
	}
	for i, part := range encoded {
		if part.Values == nil {
			tokens = append(tokens, part.Tokens...)
			continue
		}
		p := &piece.Piece{Shape: shapeOf(hash, i, part.Piece), Values: part.Values}
		rows, p, err := m.add(p)
		if err != nil {
			return nil, nil, explainError(ctx, item, err)
		}
		tokens, held = append(tokens, rows...), append(held, p)
	}
	return tokens, held, nil
}

// Rows implements serving.MediaEncoder.
func (m *mediaEncoder) Rows(ctx context.Context, item media.Item, caller, salt string, piece func(values []float32, rows int)) error {
	if err := inBounds(item); err != nil {
		return err
	}
	from := source(item, m.hash(item), caller, salt)
	from.Piece = func(p encoder.Piece) {
		if p.Values != nil {
			piece(p.Values, p.Embeddings)
		}
	}
	if _, err := m.encoder.Encode(ctx, from); err != nil {
		return explainError(ctx, item, err)
	}
	return nil
}

// source is an item as the encoder takes it.
func source(item media.Item, hash [sha256.Size]byte, caller, salt string) encoder.Source {
	return encoder.Source{Hash: hash, Scope: salt, Client: caller, Decode: func(context.Context) (encoder.Media, error) { return encoderMedia(item), nil }}
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
		width, height := encodedSize(item)
		parts, err = m.projector.Picture(width, height, nil)
	} else {
		parts, err = m.projector.Sound(item.Sound.Mono)
	}
	if err != nil {
		return 0, explainError(context.Background(), item, err)
	}
	for _, p := range parts.Pieces() {
		n += len(p.Tokens) + p.Embeddings
	}
	return n, parts.Close()
}

// hash hashes a file and all else that decides its embeddings.
func (m *mediaEncoder) hash(item media.Item) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%x %s %t", item.Hash, m.digest, item.Kind == media.Image && item.Detail == lowDetail))
}

// shapeOf describes piece number i of what has that hash.
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

// encodedSize is the size in which a picture is encoded.
func encodedSize(item media.Item) (width, height int) {
	p := item.Picture
	if item.Detail == lowDetail {
		return p.Within(lowSide)
	}
	return p.Width, p.Height
}

// encoderMedia makes of an item what the encoder reads.
func encoderMedia(item media.Item) encoder.Media {
	if item.Kind != media.Image {
		return encoder.Media{Samples: item.Sound.Mono}
	}
	p := item.Picture
	if width, height := encodedSize(item); width != p.Width || height != p.Height {
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

// explainError words an error as a client should read it.
func explainError(ctx context.Context, item media.Item, err error) error {
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

// MediaBounds bounds the pictures and sounds of requests.
func MediaBounds(c config.Media) media.Bounds {
	o := media.Bounds{Pixels: c.ImagePixels, Sound: c.SoundLength, Memory: c.DecodeMemory}
	if c.URLs == "off" {
		return o
	}
	o.Fetch = &fetch.Options{HTTP: c.URLs == "http", Limit: c.URLLimit, Timeout: c.URLTimeout}
	for _, network := range c.URLNetworks {
		o.Fetch.Networks = append(o.Fetch.Networks, network.Prefix)
	}
	return o
}
