// SPDX-License-Identifier: MIT

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// staleAfter is the age from which on something was abandoned, where locks do not tell.
const staleAfter = time.Hour

// IsTemp reports whether a name is that of a temporary file or folder.
func IsTemp(name string) bool { return strings.HasPrefix(name, prefix) }

// RemoveLeftovers removes from a folder, which need not exist, what processes were writing when
// they were killed. What a living process is writing stays.
func RemoveLeftovers(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if IsTemp(e.Name()) && (e.IsDir() || e.Type().IsRegular()) {
			err = errors.Join(err, removeAbandoned(filepath.Join(folder, e.Name())))
		}
	}
	return err
}

// removeAbandoned removes a temporary file or folder that nobody holds.
func removeAbandoned(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil // it has been finished or removed, or is another user's
	}
	if err != nil {
		return err
	}
	defer file.Close() // only now others may hold it
	free, known := isFree(file)
	if !known {
		info, err := file.Stat()
		free = err == nil && time.Since(info.ModTime()) > staleAfter
	}
	if !free {
		return nil
	}
	if !known {
		_ = file.Close() // what is open cannot be removed there
	}
	return os.RemoveAll(path)
}

// MkdirTemp makes a temporary folder in a folder. It is for the caller to rename or remove, and
// then to release.
func MkdirTemp(folder string) (path string, release func(), err error) {
	for {
		if path, err = os.MkdirTemp(folder, prefix+"*"); err != nil {
			return "", nil, err
		}
		if release, err = Hold(path); err == nil {
			return path, release, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", nil, errors.Join(err, os.Remove(path))
		}
	}
}

// Hold keeps a folder that MkdirTemp made, here or in another process, until it is released or
// this process ends. The error is fs.ErrNotExist if it is being removed.
func Hold(path string) (release func(), err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if !hold(file) || !isThere(file, func() (fs.FileInfo, error) { return os.Stat(path) }) {
		file.Close()
		return nil, &fs.PathError{Op: "hold", Path: path, Err: fs.ErrNotExist}
	}
	if closesFirst {
		file.Close()
	}
	return func() { file.Close() }, nil
}
