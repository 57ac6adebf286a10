// SPDX-License-Identifier: MIT

package model

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/penstock/penstock/host/spawn"
	"github.com/penstock/penstock/native"
)

// BrokenKernel is a kernel of the CPU that crashes, or computes something else than plain steps do.
type BrokenKernel struct {
	native.Kernel
	Reason string
}

// useSoundKernels has this process use the chosen kernels, without the broken ones, which it
// returns. To find them, a child process first tries the kernels for a file's weights and for
// attention. Those that pass are noted for this CPU and build.
func useSoundKernels(ctx context.Context, in *inspection, o CheckOptions) ([]BrokenKernel, error) {
	t := kernelTrial{path: soundKernelsPath(o.CacheDir), sound: map[native.Kernel]bool{}}
	t.load()
	operations := append(slices.Sorted(maps.Keys(in.types)), native.Attention)
	t.broken = slices.Clone(o.Broken)
	set := o.Kernels.Without(t.brokenKernels()...)
	for todo := t.todo(operations, o.Kernels, set); len(todo) > 0; todo = t.todo(operations, o.Kernels, set) {
		if err := t.run(ctx, todo); err != nil {
			return nil, err
		}
		set = o.Kernels.Without(t.brokenKernels()...)
	}
	t.save()
	if native.KernelsInUse() != set { // which waits for the passes of other models
		native.UseKernels(set)
	}
	return t.broken, nil
}

// SoundKernels finds the kernels of a choice that compute right on this CPU for what other
// processes send: plain ones for products, which need no other layout of weights, and any for
// attention.
func SoundKernels(ctx context.Context, choice native.KernelChoice) (native.KernelSet, []BrokenKernel, error) {
	broken, err := useSoundKernels(ctx, &inspection{}, CheckOptions{Kernels: choice}.withDefaults())
	return native.KernelsInUse(), broken, err
}

func (t *kernelTrial) brokenKernels() (broken []native.Kernel) {
	for _, b := range t.broken {
		broken = append(broken, b.Kernel)
	}
	return broken
}

// kernelTrial is what is known of this CPU's kernels.
type kernelTrial struct {
	path   string // of the file that remembers the sound ones; empty: none does
	sound  map[native.Kernel]bool
	fresh  bool // some of them are not in the file
	broken []BrokenKernel
}

// todo lists the kernels of a set for the operations that were not tried yet. The plain kernels
// are not tried: they are what is left if all others fail, and the trial of the file tries them.
func (t *kernelTrial) todo(operations []native.Operation, c native.KernelChoice, set native.KernelSet) []native.Kernel {
	var out []native.Kernel
	for _, o := range operations {
		for _, k := range c.Order(o) {
			if k.Family != native.PlainKernels && set.Allows(k) && !t.sound[k] {
				out = append(out, k)
			}
		}
	}
	return out
}

// load reads which kernels passed before. A file that cannot be read has them tried again.
func (t *kernelTrial) load() {
	data, err := os.ReadFile(t.path)
	if err != nil {
		return
	}
	var known []native.Kernel
	if json.Unmarshal(data, &known) == nil {
		for _, k := range known {
			t.sound[k] = true
		}
	}
}

// save notes the sound ones. The others are tried again at each start: a fault may be due to the
// moment.
func (t *kernelTrial) save() {
	if t.path == "" || !t.fresh {
		return
	}
	if data, err := json.Marshal(slices.Collect(maps.Keys(t.sound))); err == nil {
		_ = writeFile(t.path, data) // without it the next start tries them again
	}
}

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

// kernelSet makes the variable that has a child use this process's kernels.
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

// soundKernelsPath is the path of the note of the kernels that passed their trial. It is named
// after what decides whether they do, the CPU and the build of llama.cpp, and empty if nothing can
// be remembered.
func soundKernelsPath(cacheDir string) string {
	if cacheDir == "" {
		return ""
	}
	hash := sha256.New()
	stamp, backend := native.Build()
	fmt.Fprintln(hash, stamp, backend, native.Version(), runtime.GOARCH)
	if info, err := native.SystemInfo(); err == nil {
		fmt.Fprintln(hash, info)
	}
	describeProcessor(hash)
	return filepath.Join(cacheDir, "kernels", hex.EncodeToString(hash.Sum(nil)[:16]))
}

// identity are the lines of Linux's /proc/cpuinfo that say what kind of CPU it is; the others
// change with the hour or the core.
var identity = []string{
	"vendor_id", "cpu family", "model", "model name", "stepping", "microcode", "flags",
	"CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "Features",
}

// describeProcessor writes what kind of CPU this is, by its first core; elsewhere than on Linux
// what llama.cpp calls it.
func describeProcessor(w io.Writer) {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		devices, _ := native.Devices() // without, the build alone counts
		for _, d := range devices {
			if d.Kind == "cpu" {
				fmt.Fprintln(w, d.Description)
			}
		}
		return
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() && lines.Text() != "" {
		if name, _, ok := strings.Cut(lines.Text(), ":"); ok && slices.Contains(identity, strings.TrimSpace(name)) {
			fmt.Fprintln(w, lines.Text())
		}
	}
}
