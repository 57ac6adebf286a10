// SPDX-License-Identifier: MIT

// Package atomicfile writes files that are whole whenever the process or the machine stops: under
// a file's name there are the old contents or the new ones. Several processes may write to the
// same folder.
//
// Contents are first written to a temporary file beside the one that it then replaces. The writer
// holds a lock on it, which ends with the process, so that RemoveLeftovers tells what was abandoned
// from what is being written.
package atomicfile

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// prefix begins the names of temporary files and folders. It is hidden, and no client can choose
// it: names of saved conversations have no two dots in a row, those of models and plugins do not
// begin with one.
const prefix = ".writing.."

// ErrInUse is the error of a file that another process has for itself.
var ErrInUse = errors.New("in use by another process")

// Write has fill write a file of a folder, in the place of the one that has its name. When Write
// returns the file is on the disk. If there is an error, the old file is as it was, unless only
// telling the disk of the new one has failed. The result describes the file as it was written,
// which another process may have replaced already.
func Write(folder *os.Root, name string, mode fs.FileMode, fill func(io.Writer) error) (fs.FileInfo, error) {
	info, err := WriteUnsynced(folder, name, mode, func(file *os.File) error {
		if err := fill(file); err != nil {
			return err
		}
		return file.Sync()
	})
	if err != nil {
		return nil, err
	}
	return info, syncRoot(folder)
}

// WriteUnsynced is Write for a file that may be lost or torn if the machine stops, not the process:
// it waits for no disk.
func WriteUnsynced(folder *os.Root, name string, mode fs.FileMode, fill func(*os.File) error) (info fs.FileInfo, err error) {
	file, err := create(folder, mode)
	if err != nil {
		return nil, err
	}
	temp := filepath.Base(file.Name())
	defer file.Close() // which ends the lock
	if err = fill(file); err == nil {
		info, err = file.Stat()
	}
	if err == nil && closesFirst {
		err = file.Close()
	}
	if err == nil {
		err = folder.Rename(temp, name)
	}
	if err != nil {
		_ = folder.Remove(temp) // the first error is the one to tell
		return nil, err
	}
	return info, nil
}

// WriteBytes is Write for contents that are there and a folder given by the file's path.
func WriteBytes(path string, mode fs.FileMode, contents []byte) (fs.FileInfo, error) {
	folder, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer folder.Close() //nolint:errcheck // nothing was written through it
	return Write(folder, filepath.Base(path), mode, func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(contents))
		return err
	})
}

// MkdirAll makes a folder with those in which it lies, if need be, and has the disk know of them.
func MkdirAll(path string, mode fs.FileMode) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := MkdirAll(parent, mode); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, mode); err != nil {
		if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
			return nil // another process was faster
		}
		return err
	}
	return syncFolder(parent)
}

// create makes a temporary file and locks it. RemoveLeftovers of another process may come between
// the two; then it makes another one.
func create(folder *os.Root, mode fs.FileMode) (*os.File, error) {
	for {
		file, err := folder.OpenFile(prefix+rand.Text(), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return nil, err
		}
		if hold(file) && isThere(file, func() (fs.FileInfo, error) { return folder.Stat(filepath.Base(file.Name())) }) {
			return file, nil
		}
		_ = file.Close() // the other process removes it
	}
}

// isThere reports whether an open file still has its name.
func isThere(file *os.File, stat func() (fs.FileInfo, error)) bool {
	have, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := stat()
	return err == nil && os.SameFile(have, there)
}

// Rename renames a file of a folder, in the place of one that has that name, and has the disk know
// of it. The contents must be on the disk.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(to))
}

// Remove removes a file, which need not exist, and has the disk know of it.
func Remove(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

func syncFolder(path string) error {
	folder, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer folder.Close() //nolint:errcheck // nothing was written through it
	return syncRoot(folder)
}

// syncRoot does nothing where folders cannot be synced: on some file systems, and on Windows.
func syncRoot(folder *os.Root) error {
	d, err := folder.Open(".")
	if err == nil {
		defer d.Close()
		err = d.Sync()
	}
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}

// staleAfter is the age from which on something was abandoned, where locks do not tell.
const staleAfter = time.Hour

// IsTemp reports whether a temporary file or folder may have this name.
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
