// SPDX-License-Identifier: MIT

package model

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/penstock/penstock/native/cgroup"
)

// AvailableMemory is how many bytes could be used before the system swaps or kills: the kernel's
// estimate, or what is left of the limit of a control group that this process is in. It is 0 if
// the system does not say (only Linux does). Weights of loaded models may count as available,
// since they can be read again from their files.
func AvailableMemory() uint64 {
	available := meminfo("/proc/meminfo", "MemAvailable:")
	for _, g := range cgroup.Groups(cgroup.List, cgroup.Root, "memory") {
		if left, ok := leftIn(g); ok && (available == 0 || left < available) {
			available = max(left, 1) // 0 would mean that nothing is known
		}
	}
	for _, left := range processLimits() {
		if available == 0 || left < available {
			available = max(left, 1)
		}
	}
	return available
}

// meminfo reads a line "Name:   123 kB", in bytes.
func meminfo(path, name string) uint64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		if f := strings.Fields(lines.Text()); len(f) >= 2 && f[0] == name {
			kib, err := strconv.ParseUint(f[1], 10, 54)
			if err != nil {
				return 0
			}
			return kib << 10
		}
	}
	return 0
}

// memoryFiles are the names of a control group's files, by the version.
type memoryFiles struct {
	limit, used string
	pages       []string // what of the used memory are pages of files, which can be dropped, as memory.stat names them
	kept        string   // what of these cannot; empty: nothing
}

var (
	version1 = memoryFiles{"memory.limit_in_bytes", "memory.usage_in_bytes", []string{"total_active_file", "total_inactive_file"}, ""}
	version2 = memoryFiles{"memory.max", "memory.current", []string{"file"}, "shmem"}
)

// leftIn returns how many bytes a group may still take. Pages of files count as used there, but can
// be dropped.
func leftIn(g cgroup.Group) (left uint64, ok bool) {
	files := version2
	if g.V1 {
		files = version1
	}
	limit, err := readNumber(filepath.Join(g.Dir, files.limit))
	if err != nil {
		return 0, false // "max", or no such group
	}
	used, err := readNumber(filepath.Join(g.Dir, files.used))
	if err != nil {
		return 0, false
	}
	stat := filepath.Join(g.Dir, "memory.stat")
	var pages uint64
	for _, name := range files.pages {
		pages += statNumber(stat, name)
	}
	if files.kept != "" {
		pages -= min(pages, statNumber(stat, files.kept))
	}
	used -= min(used, pages)
	return limit - min(used, limit), true
}

func readNumber(path string) (uint64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64)
}

func statNumber(path, name string) uint64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			n, err := strconv.ParseUint(f[1], 10, 64)
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}
