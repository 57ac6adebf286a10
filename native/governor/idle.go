// SPDX-License-Identifier: MIT

package governor

import (
	"strconv"
	"strings"
)

// idleTicks is how long the wanted processors have been idle since the system started, in ticks,
// by the text of /proc/stat; -1: it does not say. If niceToo is set, the time of programs with a
// low priority counts: a thread with the usual one takes it from them.
func idleTicks(stat string, niceToo bool, wanted func(cpu int) bool) int64 {
	sum, known := int64(0), false
	for line := range strings.Lines(stat) {
		fields := strings.Fields(line)
		if len(fields) < 6 || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		cpu, err := strconv.Atoi(fields[0][len("cpu"):])
		if err != nil || !wanted(cpu) {
			continue
		}
		free := fields[4:6:6] // idle, and idle but for a disk
		if niceToo {
			free = append(free, fields[2])
		}
		for _, field := range free {
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return -1
			}
			sum, known = sum+n, true
		}
	}
	if !known {
		return -1
	}
	return sum
}
