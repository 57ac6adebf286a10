// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	local "github.com/penstock/penstock"
)

// attach reads the files of --image and --audio.
func (f runFlags) attach() (files []local.Media, err error) {
	for _, given := range []struct {
		flag  string
		paths []string
	}{{"--image", f.images}, {"--audio", f.sounds}} {
		for _, path := range given.paths {
			data, err := readFile(path)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", given.flag, err)
			}
			files = append(files, local.Media{Name: given.flag + " " + path, Data: data})
		}
	}
	if len(files) > 0 && f.raw {
		return nil, usageError{errors.New("--raw gives the model a text alone; leave it out where there are files of --image and --audio")}
	}
	return files, nil
}

// mostFile is how many bytes a picture or a sound may have in the terminal.
const mostFile = 256 << 20

// readFile reads a file up to mostFile bytes.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path) // before Open, which waits on a pipe
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, mostFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", path, err)
	case len(data) == 0:
		return nil, fmt.Errorf("%s is empty", path)
	case len(data) > mostFile:
		return nil, fmt.Errorf("%s has more than %d MiB; scale it down", path, mostFile>>20)
	}
	return data, nil
}
