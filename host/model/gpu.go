// SPDX-License-Identifier: MIT

package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/penstock/penstock/native"
)

// Machine is what llama.cpp finds to compute on.
type Machine struct {
	System  string          `json:"system"` // features of the processor that it was built to use
	Devices []native.Device `json:"devices"`
}

// Survey asks llama.cpp what it finds to compute on. It asks in a child process: if the driver of
// a GPU crashes, only the child ends.
func Survey(ctx context.Context) (Machine, error) {
	a, err := askOnce(ctx, request{Task: surveyTask, Timeout: time.Minute})
	return a.Machine, err
}

func survey() (m Machine, err error) {
	if m.System, err = native.SystemInfo(); err != nil {
		return m, err
	}
	m.Devices, err = native.Devices()
	return m, err
}

// gpus names the devices on which layers can be put.
func (m Machine) gpus() (names []string) {
	for _, d := range m.Devices {
		if d.Kind == "gpu" || d.Kind == "igpu" {
			names = append(names, d.Name+" "+d.Description)
		}
	}
	return names
}

// surveyGPUs tells what this build finds beside the CPU, nothing where it knows no GPU.
func surveyGPUs(ctx context.Context) (Machine, error) {
	if _, backend := native.Build(); backend == "cpu" {
		return Machine{}, nil
	}
	return Survey(ctx)
}

// GPUs are the names of the GPUs that this build finds. A child looks for them the first time.
func GPUs(ctx context.Context) (names []string, err error) {
	knownGPUs.mu.Lock()
	defer knownGPUs.mu.Unlock()
	if knownGPUs.asked {
		return knownGPUs.names, nil
	}
	machine, err := surveyGPUs(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range machine.Devices {
		if d.Kind == "gpu" || d.Kind == "igpu" {
			names = append(names, d.Name)
		}
	}
	knownGPUs.names, knownGPUs.asked = names, true
	return names, nil
}

var knownGPUs struct {
	mu    sync.Mutex
	asked bool
	names []string
}

// tryGPU has a child compute with layers of a file on the GPU, and tells in NoGPU why it could
// not. That it passed is noted for this file, program and GPU, and for what the environment tells
// the GPU's backend. The note is removed until GPUComputed writes it again: a driver that fails
// now and then may end this process, and then the next start tries it in a child.
func (f *File) tryGPU(ctx context.Context, in *inspection, gpus []string, o CheckOptions) error {
	if len(gpus) == 0 || !o.usesGPU() {
		return nil
	}
	note := noteFor(o.CacheDir, in, o.onGPU().key(), gpus, backendSettings())
	if _, passed := note.read(); !passed {
		f.NoGPU = tryGPUInChild(ctx, f.Path, in.timeout(o), o.onGPU())
	}
	if errors.Is(f.NoGPU, errOptions) {
		return f.NoGPU
	}
	if f.NoGPU == nil {
		note.remove()
		f.gpuNote = note
	}
	return context.Cause(ctx)
}

// GPUComputed notes that the GPU, if one is used, has computed a pass in this process: the next
// start need not try it in a child.
func (f *File) GPUComputed() { f.gpuNote.write(f.Path, nil) }

func tryGPUInChild(ctx context.Context, path string, timeout time.Duration, with options) error {
	_, err := askOnce(ctx, request{Task: gpuTask, Path: path, Timeout: timeout, options: with})
	return err
}

// backendSettings returns the environment variables that change what a GPU is asked to do.
func backendSettings() []string {
	all := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return !strings.HasPrefix(v, "GGML_") && !strings.HasPrefix(v, "VK_") && !strings.HasPrefix(v, "CUDA_")
	})
	slices.Sort(all)
	return all
}

// gpuPasses are the tokens of each pass on a GPU, which has other kernels for one, few and many,
// and makes them as they are needed.
var gpuPasses = []int{1, 5, 24, 150, 1}

// computeOnGPU computes with layers on a GPU: what serving does first, which is one token, then
// prompts.
func computeOnGPU(path string, o options) (err error) {
	m, err := native.LoadModel(context.Background(), path, o.Loading)
	if errors.Is(err, native.ErrInvalid) {
		return fmt.Errorf("%w: %w", errOptions, err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if !m.Info().Generates() {
		return nil
	}
	c, err := native.NewContext(m, o.context(native.ContextOptions{
		Cells: 1024, Batch: 512, Sequences: 2, Unified: true, Threads: native.Threads(m.Info().Size),
	}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if !c.Limits().Memory {
		return nil // an encoder, which is not served
	}
	t, at := modelTrial{model: m}, 0
	for _, rows := range gpuPasses {
		t.batch.Reset()
		for last := at + rows - 1; at <= last; at++ {
			t.batch.Add(t.token(0, at), int32(at), 0, at == last)
		}
		if err := c.Decode(&t.batch); err != nil {
			return err
		}
		if slices.ContainsFunc(c.Row(0), func(x float32) bool { return math.IsNaN(float64(x)) || math.IsInf(float64(x), 1) }) {
			return errors.New("it computes logits that are not numbers")
		}
	}
	return nil
}
