// SPDX-License-Identifier: MIT

package model

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/penstock/penstock/native"
)

// Machine is what llama.cpp finds to compute on.
type Machine struct {
	System  string          `json:"system"` // features of the processor that it was built to use
	Devices []native.Device `json:"devices"`
}

// Survey asks llama.cpp what it finds. A child process does: the driver of a GPU may fault, and ends that one alone.
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

// gpus are the devices that layers can be put on.
func (m Machine) gpus() (names []string) {
	for _, d := range m.Devices {
		if d.Kind == "gpu" || d.Kind == "igpu" {
			names = append(names, d.Name+" "+d.Description)
		}
	}
	return names
}

// surveyed is what this build finds beside the CPU, nothing where it knows no GPU.
func surveyed(ctx context.Context) (Machine, error) {
	if _, backend := native.Build(); backend == "cpu" {
		return Machine{}, nil
	}
	return Survey(ctx)
}

// tryGPU has a child compute with layers of a file on the GPU, and notes in NoGPU why it could not. What passed is remembered for this
// file, program and GPU, and what the environment tells the GPU's backend.
func (f *File) tryGPU(ctx context.Context, in *inspection, gpus []string, o Options) error {
	if len(gpus) == 0 || o.GPULayers == 0 {
		return nil
	}
	verdict := verdictPath(o.CacheDir, in, o.GPULayers, gpus, backendSettings())
	if _, known := readVerdict(verdict); known {
		return nil
	}
	f.NoGPU = gpuFault(ctx, f.Path, in.timeout(o), o.GPULayers)
	if f.NoGPU == nil {
		writeVerdict(verdict, f.Path, nil)
	}
	return context.Cause(ctx)
}

func gpuFault(ctx context.Context, path string, timeout time.Duration, layers int) error {
	_, err := askOnce(ctx, request{Task: gpuTask, Path: path, Timeout: timeout, GPULayers: layers})
	return err
}

// backendSettings are the variables that change what a GPU is asked to do.
func backendSettings() []string {
	all := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return !strings.HasPrefix(v, "GGML_") && !strings.HasPrefix(v, "VK_") && !strings.HasPrefix(v, "CUDA_")
	})
	slices.Sort(all)
	return all
}

// gpuPasses are the tokens of each pass on a GPU, which has other kernels for one, few and many, and makes them as they are needed.
var gpuPasses = []int{1, 5, 24, 150, 1}

// computeOnGPU computes with layers on a GPU: what serving does first, which is one token, then prompts.
func computeOnGPU(path string, layers int) (err error) {
	m, err := native.LoadModel(context.Background(), path, native.ModelOptions{GPULayers: layers})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if !m.Info().Generates() {
		return nil
	}
	c, err := native.NewContext(m, native.ContextOptions{
		Cells: 1024, Batch: 512, Sequences: 2, Unified: true, Threads: native.Threads(m.Info().Size),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if !c.Limits().Memory {
		return nil // an encoder, which is not served
	}
	t, at := trial{model: m}, 0
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
