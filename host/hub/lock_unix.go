// SPDX-License-Identifier: MIT

//go:build unix

package hub

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile opens a file for this process alone, or fails with ErrBusy. The lock ends with the process or when the file is closed.
func lockFile(path string) (*os.File, error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644) //nolint:gosec // a model is no secret
		if err != nil {
			return nil, err
		}
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(ErrBusy, file.Close())
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
		if isAt(file, path) {
			return file, nil
		}
		_ = file.Close() // another process finished it meanwhile, and renamed it
	}
}

// isAt reports whether an open file is still the one at a path.
func isAt(file *os.File, path string) bool {
	have, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(have, there)
}

// freeSpace is how many bytes the user may still write to a folder's disk; ok is false where the system does not say.
func freeSpace(folder string) (n uint64, ok bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, false
	}
	return s.Bavail * uint64(s.Bsize), true
}
