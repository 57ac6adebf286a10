// SPDX-License-Identifier: MIT

//go:build unix

package atomicfile

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

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
