// SPDX-License-Identifier: MIT

package model

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// AvailableMemory is how many bytes could be used before the system swaps or kills: the kernel's estimate, or what is left
// of the control group's limit. It is 0 if the system does not say (only Linux does). Weights of loaded models may count as available,
// since they can be read again from their files.
func AvailableMemory() uint64 {
	available := meminfo("/proc/meminfo", "MemAvailable:")
	if left, ok := groupMemory("/sys/fs/cgroup"); ok && (available == 0 || left < available) {
		return left
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

// groupMemory is what a version 2 control group has left. Pages of files count as used there, but can be dropped.
func groupMemory(dir string) (left uint64, ok bool) {
	limit, err := readNumber(filepath.Join(dir, "memory.max"))
	if err != nil {
		return 0, false // "max", or no such group
	}
	used, err := readNumber(filepath.Join(dir, "memory.current"))
	if err != nil {
		return 0, false
	}
	used -= min(used, statNumber(filepath.Join(dir, "memory.stat"), "file"))
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
