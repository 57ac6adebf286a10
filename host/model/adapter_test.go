// SPDX-License-Identifier: MIT

package model

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/native/gguf/synth"
)

// storeAdapter writes an adapter for the model at path.
func storeAdapter(t *testing.T, path string, a synth.Adapter) string {
	t.Helper()
	a.Model = path
	var b bytes.Buffer
	if err := a.Write(&b); err != nil {
		t.Fatal(err)
	}
	return store(t, "adapter.gguf", b.Bytes())
}

func TestCheckAdapter_GoodFile_IsTriedOnceUntilItChanges(t *testing.T) {
	trials := 0
	o := CheckOptions{CacheDir: filepath.Join(t.TempDir(), "cache"), Trying: func() { trials++ }}
	path := store(t, "good.gguf", builtIn)
	adapter := storeAdapter(t, path, synth.Adapter{TaskName: "rhyme"})
	for range 2 {
		a, err := CheckAdapter(t.Context(), path, adapter, o)
		if err != nil || a.TaskName != "rhyme" {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	if trials != 1 {
		t.Errorf("it was tried %d times", trials)
	}
	if _, err := CheckAdapter(t.Context(), path, storeAdapter(t, path, synth.Adapter{Seed: 1}), o); err != nil || trials != 2 {
		t.Errorf("after a change: %d trials, %v", trials, err)
	}
}

// A file that passes the check of its header and on which llama.cpp ends the process is an error.
func TestCheckAdapter_CrashingFile_IsAnError(t *testing.T) {
	path := store(t, "model.gguf", builtIn)
	o := CheckOptions{CacheDir: t.TempDir()}
	// The model computes its output with the embedding, too, where the matrices are the wrong way
	// round.
	h, err := gguf.Read(bytes.NewReader(builtIn), int64(len(builtIn)))
	if err != nil {
		t.Fatal(err)
	}
	var dims []uint64
	for _, tensor := range h.Tensors {
		if tensor.Name == "token_embd.weight" {
			dims = tensor.Dims
		}
	}
	bad := storeAdapter(t, path, synth.Adapter{Change: func(h *gguf.Header) {
		h.Tensors = nil
		h.Append("token_embd.weight.lora_a", gguf.F32, 4, dims[1])
		h.Append("token_embd.weight.lora_b", gguf.F32, 4, dims[0])
	}})
	if _, err := CheckAdapter(t.Context(), path, bad, o); !errors.Is(err, ErrCrashed) {
		t.Errorf("an adapter of the embedding: %v", err)
	}
}

func TestCheckAdapter_WrongFile_NamesItAndTheReason(t *testing.T) {
	path := store(t, "model.gguf", builtIn)
	o := CheckOptions{CacheDir: t.TempDir()}
	other := store(t, "other.gguf", edited(t, func(h *gguf.Header) { h.Set("general.architecture", gguf.NewString("qwen2")) }))
	for name, c := range map[string]struct {
		path string
		want error
	}{
		"absent":       {filepath.Join(t.TempDir(), "absent.gguf"), ErrNotFound},
		"a folder":     {t.TempDir(), ErrNotFile},
		"a model":      {path, gguf.ErrAdapter},
		"of another":   {storeAdapter(t, other, synth.Adapter{}), gguf.ErrAdapter},
		"no GGUF file": {store(t, "text.gguf", []byte("hello")), gguf.ErrNotGGUF},
	} {
		if _, err := CheckAdapter(t.Context(), path, c.path, o); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.path) {
			t.Errorf("%s: %v; want %v of %s", name, err, c.want, c.path)
		}
	}
}

func TestFindAdapter_TakesNamesOnly(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "rhyme.gguf"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"rhyme", "rhyme.gguf"} {
		if path, err := FindAdapter(name, CheckOptions{Folder: folder}); err != nil || path != filepath.Join(folder, "rhyme.gguf") {
			t.Errorf("%s: %q, %v", name, path, err)
		}
	}
	for _, name := range []string{"", ".", "..", "../x", folder + "/rhyme", "rhymes", "./rhyme", "rhyme/"} {
		if path, err := FindAdapter(name, CheckOptions{Folder: folder}); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %q, %v", name, path, err)
		}
	}
}
