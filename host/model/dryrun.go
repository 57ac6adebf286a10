// SPDX-License-Identifier: MIT

package model

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/penstock/penstock/native"
)

// Need is what a model in use takes of each device's memory, main memory first.
type Need []native.DeviceMemory

// Main is what it takes of main memory. GPUs without memory of their own share that.
func (n Need) Main() (sum native.DeviceMemory) {
	for _, d := range n {
		if !ownMemory(d) {
			sum.Name, sum.Kind = cmp.Or(sum.Name, d.Name), cmp.Or(sum.Kind, d.Kind)
			sum.Plain += d.Plain
			sum.Weights += d.Weights
			sum.Cells += d.Cells
			sum.Compute += d.Compute
		}
	}
	return sum
}

// Plus is what two models take together.
func (n Need) Plus(other Need) Need {
	sum := slices.Clone(n)
	for _, d := range other {
		i := slices.IndexFunc(sum, func(s native.DeviceMemory) bool { return s.Name == d.Name && s.Kind == d.Kind })
		if i < 0 {
			sum = append(sum, d)
			continue
		}
		s := &sum[i]
		s.Plain, s.Weights, s.Cells, s.Compute = s.Plain+d.Plain, s.Weights+d.Weights, s.Cells+d.Cells, s.Compute+d.Compute
	}
	return sum
}

// BesideWeights is what a context takes of a model that is loaded already.
func (n Need) BesideWeights() Need {
	beside := slices.Clone(n)
	for i := range beside {
		beside[i].Plain, beside[i].Weights = 0, 0
	}
	return beside
}

// GPUs are the devices with memory of their own.
func (n Need) GPUs() (list []native.DeviceMemory) {
	for _, d := range n {
		if ownMemory(d) {
			list = append(list, d)
		}
	}
	return list
}

// ownMemory reports whether a device is a GPU that shares no memory with the CPU, or several that
// llama.cpp makes one of to split tensors.
func ownMemory(d native.DeviceMemory) bool { return d.Kind == "gpu" || d.Kind == "meta" }

// DryRun is a model of which llama.cpp tells what using it takes, before it is loaded. It does so
// in a child process, as it may end that on a damaged file or a GPU's broken driver. What main
// memory alone has to do with is remembered in the cache folder until the file or this program
// changes, and needs no child then.
type DryRun struct {
	child   *child // nil: not yet
	request request
	note    dryRunNote
	known   dryRunAnswers
}

// dryRunTimeout is far more than a header takes to read, on a busy machine too.
const dryRunTimeout = 2 * time.Minute

// OpenDryRun checks the headers of a model's files and finds out what the model is. Of the options
// CacheDir alone counts. Errors are those of Check.
func OpenDryRun(ctx context.Context, path string, o CheckOptions, m native.ModelOptions) (*DryRun, error) {
	in, err := inspect(path)
	if err == nil {
		in, err = in.withHead(m)
	}
	if err != nil {
		return nil, err
	}
	m.Progress = nil // nothing is loaded
	d := &DryRun{request: request{Task: dryRunTask, Path: path, Model: &m, Timeout: dryRunTimeout}}
	if _, backend := native.Build(); backend == "cpu" || m.GPULayers == 0 && len(m.Devices) == 0 { // what a GPU has free changes
		d.note = dryRunNote(noteFor(o.withDefaults().CacheDir, in, dryRunTask, text(m)))
	}
	if d.known = d.note.read(); d.known.Info.Vocabulary > 0 {
		return d, nil
	}
	a, err := d.ask(ctx, nil)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	d.known.Info = a.Info
	d.note.write(d.known)
	return d, nil
}

// Info describes the model, but for its special tokens.
func (d *DryRun) Info() native.ModelInfo { return d.known.Info }

// Need tells what a context of the model takes, together with its weights.
func (d *DryRun) Need(ctx context.Context, o native.ContextOptions) (Need, error) {
	key := text(o)
	if need, known := d.known.Needs[key]; known {
		return need, nil
	}
	a, err := d.ask(ctx, &o)
	if err != nil {
		return nil, err
	}
	d.known.add(key, a.Need)
	d.note.write(d.known)
	return a.Need, nil
}

// text is what tells options apart from others.
func text(options any) string {
	data, err := json.Marshal(options)
	if err != nil { // there are only numbers and texts in them; what is not a number is refused later
		return fmt.Sprintf("%+v", options)
	}
	return string(data)
}

// ask has the child tell what the model is, or what a context of it takes.
func (d *DryRun) ask(ctx context.Context, o *native.ContextOptions) (a answer, err error) {
	if d.child == nil {
		memory := uint64(0) // what a GPU's driver reserves may be more than there is
		if d.note != "" {
			memory = AvailableMemory()
		}
		if d.child, err = startChild(ctx, memory); err != nil {
			return a, err
		}
	}
	d.request.Context = o
	if a, err = d.child.ask(ctx, d.request); err != nil {
		return a, fmt.Errorf("%s: the memory that the model takes: %w", d.request.Path, err)
	}
	return a, nil
}

// Close ends the child.
func (d *DryRun) Close() error {
	if d.child == nil {
		return nil
	}
	return d.child.close()
}

// dryRunAnswers are what a child has told of a model: what it is, and what contexts of it take, by
// their options.
type dryRunAnswers struct {
	Info  native.ModelInfo `json:"info"`
	Needs map[string]Need  `json:"needs"`
}

// mostNeeds are kept; who asks for so many different contexts of one model may wait for a child.
const mostNeeds = 100

func (a *dryRunAnswers) add(key string, need Need) {
	if a.Needs == nil || len(a.Needs) >= mostNeeds {
		a.Needs = map[string]Need{}
	}
	a.Needs[key] = need
}

// dryRunNote is the path of a file with a dry run's answers; empty: nothing is noted.
type dryRunNote string

func (n dryRunNote) read() (a dryRunAnswers) {
	if n == "" {
		return a
	}
	data, err := os.ReadFile(string(n))
	if err != nil || json.Unmarshal(data, &a) != nil {
		return dryRunAnswers{} // damaged: it is written again
	}
	return a
}

// write keeps the answers. Without the note the next start asks a child again, nothing else.
func (n dryRunNote) write(a dryRunAnswers) {
	if n == "" {
		return
	}
	if data, err := json.Marshal(a); err == nil {
		_ = writeFile(string(n), data)
	}
}

// dryRuns are the child's side: the model that it was asked for last.
type dryRuns struct {
	path    string
	options string
	model   *native.DryRun
}

// answer opens the model of a request, if it is another than before, and tells of it what is asked.
func (d *dryRuns) answer(r request) (a answer, err error) {
	if options := text(*r.Model); d.model == nil || d.path != r.Path || d.options != options {
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
