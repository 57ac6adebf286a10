// SPDX-License-Identifier: MIT

package library

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/penstock/penstock/host/atomicfile"
)

// Source is a note beside a model: where it was pulled from.
type Source struct {
	From   string       `json:"from"` // such as hf://owner/name/file.gguf@main, or a URL
	Pulled time.Time    `json:"pulled"`
	Files  []SourceFile `json:"files"` // those of the model, and behind them its projector if it has one
}

// SourceFile is one file of the model.
type SourceFile struct {
	Name   string `json:"name"`
	URL    string `json:"url"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`         // of its contents
	ETag   string `json:"etag,omitempty"` // the server's name of these contents
}

// sourcePath is where the note of a model lies, whose first file is at path.
func sourcePath(path string) string {
	name, ok := SplitName(filepath.Base(path))
	if !ok {
		name.Model = filepath.Base(path)
	}
	return filepath.Join(filepath.Dir(path), name.Model+".source.json")
}

// WriteSource writes the note of a model whose first file is, or will be, at path.
func WriteSource(path string, s Source) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	_, err = atomicfile.WriteBytes(sourcePath(path), 0o600, append(data, '\n'))
	return err
}

// ReadSource reads the note of a model, one of whose files is at path or will be; nil if there is
// none. Not all files that it tells of need be there, and they may be others.
func ReadSource(path string) *Source {
	data, err := os.ReadFile(sourcePath(path))
	if err != nil {
		return nil
	}
	var s Source
	if json.Unmarshal(data, &s) != nil {
		return nil
	}
	return &s
}

// PartsOf are the files of the model alone, without its projector.
func PartsOf(files []SourceFile) []SourceFile {
	if last := len(files) - 1; last > 0 && IsProjector(files[last].Name) {
		return files[:last]
	}
	return files
}

// sourceOf reads the note of a model whose first file is at path; nil if there is none, or it is
// of other files.
func sourceOf(path string) *Source {
	s := ReadSource(path)
	if s == nil || len(PartsOf(s.Files)) != len(parts(path)) {
		return nil
	}
	for i, p := range parts(path) {
		info, err := os.Stat(p)
		if err != nil || info.Size() != s.Files[i].Size || !strings.EqualFold(filepath.Base(p), s.Files[i].Name) {
			return nil
		}
	}
	return s
}
