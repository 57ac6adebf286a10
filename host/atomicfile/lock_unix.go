// SPDX-License-Identifier: MIT

//go:build unix

package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// closesFirst tells that an open file cannot be renamed.
const closesFirst = false

// hold locks a file or folder for as long as it is open, beside others who hold it. It is false if
// somebody is removing it. On a file system without locks it is true.
func hold(file *os.File) bool {
	return !errors.Is(lock(file, unix.LOCK_SH), unix.EWOULDBLOCK)
}

// isFree reports whether nobody holds a file or folder, and keeps others from holding it for as
// long as it is open. known is false on a file system that does not tell.
func isFree(file *os.File) (free, known bool) {
	err := lock(file, unix.LOCK_EX)
	return err == nil, err == nil || errors.Is(err, unix.EWOULDBLOCK)
}

func lock(file *os.File, how int) error { return unix.Flock(int(file.Fd()), how|unix.LOCK_NB) }

// OpenAlone opens a file for this process alone to read and write, and makes it if need be, or
// fails with ErrInUse. The lock ends with the process or when the file is closed.
func OpenAlone(path string, mode fs.FileMode) (*os.File, error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, mode)
		if err != nil {
			return nil, err
		}
		err = lock(file, unix.LOCK_EX)
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(ErrInUse, file.Close())
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
		if isThere(file, func() (fs.FileInfo, error) { return os.Stat(path) }) {
			return file, nil
		}
		_ = file.Close() // another process finished it meanwhile, and renamed it
	}
}
