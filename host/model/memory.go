// SPDX-License-Identifier: MIT

package model

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// AvailableMemory is how many bytes could be used before the system swaps or kills: the kernel's estimate, or what is left
// of the limit of a control group that this process is in. It is 0 if the system does not say (only Linux does). Weights of loaded models may
// count as available, since they can be read again from their files.
func AvailableMemory() uint64 {
	available := meminfo("/proc/meminfo", "MemAvailable:")
	for _, g := range controlGroups("/proc/self/cgroup", "/sys/fs/cgroup") {
		if left, ok := g.left(); ok && (available == 0 || left < available) {
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

// controlGroup is a folder of the system's, with the names of its files.
type controlGroup struct {
	dir, limit, used string
	pages            []string // what of the used memory are pages of files, which can be dropped, as memory.stat names them
	kept             string   // what of these cannot
}

// controlGroups are those of memory that a process is in: its own and those around it, each with a limit of its own. In a container the
// process may know its group by a name that is only true outside; then its folder is the root.
func controlGroups(list, root string) (groups []controlGroup) {
	data, err := os.ReadFile(list)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		g := controlGroup{dir: root, limit: "memory.max", used: "memory.current", pages: []string{"file"}, kept: "shmem"}
		switch {
		case slices.Contains(strings.Split(fields[1], ","), "memory"): // version 1
			g = controlGroup{dir: filepath.Join(root, "memory"), limit: "memory.limit_in_bytes", used: "memory.usage_in_bytes",
				pages: []string{"total_active_file", "total_inactive_file"}}
		case fields[1] != "":
			continue
		}
		top := g.dir
		for path := filepath.Clean("/" + fields[2]); ; path = filepath.Dir(path) {
			g.dir = filepath.Join(top, path)
			groups = append(groups, g)
			if path == "/" {
				break
			}
		}
	}
	return groups
}

// left is what the group may still take. Pages of files count as used there, but can be dropped.
func (g controlGroup) left() (left uint64, ok bool) {
	limit, err := readNumber(filepath.Join(g.dir, g.limit))
	if err != nil {
		return 0, false // "max", or no such group
	}
	used, err := readNumber(filepath.Join(g.dir, g.used))
	if err != nil {
		return 0, false
	}
	stat := filepath.Join(g.dir, "memory.stat")
	var pages uint64
	for _, name := range g.pages {
		pages += statNumber(stat, name)
	}
	if g.kept != "" {
		pages -= min(pages, statNumber(stat, g.kept))
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
