// SPDX-License-Identifier: MIT

package model

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/native"
)

func TestSurvey_ListsTheCPU(t *testing.T) {
	m, err := Survey(t.Context())
	if err != nil || !strings.Contains(m.System, "CPU") ||
		!slices.ContainsFunc(m.Devices, func(d native.Device) bool { return d.Kind == "cpu" && d.Total > 0 }) {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestSurvey_DriverFaults_IsErrGPU(t *testing.T) {
	t.Setenv(childEnv, "segfault")
	if m, err := Survey(t.Context()); !errors.Is(err, ErrGPU) || !strings.Contains(err.Error(), "invalid memory address") {
		t.Errorf("got %+v, %v", m, err)
	}
}

// Where there is no GPU the task's pass is the CPU's, which faults as a driver would.
func TestTryGPU_Fault_IsNotedAndTriedAgain(t *testing.T) {
	file, err := Resolve("", Options{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	in, err := inspect(file.Path)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{CacheDir: t.TempDir(), GPULayers: -1, Timeout: time.Minute}
	try := func() error {
		t.Helper()
		file.NoGPU = nil
		if err := file.tryGPU(t.Context(), in, []string{"GPU0 of a test"}, o); err != nil {
			t.Fatal(err)
		}
		return file.NoGPU
	}
	t.Setenv(childEnv, "segfault")
	for range 2 { // a fault is not remembered
		if err := try(); !errors.Is(err, ErrGPU) {
			t.Errorf("got %v, want ErrGPU", err)
		}
	}
	t.Setenv(childEnv, "")
	if err := try(); err != nil {
		t.Errorf("a pass that works: %v", err)
	}
	t.Setenv(childEnv, "segfault") // which would show if it were tried again
	if err := try(); err != nil {
		t.Errorf("with a verdict: %v", err)
	}
	t.Setenv("GGML_VK_OF_A_TEST", "1")
	if err := try(); !errors.Is(err, ErrGPU) {
		t.Errorf("with another setting of the backend: got %v, want ErrGPU", err)
	}
	o.GPULayers = 0
	if err := try(); err != nil {
		t.Errorf("with no layers there: %v", err)
	}
}

func TestGPUFault_KernelFaults_IsErrGPU(t *testing.T) {
	file, err := Resolve("", Options{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	attention := native.Kernel{Family: native.PenstockKernels, Operation: native.Attention}
	if !attention.Known() {
		t.Skip("SKIPPED: this build has no kernel that can be broken (PENSTOCK_KERNELS=OFF)")
	}
	withFaults(t, native.InjectedFault{Kernel: attention, Kind: native.Crash})
	if err := gpuFault(t.Context(), file.Path, time.Minute, 0); !errors.Is(err, ErrGPU) {
		t.Errorf("got %v, want ErrGPU", err)
	}
}
