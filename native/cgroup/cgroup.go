// SPDX-License-Identifier: MIT

// Package cgroup finds the control groups that Linux has put this process in, and what they leave
// to it.
package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Where Linux keeps them.
const (
	List = "/proc/self/cgroup" // of the groups of this process
	Root = "/sys/fs/cgroup"    // their files
)

// Group is a control group that the process is in.
type Group struct {
	Dir string // of its files
	V1  bool   // they have the names of version 1
}

// Groups are those of a controller, such as "memory", that the process is in: its own and those
// around it, each with a limit of its own. In a container the process may know its group by a name
// that is only true outside; then Root is its folder. Not all of the folders need exist. Without a
// list there are none.
func Groups(list, root, controller string) (groups []Group) {
	data, err := os.ReadFile(list)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		top, v1 := root, slices.Contains(strings.Split(fields[1], ","), controller)
		switch {
		case v1:
			top = filepath.Join(root, controller)
		case fields[1] != "":
			continue
		}
		for path := filepath.Clean("/" + fields[2]); ; path = filepath.Dir(path) {
			groups = append(groups, Group{filepath.Join(top, path), v1})
			if path == "/" {
				break
			}
		}
	}
	return groups
}
