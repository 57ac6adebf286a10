// SPDX-License-Identifier: MIT

package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf"
)

// Projector is what is known of a projector's file.
type Projector struct {
	gguf.Projector
	Trial ProjectorTrial
}

// ProjectorTrial is what the trial of a projector with its model found.
type ProjectorTrial struct {
	Whole int `json:"whole"` // embeddings that a pass must have room for; 0: any number
	// Bytes that encoding the largest picture or sound takes besides the weights, of main memory
	// and of the device that computes.
	Main   uint64 `json:"main"`
	Device uint64 `json:"device"`
}

// KnownProjector returns what is known of a projector without trying it. If there was no trial
// before, it assumes that computing takes half as much memory as the weights. The arguments are as
// for CheckProjector.
func KnownProjector(model, path string, with native.ProjectorOptions, o CheckOptions) (Projector, error) {
	k, err := newProjectorCheck(model, path, with, o)
	if err != nil {
		return Projector{}, err
	}
	if k.known() {
		return k.projector, nil
	}
	if half := k.projector.Bytes / 2; with.Device == "" {
		k.projector.Trial.Main = half
	} else {
		k.projector.Trial.Device = half
	}
	return k.projector, nil
}

// Need is what the projector takes of memory, on a device or on the CPU alone.
func (p Projector) Need(device string) Need {
	main := native.DeviceMemory{Name: "CPU", Kind: "cpu", Compute: p.Trial.Main}
	if device == "" {
		main.Weights = p.Bytes
		return Need{main}
	}
	return Need{main, {Name: device, Kind: "gpu", Weights: p.Bytes, Compute: p.Trial.Device}}
}

// projectorCheck is a projector with the note of its trial.
type projectorCheck struct {
	projector Projector
	options   CheckOptions
	note      trialNote
}

func newProjectorCheck(model, path string, with native.ProjectorOptions, o CheckOptions) (k projectorCheck, err error) {
	in, err := inspect(model)
	if err != nil {
		return k, err
	}
	if k.projector.Projector, err = in.readProjector(path); err != nil {
		return k, err
	}
	k.options = o.withDefaults()
	if k.options.Timeout = in.timeout(o); o.Timeout == 0 {
		k.options.Timeout += trialOfPicture(k.projector.Bytes)
	}
	key, err := json.Marshal(with)
	k.note = noteFor(k.options.CacheDir, in, projectorTask, k.options.onCPU().key(), string(key))
	return k, err
}

// known reports whether there was a trial before, and takes what it found.
func (k *projectorCheck) known() bool {
	content, passed := k.note.content()
	if !passed || content.Projector == nil {
		return false
	}
	k.projector.Trial = *content.Projector
	return true
}

// CheckProjector makes sure that llama.cpp can load a projector for a model, encode pictures and
// sounds with it and compute with what it gives, without risk to this process: the header is
// checked first, then a child process does all that. What passed is remembered as Check does. The
// options are those of serving.
//
// The errors are those of Check. ErrRefused says so, too, where the projector belongs to another
// model.
func CheckProjector(ctx context.Context, model, path string, with native.ProjectorOptions, o CheckOptions) (projector Projector, err error) {
	k, err := newProjectorCheck(model, path, with, o)
	if err != nil || k.known() {
		return k.projector, err
	}
	projector, o = k.projector, k.options
	if o.Trying != nil {
		o.Trying()
	}
	if with.Device != "" {
		o.Memory = 0 // what a driver reserves may be far more than memory
	}
	p, err := startChild(ctx, o.Memory)
	if err != nil {
		return projector, err
	}
	if o.WhileServing {
		lowerPriority(p.cmd)
	}
	a, err := p.ask(ctx, request{Task: projectorTask, Path: model, Projector: path, Encoding: with, Timeout: o.Timeout, options: o.onCPU()})
	if err = errors.Join(err, p.close()); err != nil {
		return projector, fmt.Errorf("%s: %w", path, err)
	}
	projector.Trial = a.Projector
	k.note.keep(noteContent{Path: path, Projector: &a.Projector})
	return projector, nil
}

// readProjector checks the header of a projector, and adds it to what the note of the trial is
// named after.
func (in *inspection) readProjector(path string) (projector gguf.Projector, err error) {
	file, length, err := openRegular(path)
	if err != nil {
		return projector, err
	}
	defer file.Close()
	if projector, err = gguf.CheckProjector(file, length); err != nil {
		return projector, fmt.Errorf("%s: %w", path, err)
	}
	header := make([]byte, min(length-int64(projector.Bytes), length))
	if _, err := file.ReadAt(header, 0); err != nil {
		return projector, fmt.Errorf("%s: %w", path, err)
	}
	in.parts, in.headers, in.weights = append(in.parts, path), append(in.headers, header...), in.weights+projector.Bytes
	return projector, nil
}

// trialPictures are the sizes of the trial's pictures: a usual one, the smallest, and the two
// longest shapes.
var trialPictures = [][2]int{{800, 600}, {1, 1}, {native.MaxPictureAspect, 1}, {1, native.MaxPictureAspect}}

// trialSeconds are the lengths of its sounds. Most encoders take pieces of 30 s.
var trialSeconds = []float64{1, 0.001, 31}

// projectorTrial encodes with a projector and computes with its model what comes of that.
type projectorTrial struct {
	model     *native.Model
	projector *native.Projector
	context   *native.Context
	tried     map[shape]bool // of pieces that were encoded
	device    string         // that computes besides the CPU; empty: none
	largest   int            // embeddings of a piece that was encoded

	main, onDevice int64 // bytes that encoding has taken
}

// shape is what decides which way a piece takes.
type shape struct{ embeddings, columns int }

