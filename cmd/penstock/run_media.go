// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/penstock/penstock/host/media"
)

// attached are the files that stand before the first question.
type attached struct {
	parts []media.Part
	data  map[string][]byte // by the part's id
}

// markers stand for the files in the text of the question.
func (a attached) markers() string { return strings.Repeat(media.Marker, len(a.parts)) }

// file is a media.Files.
func (a attached) file(id string) []byte { return a.data[id] }

// attach reads the files of --image and --audio.
func (f runFlags) attach() (a attached, err error) {
	a.data = map[string][]byte{}
	for _, given := range []struct {
		flag  string
		kind  media.Kind
		paths []string
	}{{"--image", media.Image, f.images}, {"--audio", media.Audio, f.sounds}} {
		for _, path := range given.paths {
			id := fmt.Sprint(len(a.parts))
			if a.data[id], err = readFile(path); err != nil {
				return a, fmt.Errorf("%s: %w", given.flag, err)
			}
			a.parts = append(a.parts, media.Part{Field: given.flag + " " + path, Kind: given.kind, Source: media.FrameScheme + id})
		}
	}
	if len(a.parts) > 0 && f.raw {
		return a, usageError{errors.New("--raw gives the model a text alone; leave it out where there are files of --image and --audio")}
	}
	return a, nil
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
