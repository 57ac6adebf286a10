// SPDX-License-Identifier: MIT

//go:build unix

package hub

import "golang.org/x/sys/unix"

// freeSpace is how many bytes the user may still write to a folder's disk; ok is false where the
// system does not say.
func freeSpace(folder string) (n uint64, ok bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, false
	}
	return s.Bavail * uint64(s.Bsize), true
}
