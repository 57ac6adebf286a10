// SPDX-License-Identifier: MIT

package library

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"github.com/penstock/penstock/native/gguf"
)

// readHeaders reads the headers of a model's files, the first of which is at path. The joint
// header has the metadata of the first and the tensors of all. digest identifies the contents as
// far as the headers and the lengths show them.
func readHeaders(path string) (joint *gguf.Header, paths []string, digest string, err error) {
	paths = parts(path)
	sum := sha256.New()
	for i, p := range paths {
		h, err := readHeader(p, sum)
		if err != nil {
			return nil, paths, "", fmt.Errorf("%s: %w", p, err)
		}
		if i == 0 {
			joint = h
			continue
		}
		joint.Tensors = append(joint.Tensors, h.Tensors...)
	}
	return joint, paths, hex.EncodeToString(sum.Sum(nil)), nil
}

// parts are the paths of a model's files by the name of the first.
func parts(path string) []string {
	n, ok := SplitName(filepath.Base(path))
	if !ok || n.Part != 1 {
		return []string{path}
	}
	paths := n.All()
	for i := range paths {
		paths[i] = filepath.Join(filepath.Dir(path), paths[i])
	}
	return paths
}

// readHeader reads the header of one file and adds it to a sum, with the file's length.
func readHeader(path string, sum hash.Hash) (_ *gguf.Header, err error) {
	info, err := os.Stat(path) // before Open, which waits on a pipe
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	h, err := gguf.Read(file, info.Size())
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(sum, "%d ", info.Size())
	_, err = io.Copy(sum, io.NewSectionReader(file, 0, h.DataOffset))
	return h, err
}
