// SPDX-License-Identifier: MIT

//go:build unix

package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

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

// CheckPrivate refuses a folder that somebody else owns or may write to, or may put another in the
// place of. dir is absolute and without links. what names what is in it.
func CheckPrivate(dir, what string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if owner := ownerOf(info); owner != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d and not to %d, who runs this; %s in it is not trusted", dir, owner, os.Geteuid(), what)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s can be written to by others (mode %v); remove it, or take the right from them after removing what is in it", dir, info.Mode().Perm())
	}
	for parent := filepath.Dir(dir); ; parent = filepath.Dir(parent) {
		info, err := os.Stat(parent)
		if err != nil {
			return err
		}
		if owner := ownerOf(info); owner != 0 && owner != os.Geteuid() {
			return fmt.Errorf("%s, in which %s lies, belongs to user %d; %s there is not trusted", parent, dir, owner, what)
		}
		if info.Mode().Perm()&0o002 != 0 && info.Mode()&os.ModeSticky == 0 {
			return fmt.Errorf("%s, in which %s lies, can be written to by everybody (mode %v)", parent, dir, info.Mode().Perm())
		}
		if parent == filepath.Dir(parent) {
			return nil
		}
	}
}

// ownerOf is a file's user id.
func ownerOf(info os.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) } // os.Stat has no other kind here