// tryProjector does with a projector what serving will do.
func tryProjector(r request) (found ProjectorTrial, err error) {
	t := &projectorTrial{tried: map[shape]bool{}, device: r.Encoding.Device}
	if t.model, err = native.LoadModel(context.Background(), r.Path, r.Loading); err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, t.model.Close()) }()
	if !t.model.Info().Generates() {
		return found, errors.New("the model writes no text, so it has no use for a projector")
	}
	if t.projector, err = native.OpenProjector(t.model, r.Projector, r.Encoding); err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, t.projector.Close()) }()
	found.Whole = t.projector.Info().Whole
	room := max(512, found.Whole)
	if t.context, err = native.NewContext(t.model, r.context(native.ContextOptions{
		Cells: 8192 + room, Batch: room, UBatch: room, Sequences: 1, Unified: true, Threads: native.Threads(t.model.Info().Size),
	})); err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, t.context.Close()) }()
	if err := t.run(); err != nil {
		return found, err
	}
	found.Main, found.Device, err = t.estimateLargest()
	return found, err
}

func (t *projectorTrial) run() error {
	info := t.projector.Info()
	if info.Vision {
		for _, size := range trialPictures {
			media, err := t.projector.Picture(size[0], size[1], makeStripes(size[0], size[1]))
			if err == nil {
				err = t.tryMedia(media)
			}
			if err != nil {
				return fmt.Errorf("a picture of %d x %d pixels: %w", size[0], size[1], err)
			}
		}
	}
	if info.Audio {
		for _, seconds := range trialSeconds {
			media, err := t.projector.Sound(makeSawtooth(1 + int(seconds*float64(info.SampleRate))))
			if err == nil {
				err = t.tryMedia(media)
			}
			if err != nil {
				return fmt.Errorf("a sound of %g s: %w", seconds, err)
			}
		}
	}
	return nil
}

// tryMedia encodes the pieces of a picture or a sound, and has the model compute them. Pieces of
// one shape take the same way, so one of each is enough.
func (t *projectorTrial) tryMedia(media *native.Media) (err error) {
	defer func() { err = errors.Join(err, media.Close()) }()
	for i, piece := range media.Pieces() {
		of := shape{piece.Embeddings, piece.Columns}
		if piece.Tokens != nil || t.tried[of] {
			continue
		}
		t.tried[of] = true
		values, err := t.encode(media, i)
		if err != nil {
			return err
		}
		if err := t.compute(piece, values); err != nil {
			return err
		}
	}
	return nil
}

// encode encodes a piece and notes what that has taken of memory. The encoder keeps it.
func (t *projectorTrial) encode(media *native.Media, piece int) ([]float32, error) {
	main, device := memoryInUse(t.device)
	values, err := t.projector.Encode(context.Background(), media, piece)
	mainAfter, deviceAfter := memoryInUse(t.device)
	t.main, t.onDevice = t.main+int64(mainAfter-main), t.onDevice+int64(deviceAfter-device)
	t.largest = max(t.largest, media.Pieces()[piece].Embeddings)
	return values, err
}

// mostSide is the side of a picture that is as large for a projector as any can be, in pixels.
const mostSide = 4096

// estimateLargest estimates the memory that encoding the largest picture takes, in proportion to
// the trial's pictures.
func (t *projectorTrial) estimateLargest() (main, device uint64, err error) {
	largest := t.largest
	if t.projector.Info().Vision {
		media, err := t.projector.Picture(mostSide, mostSide, nil)
		if err != nil {
			return 0, 0, err
		}
		for _, piece := range media.Pieces() {
			largest = max(largest, piece.Embeddings)
		}
		if err := media.Close(); err != nil {
			return 0, 0, err
		}
	}
	scale := float64(largest) / float64(max(t.largest, 1))
	return uint64(scale * float64(max(t.main, 0))), uint64(scale * float64(max(t.onDevice, 0))), nil
}

// memoryInUse is how many bytes this process has of main memory, and how many of a device's memory
// anybody has; 0 where the system does not say.
func memoryInUse(device string) (main, onDevice uint64) {
	main = meminfo("/proc/self/status", "VmRSS:")
	if device == "" {
		return main, 0
	}
	devices, _ := native.Devices() // the trial computes on one of them
	for _, d := range devices {
		if d.Name == device {
			onDevice = d.Total - d.Free
		}
	}
	return main, onDevice
}

// compute has the model compute a piece and a token after it.
func (t *projectorTrial) compute(piece native.Piece, values []float32) error {
	room := t.context.Limits().Batch
	for from := 0; from < piece.Embeddings; from += room {
		b := native.EmbeddingBatch{Piece: piece, Values: values, From: from, To: min(from+room, piece.Embeddings)}
		if err := t.context.DecodeEmbeddings(&b); err != nil {
			return err
		}
	}
	var b native.Batch
	b.Add(1, int32(piece.Positions), 0, true)
	if err := t.context.Decode(&b); err != nil {
		return err
	}
	if damaged(t.context.Row(0)) {
		return errDamaged
	}
	return t.context.Remove(0, -1, -1)
}

// makeStripes makes the pixels of a picture with something on it.
func makeStripes(width, height int) []byte {
	rgb := make([]byte, 3*width*height)
	for i := range rgb {
		rgb[i] = byte(i * 7)
	}
	return rgb
}

// makeSawtooth makes the samples of a sound that is not silent.
func makeSawtooth(n int) []float32 {
	samples := make([]float32, n)
	for i := range samples {
		samples[i] = float32(i%50)/50 - 0.5
	}
	return samples
}

// trialOfPicture is the time that encoding with a projector may take besides: it computes with each
// weight some thousand times, the trial of a model some ten times.
func trialOfPicture(bytes uint64) time.Duration { return time.Duration(bytes/1e6) * time.Second }
