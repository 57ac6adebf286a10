// SPDX-License-Identifier: MIT

package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/penstock/penstock/native"
)

// Need is what a model in use takes of each device's memory, main memory first.
type Need []native.DeviceMemory

// Main is what it takes of main memory. GPUs without memory of their own share that.
func (n Need) Main() (sum native.DeviceMemory) {
	for _, d := range n {
		if d.Kind != "gpu" {
			sum.Name, sum.Kind = cmp.Or(sum.Name, d.Name), cmp.Or(sum.Kind, d.Kind)
			sum.Plain += d.Plain
			sum.Weights += d.Weights
			sum.Cells += d.Cells
			sum.Compute += d.Compute
		}
	}
	return sum
}

// GPUs are the devices with memory of their own.
func (n Need) GPUs() (list []native.DeviceMemory) {
	for _, d := range n {
		if d.Kind == "gpu" {
			list = append(list, d)
		}
	}
	return list
}

// DryRun is a model of which llama.cpp tells what using it takes, before it is loaded. It does so in a child process, as it may end that on a
// damaged file or a GPU's broken driver.
type DryRun struct {
	child   *child
	request request
	info    native.ModelInfo
}

// dryRunTimeout is far more than a header takes to read, on a busy machine too.
const dryRunTimeout = 2 * time.Minute

// OpenDryRun checks the headers of a model's files and has a child process read them. Errors are those of Check.
func OpenDryRun(ctx context.Context, path string, options native.ModelOptions) (*DryRun, error) {
	if _, err := inspect(path); err != nil {
		return nil, err
	}
	memory := uint64(0) // what a GPU's driver reserves may be more than there is
	if options.GPULayers == 0 {
		memory = AvailableMemory()
	}
	p, err := startChild(ctx, memory)
	if err != nil {
		return nil, err
	}
	d := &DryRun{child: p, request: request{Task: dryRunTask, Path: path, Model: &options, Timeout: dryRunTimeout}}
	a, err := d.ask(ctx, nil)
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	d.info = a.Info
	return d, nil
}

// Info describes the model, but for its special tokens.
func (d *DryRun) Info() native.ModelInfo { return d.info }

// Need tells what a context of the model takes, together with its weights.
func (d *DryRun) Need(ctx context.Context, o native.ContextOptions) (Need, error) {
	a, err := d.ask(ctx, &o)
	return a.Need, err
}

func (d *DryRun) ask(ctx context.Context, o *native.ContextOptions) (answer, error) {
	d.request.Context = o
	a, err := d.child.ask(ctx, d.request)
	if err != nil {
		return a, fmt.Errorf("%s: the memory that the model takes: %w", d.request.Path, err)
	}
	return a, nil
}

// Close ends the child.
func (d *DryRun) Close() error { return d.child.close() }

// dryRuns are the child's side: the model that it was asked for last.
type dryRuns struct {
	path    string
	options string
	model   *native.DryRun
}

// answer opens the model of a request, if it is another than before, and tells of it what is asked.
func (d *dryRuns) answer(r request) (a answer, err error) {
	if options := fmt.Sprintf("%+v", *r.Model); d.model == nil || d.path != r.Path || d.options != options {
		if err := d.close(); err != nil {
			return a, err
		}
		if d.model, err = native.OpenDryRun(context.Background(), r.Path, *r.Model); err != nil {
			return a, err
		}
		d.path, d.options = r.Path, options
	}
	if r.Context == nil {
		a.Info = d.model.Info()
		return a, nil
	}
	a.Need, err = d.model.Need(*r.Context)
	return a, err
}

func (d *dryRuns) close() error {
	if d.model == nil {
		return nil
	}
	err := d.model.Close()
	d.model = nil
	return err
}
