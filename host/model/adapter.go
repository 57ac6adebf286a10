// SPDX-License-Identifier: MIT

package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf"
)

// CheckAdapter makes sure that llama.cpp can load a LoRA adapter for a model and compute with
// both, without risk to this process: the header is compared with the model's, then a child
// process computes with it. What passed is remembered as Check does.
//
// The errors are those of Check, and gguf.ErrAdapter.
func CheckAdapter(ctx context.Context, model, path string, o CheckOptions) (gguf.Adapter, error) {
	o = o.withDefaults()
	in, err := inspect(model)
	if err != nil {
		return gguf.Adapter{}, err
	}
	adapter, err := in.readAdapter(path)
	if err != nil {
		return adapter, err
	}
	o.Timeout = in.timeout(o)
	note := noteFor(o.CacheDir, in, adapterTask, o.onCPU().key())
	if _, passed := note.read(); passed {
		return adapter, nil
	}
	if o.Trying != nil {
		o.Trying()
	}
	p, err := startChild(ctx, o.Memory)
	if err != nil {
		return adapter, err
	}
	_, err = p.ask(ctx, request{Task: adapterTask, Path: model, Adapter: path, Timeout: o.Timeout, options: o.onCPU()})
	if err = errors.Join(err, p.close()); err != nil {
		return adapter, fmt.Errorf("%s: %w", path, err)
	}
	note.write(path, nil)
	return adapter, nil
}

// readAdapter checks the header of an adapter against the model's, and adds it to what the note of
// the trial is named after.
func (in *inspection) readAdapter(path string) (adapter gguf.Adapter, err error) {
	file, length, err := openRegular(path)
	if err != nil {
		return adapter, err
	}
	defer file.Close()
	if adapter, err = gguf.CheckAdapter(file, length, in.whole); err != nil {
		return adapter, fmt.Errorf("%s: %w", path, err)
	}
	header := make([]byte, min(length-int64(adapter.Bytes), length))
	if _, err := file.ReadAt(header, 0); err != nil {
		return adapter, fmt.Errorf("%s: %w", path, err)
	}
	in.parts, in.headers, in.weights = append(in.parts, path), append(in.headers, header...), in.weights+adapter.Bytes
	return adapter, nil
}

// tryAdapter computes with a model and an adapter what serving will: a prompt and a token, with
// several sequences in a pass.
func tryAdapter(model, path string, o options) (err error) {
	m, err := native.LoadModel(context.Background(), model, o.Loading)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	a, err := native.LoadAdapter(m, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	c, err := native.NewContext(m, o.context(native.ContextOptions{Cells: 64, Batch: 32, Sequences: 2, Unified: true, Threads: native.Threads(m.Info().Size)}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := c.SetAdapters([]native.ScaledAdapter{{Adapter: a, Scale: 1}}); err != nil {
		return err
	}
	var b native.Batch
	for i := range promptLen {
		b.Add(int32(1+i)%int32(m.Info().Vocabulary), int32(i), 0, i == promptLen-1)
	}
	for at := range int32(2) {
		if err := c.Decode(&b); err != nil {
			return err
		}
		if slices.ContainsFunc(c.Row(0), func(x float32) bool { return math.IsNaN(float64(x)) }) {
			return errors.New("with this adapter the model computes what is not a number")
		}
		b.Reset()
		b.Add(1, promptLen+at, 0, true)
		b.Add(1, at, 1, true)
	}
	return nil
}

// FindAdapter returns the path of the file of that name in the model folder, which holds adapters
// as well as models: a name, not a path.
func FindAdapter(name string, o CheckOptions) (string, error) {
	o = o.withDefaults()
	name = strings.TrimSuffix(name, ".gguf")
	if path := library.Find(o.Folder, name); path != "" {
		return path, nil
	}
	return "", fmt.Errorf("%w: %q is no name in the model folder %s; %s", ErrNotFound, name, o.Folder, library.Advice(name, library.Stems(o.Folder)))
}
