// SPDX-License-Identifier: MIT

// Package cgroup finds the control groups that Linux has put this process in, and what they leave
// to it.
package cgroup

import (
	"fmt"
	"math"
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

// Processors is how many processors this process may keep busy on average, by the tightest limit
// of its groups, such as 1.5; +Inf: they have none. The limit may change while the process runs.
func Processors() float64 { return processors(List, Root) }

func processors(list, root string) float64 {
	least := math.Inf(1)
	for _, g := range Groups(list, root, "cpu") {
		least = min(least, g.processors())
	}
	return least
}

// processors is a group's own limit: so many microseconds of processor time in each period of so
// many.
func (g Group) processors() float64 {
	var quota, period int64
	var err error
	if g.V1 {
		quota, err = readNumber(filepath.Join(g.Dir, "cpu.cfs_quota_us")) // -1: none
		if err == nil {
			period, err = readNumber(filepath.Join(g.Dir, "cpu.cfs_period_us"))
		}
	} else {
		var text []byte
		if text, err = os.ReadFile(filepath.Join(g.Dir, "cpu.max")); err == nil {
			_, err = fmt.Sscan(string(text), &quota, &period) // "max": no number, and no limit
		}
	}
	if err != nil || quota <= 0 || period <= 0 {
		return math.Inf(1)
	}
	return float64(quota) / float64(period)
}

func readNumber(path string) (n int64, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(string(text), &n)
	return n, err
}
