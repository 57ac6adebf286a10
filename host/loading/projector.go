// SPDX-License-Identifier: MIT

package loading

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/encoder"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/model"
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
	trial.Beside = l.Beside
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
