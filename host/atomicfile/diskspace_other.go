// SPDX-License-Identifier: MIT

//go:build !linux && !darwin

package atomicfile

// DiskSpace knows nothing here.
func DiskSpace(string) (free, whole uint64, known bool) { return 0, 0, false }
