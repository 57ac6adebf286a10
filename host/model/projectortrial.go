// SPDX-License-Identifier: MIT

package model

import (
	"context"
	"errors"
	"fmt"

	"github.com/penstock/penstock/native"
)

// trialPictures are the sizes of the trial's pictures: the smallest, those of the longest shapes,
// and one of a usual size.
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
	found.Main, found.Device, err = t.most()
	return found, err
}

func (t *projectorTrial) run() error {
	info := t.projector.Info()
	if info.Vision {
		for _, size := range trialPictures {
			media, err := t.projector.Picture(size[0], size[1], striped(size[0], size[1]))
			if err == nil {
				err = t.use(media)
			}
			if err != nil {
				return fmt.Errorf("a picture of %d x %d pixels: %w", size[0], size[1], err)
			}
		}
	}
	if info.Audio {
		for _, seconds := range trialSeconds {
			media, err := t.projector.Sound(sawtooth(1 + int(seconds*float64(info.SampleRate))))
			if err == nil {
				err = t.use(media)
			}
			if err != nil {
				return fmt.Errorf("a sound of %g s: %w", seconds, err)
			}
		}
	}
	return nil
}

// use encodes the pieces of a picture or a sound, and has the model compute them. Pieces of one
// shape take the same way, so one of each is enough.
func (t *projectorTrial) use(media *native.Media) (err error) {
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
		if err := t.read(piece, values); err != nil {
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

// mostSide is that of a picture which is as large as any for every projector.
const mostSide = 4096

// most is what encoding the largest picture takes: in proportion more than those of the trial.
func (t *projectorTrial) most() (main, device uint64, err error) {
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

// read computes a piece and a token after it.
func (t *projectorTrial) read(piece native.Piece, values []float32) error {
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

// striped are the pixels of a picture with something on it.
func striped(width, height int) []byte {
	rgb := make([]byte, 3*width*height)
	for i := range rgb {
		rgb[i] = byte(i * 7)
	}
	return rgb
}

// sawtooth are the samples of a sound that is not silent.
func sawtooth(n int) []float32 {
	samples := make([]float32, n)
	for i := range samples {
		samples[i] = float32(i%50)/50 - 0.5
	}
	return samples
}
