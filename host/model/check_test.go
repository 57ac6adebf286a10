// SPDX-License-Identifier: MIT

package model

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
)

// store writes a model file and returns its path.
func store(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, data, 0o600))
	return path
}

// edited is the built-in model with a changed header.
func edited(t *testing.T, change func(*gguf.Header)) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, synth.Edit(&b, "penstock-tiny.gguf", change))
	return b.Bytes()
}

func TestCheck_GoodFile_IsTriedOnceUntilItChanges(t *testing.T) {
	trials := 0
	o := CheckOptions{CacheDir: filepath.Join(t.TempDir(), "cache"), Trying: func() { trials++ }}
	path := store(t, "good.gguf", builtIn)
	notes := func() int {
		entries := must.Get(os.ReadDir(filepath.Join(o.CacheDir, "verdicts")))(t)
		return len(entries)
	}
	must.Get(Check(t.Context(), path, o))(t)
	// A child would fail at once now, so the second check can only pass on the note.
	t.Setenv(misbehaviourEnv, "quiet exit")
	if _, err := Check(t.Context(), path, o); err != nil || notes() != 1 {
		t.Fatalf("the second check: %v, %d notes", err, notes())
	}
	must.Do(t, os.WriteFile(path, append(bytes.Clone(builtIn), 0), 0o600))
	if _, err := Check(t.Context(), path, o); !errors.Is(err, ErrCrashed) || notes() != 1 {
		t.Errorf("the changed file: %v, %d notes", err, notes())
	}
	if trials != 2 {
		t.Errorf("%d trials were announced, want 2", trials)
	}
}

// llama.cpp warns of much; what it refuses a file for is the error.
func TestCheck_RefusedFile_WarningsAreNotTheReason(t *testing.T) {
	file := edited(t, func(h *gguf.Header) {
		h.Set("tokenizer.ggml.eos_token_id", gguf.NewUint32(math.MaxUint32)) // it warns, and takes another
		for i := range h.Tensors {
			if h.Tensors[i].Name == "output_norm.weight" {
				h.Tensors[i].Name = "output_worm.weight"
			}
		}
	})
	_, err := Check(t.Context(), store(t, "m.gguf", file), CheckOptions{CacheDir: t.TempDir()})
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "output_norm") || strings.Contains(err.Error(), "special token") {
		t.Errorf("got %v", err)
	}
}

func TestOpen_BuiltIn_IsTriedAsAnyOther(t *testing.T) {
	t.Setenv(misbehaviourEnv, "quiet exit")
	if _, err := Open(t.Context(), "", CheckOptions{CacheDir: t.TempDir()}); !errors.Is(err, ErrCrashed) {
		t.Errorf("its child ends, and Open says %v", err)
	}
}

func TestCheck_BadFiles_GiveTypedErrors(t *testing.T) {
	huge := edited(t, func(h *gguf.Header) {
		h.Tensors = nil
		h.Append("token_embd.weight", gguf.Q8_0, 1<<20, 1536)
		for i := range 600 {
			h.Append(strings.Repeat("x", 1+i/26)+string(rune('a'+i%26)), gguf.F32, 1<<30)
		}
	})
	for name, c := range map[string]struct {
		path func(t *testing.T) string
		want error
		says string
	}{
		"absent":       {func(t *testing.T) string { return filepath.Join(t.TempDir(), "none.gguf") }, ErrNotFound, "does not exist"},
		"folder":       {func(t *testing.T) string { return t.TempDir() }, ErrNotFile, "folder"},
		"pipe":         {pipe, ErrNotFile, "pipe"},
		"empty":        {func(t *testing.T) string { return store(t, "e.gguf", nil) }, gguf.ErrNotGGUF, "empty"},
		"text":         {func(t *testing.T) string { return store(t, "t.gguf", []byte("just text")) }, gguf.ErrNotGGUF, `"just"`},
		"cut off":      {func(t *testing.T) string { return store(t, "c.gguf", builtIn[:1<<20]) }, gguf.ErrTruncated, "ends at byte"},
		"no weights":   {vocabularyOnly, gguf.ErrVocabularyOnly, ""},
		"architecture": {unknownArchitecture, ErrUnknownArchitecture, "hovercraft"},
		"missing key":  {withoutEpsilon, ErrRefused, "layer_norm_rms_epsilon"},
		"infinite":     {infiniteWeights, ErrRefused, "invalid data"},
		"abort":        {quantisedNorm, ErrCrashed, "binary_op"},
		"too large":    {func(t *testing.T) string { return sparse(t, huge) }, ErrTooLarge, "GiB"},
	} {
		t.Run(name, func(t *testing.T) {
			path := c.path(t)
			_, err := Check(t.Context(), path, CheckOptions{CacheDir: t.TempDir()})
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), filepath.Base(path)) {
				t.Errorf("got %v, want %v that says %q and names the file", err, c.want, c.says)
			}
		})
	}
}

