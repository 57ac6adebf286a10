// SPDX-License-Identifier: MIT

package governor

import (
	"strconv"
	"strings"
)

// idleTicks is how long the wanted processors have been idle since the system started, in ticks, by the text of /proc/stat; -1: it does not say.
func idleTicks(stat string, wanted func(cpu int) bool) int64 {
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
		for _, field := range fields[4:6] { // idle, and idle but for a disk
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
