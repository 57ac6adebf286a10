// SPDX-License-Identifier: MIT

package model

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// BuiltInName is what the built-in model is called where a name is shown.
const BuiltInName = "penstock-tiny"

//go:embed penstock-tiny.gguf
var builtIn []byte

// openBuiltIn puts the built-in model where llama.cpp, which opens models by path, can map it: into the cache folder, or
// into a temporary file where that cannot be written.
func openBuiltIn(cacheDir string) (*File, error) {
	sum := sha256.Sum256(builtIn)
	path := filepath.Join(cacheDir, "models", fmt.Sprintf("%s-%s.gguf", BuiltInName, hex.EncodeToString(sum[:6])))
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, builtIn) {
		return &File{Path: path, Name: BuiltInName, BuiltIn: true}, nil
	}
	if err := writeFile(path, builtIn); err == nil {
		return &File{Path: path, Name: BuiltInName, BuiltIn: true}, nil
	}
	dir, err := os.MkdirTemp("", "penstock-")
	if err != nil {
		return nil, fmt.Errorf("storing the built-in model: neither %s nor a temporary folder can be written: %w", cacheDir, err)
	}
	file := &File{Path: filepath.Join(dir, BuiltInName+".gguf"), Name: BuiltInName, BuiltIn: true, temp: dir}
	if err := writeFile(file.Path, builtIn); err != nil {
		return nil, errors.Join(fmt.Errorf("storing the built-in model: %w", err), file.Close())
	}
	return file, nil
}

// writeFile writes a file at once or not at all, in a folder that is the user's alone.
func writeFile(path string, data []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}
