// SPDX-License-Identifier: MIT

package cgroup

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
)

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
