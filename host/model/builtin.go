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
	"github.com/penstock/penstock/native/gguf"
)

// The names of the built-in models, where names are shown. The second one sees.
const (
	BuiltInName       = "penstock-tiny"
	BuiltInVisionName = "penstock-tiny-vision"
)

//go:embed penstock-tiny.gguf
var builtIn []byte

//go:embed penstock-tiny-vision.gguf
var builtInVision []byte

//go:embed mmproj-penstock-tiny-vision.gguf
var builtInProjector []byte

// builtInFile is one of the files that the binary holds.
type builtInFile struct {
	name string
	data []byte
}

// builtIns are the files of the built-in models: that of the model, and that of its projector if
// it has one.
var builtIns = map[string][]builtInFile{
	BuiltInName:       {{BuiltInName, builtIn}},
	BuiltInVisionName: {{BuiltInVisionName, builtInVision}, {"mmproj-" + BuiltInVisionName, builtInProjector}},
}

// IsBuiltIn reports whether a MODEL argument names a built-in model.
func IsBuiltIn(arg string) bool { return builtIns[arg] != nil }

// BuiltInHeader is the header of a built-in model's file.
func BuiltInHeader(name string) (*gguf.Header, error) {
	data := builtIns[name][0].data
	return gguf.Read(bytes.NewReader(data), int64(len(data)))
}

// openBuiltIn puts a built-in model where llama.cpp, which opens models by path, can map it: into
// the cache folder, or into a temporary folder where that cannot be written.
func openBuiltIn(name, cacheDir string) (*File, error) {
	file, uncached := cacheBuiltIn(name, cacheDir)
	if uncached == nil {
		return file, nil
	}
	dir, err := os.MkdirTemp("", "penstock-")
	if err != nil {
		return nil, fmt.Errorf("storing the built-in model, which llama.cpp reads from a file, neither in the cache folder (%w) nor in the temporary folder (%w); "+
			"name a folder that can be written with XDG_CACHE_HOME or TMPDIR, or serve a model of your own", uncached, err)
	}
	file = &File{Name: name, BuiltIn: true, temp: dir}
	for _, f := range builtIns[name] {
		path := filepath.Join(dir, f.name+".gguf")
		if err := writeFile(path, f.data); err != nil {
			return nil, errors.Join(fmt.Errorf("storing the built-in model: %w", err), file.Close())
		}
		file.add(path)
	}
	return file, nil
}

// add makes a path that of the model, or where it has one that of its projector.
func (f *File) add(path string) {
	if f.Path == "" {
		f.Path = path
	} else {
		f.Projector = path
	}
}

// cacheBuiltIn puts a built-in model into the cache folder, if there is one.
func cacheBuiltIn(name, cacheDir string) (*File, error) {
	if cacheDir == "" {
		return nil, errors.New("this user has none")
	}
	file := &File{Name: name, BuiltIn: true}
	for _, f := range builtIns[name] {
		sum := sha256.Sum256(f.data)
		path := filepath.Join(cacheDir, "models", fmt.Sprintf("%s-%s.gguf", f.name, hex.EncodeToString(sum[:6])))
		if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, f.data) {
			if err := writeFile(path, f.data); err != nil {
				return nil, err
			}
		}
		file.add(path)
	}
	return file, nil
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
