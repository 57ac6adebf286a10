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

	"github.com/penstock/penstock/host/atomicfile"
)

// BuiltInName is what the built-in model is called where a name is shown.
const BuiltInName = "penstock-tiny"

//go:embed penstock-tiny.gguf
var builtIn []byte

// openBuiltIn puts the built-in model where llama.cpp, which opens models by path, can map it: into the cache folder, or
// into a temporary file where that cannot be written.
func openBuiltIn(cacheDir string) (*File, error) {
	file, uncached := cacheBuiltIn(cacheDir)
	if uncached == nil {
		return file, nil
	}
	dir, err := os.MkdirTemp("", "penstock-")
	if err != nil {
		return nil, fmt.Errorf("storing the built-in model, which llama.cpp reads from a file, neither in the cache folder (%w) nor in the temporary folder (%w); "+
			"name a folder that can be written with XDG_CACHE_HOME or TMPDIR, or serve a model of your own", uncached, err)
	}
	file = &File{Path: filepath.Join(dir, BuiltInName+".gguf"), Name: BuiltInName, BuiltIn: true, temp: dir}
	if err := writeFile(file.Path, builtIn); err != nil {
		return nil, errors.Join(fmt.Errorf("storing the built-in model: %w", err), file.Close())
	}
	return file, nil
}

// cacheBuiltIn puts the built-in model into the cache folder, if there is one.
func cacheBuiltIn(cacheDir string) (*File, error) {
	if cacheDir == "" {
		return nil, errors.New("this user has none")
	}
	sum := sha256.Sum256(builtIn)
	path := filepath.Join(cacheDir, "models", fmt.Sprintf("%s-%s.gguf", BuiltInName, hex.EncodeToString(sum[:6])))
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, builtIn) {
		return &File{Path: path, Name: BuiltInName, BuiltIn: true}, nil
	}
	if err := writeFile(path, builtIn); err != nil {
		return nil, err
	}
	return &File{Path: path, Name: BuiltInName, BuiltIn: true}, nil
}

// writeFile writes a file in a folder that is the user's alone.
func writeFile(path string, data []byte) error {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	_ = atomicfile.RemoveLeftovers(folder) // of starts that were killed; they only take room
	_, err := atomicfile.WriteBytes(path, 0o600, data)
	return err
}
