// SPDX-License-Identifier: MIT

//go:build !unix

package atomicfile

import (
	"io/fs"
	"os"
)

const closesFirst = true

func hold(*os.File) bool { return true }

func isFree(*os.File) (free, known bool) { return false, false }

// OpenAlone opens a file to read and write, and makes it if need be. It does not keep other
// processes away here.
func OpenAlone(path string, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, mode)
}

// CheckPrivate does nothing where folders have no such owner and mode: the user's cache folder is
// the user's.
func CheckPrivate(dir, what string) error { return nil }
