// SPDX-License-Identifier: MIT

package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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

// KnownProjector is what is known of a projector without a trial, if there was none before: then
// half as much as its weights is taken for what computing needs. The arguments are those of
// CheckProjector.
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
	if o.Beside {
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
