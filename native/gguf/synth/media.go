// SPDX-License-Identifier: MIT

package synth

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// MediaPair is a small text model and a projector that belongs to it, of an architecture and of
// kinds that llama.cpp knows.
type MediaPair struct {
	Projector string // one kind, or one for pictures and one for sounds with a plus between them
	Text      string
}

// MediaPairs are those of which each has something that the others have not: pictures of one size,
// tiles, positions with coordinates, windows, embeddings that see one another, several embeddings
// a token, sounds, and both.
var MediaPairs = []MediaPair{
	{"gemma3", "gemma3"}, {"idefics3", "llama"}, {"mlp", "llama"}, {"qwen2vl_merger", "qwen2vl"}, {"qwen2.5vl_merger", "qwen2vl"},
	{"qwen3vl_merger", "qwen3vl"}, {"ultravox", "llama"}, {"qwen2a", "llama"}, {"mlp+ultravox", "llama"}, {"qwen2.5vl_merger+qwen2a", "qwen2vl"},
}

// Sees reports whether it takes pictures.
func (p MediaPair) Sees() bool {
	return !strings.HasPrefix(p.Projector, "ultravox") && !strings.HasPrefix(p.Projector, "qwen2a")
}

// Hears reports whether it takes sounds.
func (p MediaPair) Hears() bool {
	return strings.Contains(p.Projector, "ultravox") || strings.Contains(p.Projector, "qwen2a")
}

// WriteFiles writes the pair's two files into a folder, with random weights and about 1 MB each,
// and returns their paths. Greedy answers depend on what is seen or heard, and are printable ASCII
// without an end. The same arguments give the same bytes.
func (p MediaPair) WriteFiles(dir string, seed uint64) (model, projector string, err error) {
	if !slices.Contains([]string{"llama", "gemma3", "qwen2vl", "qwen3vl"}, p.Text) {
		return "", "", fmt.Errorf("%w: no small model for pictures is a %q", ErrShape, p.Text)
	}
	encoder, err := projectorFile(strings.Split(p.Projector, "+"))
	if err != nil {
		return "", "", err
	}
	model, projector = filepath.Join(dir, "text-"+p.Text+".gguf"), filepath.Join(dir, "mmproj-"+p.Projector+".gguf")
	err = mediaModel(p.Text).writeTo(model, seed)
	return model, projector, errors.Join(err, encoder.writeTo(projector, seed))
}

func (f *mediaFile) writeTo(path string, seed uint64) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(f.write(file, seed), file.Close())
}
