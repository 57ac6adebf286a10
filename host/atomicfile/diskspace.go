// SPDX-License-Identifier: MIT

//go:build linux || darwin

package atomicfile

import "golang.org/x/sys/unix"

// DiskSpace is how many bytes of a folder's file system the user may still write, and how many it
// has; known is false where the system does not say.
func DiskSpace(folder string) (free, whole uint64, known bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, 0, false
	}
	return s.Bavail * uint64(s.Bsize), s.Blocks * uint64(s.Bsize), true
}
