// SPDX-License-Identifier: MIT

package model

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/host/model/kerneltest"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/tools/must"
)

func TestSurvey_ListsTheCPU(t *testing.T) {
	m, err := Survey(t.Context())
	if err != nil || !strings.Contains(m.System, "CPU") ||
		!slices.ContainsFunc(m.Devices, func(d native.Device) bool { return d.Kind == "cpu" && d.Total > 0 }) {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestSurvey_DriverFaults_IsErrGPU(t *testing.T) {
	t.Setenv(misbehaviourEnv, "segfault")
	if m, err := Survey(t.Context()); !errors.Is(err, ErrGPU) || !strings.Contains(err.Error(), "invalid memory address") {
		t.Errorf("got %+v, %v", m, err)
	}
}

// Where there is no GPU the task's pass is the CPU's, which faults as a driver would.
func TestTryGPU_Fault_IsNotedAndTriedAgain(t *testing.T) {
	file := must.Get(Resolve("", CheckOptions{CacheDir: t.TempDir()}))(t)
	in := must.Get(inspect(file.Path))(t)
	o := CheckOptions{CacheDir: t.TempDir(), GPULayers: -1, Timeout: time.Minute}
	try := func() error {
		t.Helper()
		file.NoGPU = nil
		must.Do(t, file.tryGPU(t.Context(), in, []string{"GPU0 of a test"}, o))
		return file.NoGPU
	}
	t.Setenv(misbehaviourEnv, "segfault")
	for range 2 { // a fault is not remembered
		if err := try(); !errors.Is(err, ErrGPU) {
			t.Errorf("got %v, want ErrGPU", err)
		}
	}
	t.Setenv(misbehaviourEnv, "")
	if err := try(); err != nil {
		t.Errorf("a pass that works: %v", err)
	}
	file.GPUComputed()
	t.Setenv(misbehaviourEnv, "segfault") // which would show if it were tried again
	if err := try(); err != nil {
		t.Errorf("with a note that it passed: %v", err)
	}
	if err := try(); !errors.Is(err, ErrGPU) {
		t.Errorf("after a start in which the GPU computed nothing: got %v, want ErrGPU", err)
	}
	t.Setenv(misbehaviourEnv, "")
	if err := try(); err != nil {
		t.Errorf("a pass that works again: %v", err)
	}
	file.GPUComputed()
	t.Setenv(misbehaviourEnv, "segfault")
	t.Setenv("GGML_VK_OF_A_TEST", "1")
	if err := try(); !errors.Is(err, ErrGPU) {
		t.Errorf("with another setting of the backend: got %v, want ErrGPU", err)
	}
	o.GPULayers = 0
	if err := try(); err != nil {
		t.Errorf("with no layers there: %v", err)
	}
}

// Weights that main memory cannot hold are tried where they will be: there is no GPU here, so the
// error of the last is of what a GPU is told.
func TestCheck_WeightsBeyondMainMemory_NeedAGPU(t *testing.T) {
	path := store(t, "large.gguf", builtIn)
	check := func(gpus []string, devices ...string) error {
		_, err := Check(t.Context(), path, CheckOptions{CacheDir: t.TempDir(), Memory: 1 << 20, GPULayers: -1, gpus: gpus,
			Loading: native.ModelOptions{Devices: devices}})
		return err
	}
	gpus := []string{"GPU0 of a test"}
	if err := check(nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("without a GPU: got %v, want ErrTooLarge", err)
	}
	if err := check(gpus); err != nil {
		t.Errorf("with one: %v", err)
	}
	if err := check(gpus, "GPU7"); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), `device "GPU7" does not exist`) {
		t.Errorf("with one that is not there: %v", err)
	}
}

func TestTryGPUInChild_KernelFaults_IsErrGPU(t *testing.T) {
	file := must.Get(Resolve("", CheckOptions{CacheDir: t.TempDir()}))(t)
	attention := native.Kernel{Family: native.PenstockKernels, Operation: native.Attention}
	if !attention.Known() {
		t.Skip("SKIPPED: this build has no kernel that can be broken (PENSTOCK_KERNELS=OFF)")
	}
	kerneltest.Break(t, native.InjectedFault{Kernel: attention, Kind: native.Crash})
	if err := tryGPUInChild(t.Context(), file.Path, time.Minute, options{}); !errors.Is(err, ErrGPU) {
		t.Errorf("got %v, want ErrGPU", err)
	}
}