func TestCheck_MissingPart_IsNamed(t *testing.T) {
	first := edited(t, func(h *gguf.Header) {
		h.Set("split.count", gguf.NewUint16(2))
		h.Set("split.no", gguf.NewUint16(0))
	})
	if _, err := Check(t.Context(), store(t, "m-00001-of-00002.gguf", first), CheckOptions{}); !errors.Is(err, ErrNotFound) ||
		!strings.Contains(err.Error(), "m-00002-of-00002.gguf") {
		t.Errorf("got %v", err)
	}
	if _, err := Check(t.Context(), store(t, "renamed.gguf", first), CheckOptions{}); !errors.Is(err, gguf.ErrUnsupported) ||
		!strings.Contains(err.Error(), "-00001-of-00002.gguf") {
		t.Errorf("renamed: %v", err)
	}
}

func TestCheck_ContextDone_EndsTheTrial(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Check(ctx, store(t, "m.gguf", builtIn), CheckOptions{CacheDir: t.TempDir()})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func pipe(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "pipe")
	must.Do(t, syscall.Mkfifo(path, 0o600))
	return path
}

func vocabularyOnly(t *testing.T) string {
	return store(t, "v.gguf", edited(t, func(h *gguf.Header) { h.Tensors = nil }))
}

func unknownArchitecture(t *testing.T) string {
	return store(t, "a.gguf", edited(t, func(h *gguf.Header) { h.Set("general.architecture", gguf.NewString("hovercraft")) }))
}

func withoutEpsilon(t *testing.T) string {
	return store(t, "k.gguf", edited(t, func(h *gguf.Header) {
		for i, key := range h.Keys {
			if strings.HasSuffix(key, "layer_norm_rms_epsilon") {
				h.Keys[i] = "llama.other"
				h.Values["llama.other"] = h.Values[key]
			}
		}
	}))
}

// infiniteWeights has a scale that is infinite: 0x7c00 in half precision.
func infiniteWeights(t *testing.T) string {
	data := bytes.Clone(builtIn)
	h := must.Get(gguf.Read(bytes.NewReader(data), int64(len(data))))(t)
	copy(data[h.DataOffset:], []byte{0x00, 0x7c})
	return store(t, "i.gguf", data)
}

// quantisedNorm stores a norm in four bits, for which llama.cpp has no multiplication: it aborts
// where it computes. All weights are zero, so that nothing else is wrong.
func quantisedNorm(t *testing.T) string {
	var header *gguf.Header
	data := edited(t, func(h *gguf.Header) {
		tensors := h.Tensors
		h.Tensors = nil
		for _, x := range tensors {
			if x.Name == "output_norm.weight" {
				x.Type = gguf.Q4_0
			}
			h.Append(x.Name, x.Type, x.Dims...)
		}
		header = h
	})
	clear(data[header.DataOffset:])
	return store(t, "q.gguf", data)
}

// sparse makes a file as long as its header announces, without taking that much of the disk.
func sparse(t *testing.T, header []byte) string {
	path := store(t, "s.gguf", header)
	h := must.Get(gguf.Read(bytes.NewReader(header), 1<<62))(t)
	must.Do(t, os.Truncate(path, h.DataOffset+int64(h.TensorBytes())))
	return path
}

func TestCheck_VocabulariesOfLlamaCpp_AreRefused(t *testing.T) {
	source := cmp.Or(os.Getenv("LLAMA_CPP_DIR"), "../../build/llama.cpp/source-*")
	paths, err := filepath.Glob(source + "/models/ggml-vocab-*.gguf")
	if err != nil || len(paths) == 0 {
		t.Fatal("llama.cpp's source tree is not there; make llama fetches it")
	}
	for _, path := range paths {
		if _, err := Check(t.Context(), path, CheckOptions{}); !errors.Is(err, gguf.ErrVocabularyOnly) {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
}

// storeAdapter writes an adapter for the model at path.
func storeAdapter(t *testing.T, path string, a synth.Adapter) string {
	t.Helper()
	a.Model = path
	var b bytes.Buffer
	must.Do(t, a.Write(&b))
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
	h := must.Get(gguf.Read(bytes.NewReader(builtIn), int64(len(builtIn))))(t)
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
	must.Do(t, os.WriteFile(filepath.Join(folder, "rhyme.gguf"), nil, 0o600))
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
