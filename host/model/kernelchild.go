// SPDX-License-Identifier: MIT

package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/penstock/penstock/host/spawn"
	"github.com/penstock/penstock/native"
)

// useKernelsEnv tells a child that tries models which kernels to use.
const useKernelsEnv = "PENSTOCK_USE_KERNELS"

// kernelMarker begins a line about a kernel: one before the first trial, then one after each, with
// what was wrong.
const kernelMarker = "penstock-kernel:"

// kernelTime is how long a child may take for all its kernels; it needs some ten milliseconds each.
const kernelTime = time.Minute

// run tries kernels in a child, up to the first that ends it.
func (t *kernelTrial) run(ctx context.Context, kernels []native.Kernel) error {
	list, err := json.Marshal(kernels)
	if err != nil {
		return err
	}
	lines, words, err := startKernelChild(ctx, string(list))
	if err != nil {
		return err
	}
	for i, k := range kernels {
		switch {
		case i >= len(lines): // it did not come back from this one
			t.broken = append(t.broken, BrokenKernel{k, words})
			return nil
		case lines[i] == "":
			t.sound[k], t.fresh = true, true
		default:
			t.broken = append(t.broken, BrokenKernel{k, lines[i]})
		}
	}
	return nil
}

// startKernelChild runs this program as a child that tries a list of kernels. It returns what the
// child said of each that it came back from, and its last words.
func startKernelChild(ctx context.Context, list string) (lines []string, words string, err error) {
	program, err := os.Executable()
	if err != nil || spawn.Is(childCommand) {
		return nil, "", errors.Join(ErrNoChild, err)
	}
	limited, cancel := context.WithTimeout(ctx, kernelTime)
	defer cancel()
	var out bytes.Buffer
	stderr := newStderr()
	cmd := exec.CommandContext(limited, program, childCommand, tryKernels, list)
	cmd.Env = append(os.Environ(), spawn.Mark(childCommand), "GGML_NO_BACKTRACE=1", "GOTRACEBACK=none")
	cmd.Stdout, cmd.Stderr = &out, stderr
	failed := cmd.Run()
	if cause := context.Cause(ctx); cause != nil {
		return nil, "", fmt.Errorf("trying the kernels: %w", cause)
	}
	for line := range strings.Lines(out.String()) {
		if text, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), kernelMarker); ok {
			lines = append(lines, text)
		}
	}
	if len(lines) == 0 {
		return nil, "", errors.Join(fmt.Errorf("%w: %s", ErrNoChild, stderr.LastWords()), failed)
	}
	if words = stderr.LastWords(); words == "" && failed != nil {
		words = failed.Error()
	}
	if limited.Err() != nil {
		words = fmt.Sprintf("it does not end within %v", kernelTime)
	}
	return lines[1:], words, nil
}

// checkKernels tries a list of kernels, as JSON.
func checkKernels(list string) error {
	limitProcess(0)
	var kernels []native.Kernel
	if err := json.Unmarshal([]byte(list), &kernels); err != nil {
		return err
	}
	fmt.Println(kernelMarker)
	for _, k := range kernels {
		wrong := ""
		if err := native.CheckKernel(k); err != nil {
			wrong = strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Println(kernelMarker + wrong)
	}
	return nil
}

// kernelSet is the variable that has a child use this process's kernels.
func kernelSet() string {
	set, err := json.Marshal(native.KernelsInUse())
	if err != nil {
		return "" // three numbers are always JSON
	}
	return useKernelsEnv + "=" + string(set)
}

// adoptKernels makes a child use its parent's.
func adoptKernels() error {
	text, ok := os.LookupEnv(useKernelsEnv)
	if !ok {
		return nil
	}
	var set native.KernelSet
	if err := json.Unmarshal([]byte(text), &set); err != nil {
		return fmt.Errorf("%s: %w", useKernelsEnv, err)
	}
	native.UseKernels(set)
	return nil
}
