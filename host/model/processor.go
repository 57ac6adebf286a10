// SPDX-License-Identifier: MIT

package model

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/penstock/penstock/native"
)

// soundKernelsPath is the file with the kernels that passed their trial, named after all that
// decides whether they do: the CPU and the build of llama.cpp. It is empty where nothing can be
// remembered.
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
