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

// Projector is what is known of a projector's file once it was tried with its model.
type Projector struct {
	gguf.Projector
	Trial ProjectorTrial
}

// ProjectorTrial is what the trial of a projector found.
type ProjectorTrial struct {
	Whole int `json:"whole"` // embeddings that a pass must have room for; 0: any number
}

// CheckProjector makes sure that llama.cpp can load a projector for a model, encode pictures and sounds with it and compute with what it
// gives, without risk to this process: the header is checked first, then a child process does all that. What passed is remembered as
// Check does. The options are those of serving.
//
// The errors are those of Check. ErrRefused says so, too, where the projector belongs to another model.
func CheckProjector(ctx context.Context, model, path string, with native.ProjectorOptions, o Options) (projector Projector, err error) {
	o = o.withDefaults()
	in, err := inspect(model)
	if err != nil {
		return projector, err
	}
	if projector.Projector, err = in.readProjector(path); err != nil {
		return projector, err
	}
	o.Timeout = in.timeout(o)
	key, err := json.Marshal(with)
	if err != nil {
		return projector, err
	}
	note := noteFor(o.CacheDir, in, projectorTask, o.onCPU().key(), string(key))
	if content, passed := note.content(); passed && content.Projector != nil {
		projector.Trial = *content.Projector
		return projector, nil
	}
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
	note.keep(noteContent{Path: path, Projector: &a.Projector})
	return projector, nil
}

// readProjector checks the header of a projector, and adds it to what the note of the trial is named after.
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
