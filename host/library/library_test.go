// SPDX-License-Identifier: MIT

package library

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
)

const builtIn = "../model/penstock-tiny.gguf"

// folder makes a model folder with these files; a file is empty unless it is a link to the
// built-in model.
func folder(t *testing.T, files ...string) *Library {
	t.Helper()
	dir := t.TempDir()
	for _, name := range files {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Do(t, os.WriteFile(path, nil, 0o600))
	}
	return Open(dir)
}

// add copies the built-in model into a folder.
func add(t *testing.T, l *Library, name string) string {
	t.Helper()
	data := must.Get(os.ReadFile(builtIn))(t)
	path := filepath.Join(l.Folder, name)
	must.Do(t, os.WriteFile(path, data, 0o600))
	return path
}

func TestNames_FilesPartsAndFolders(t *testing.T) {
	l := folder(t, "b.gguf", "big-00001-of-00002.gguf", "big-00002-of-00002.gguf", "notes.txt", "c.gguf.part", ".hidden.gguf",
		"vision/mmproj-F16.gguf", "vision/v-Q8_0.gguf", "split/s-00002-of-00002.gguf", "split/s-00001-of-00002.gguf", "empty/readme")
	if diff := cmp.Diff([]string{"b", "big", "split", "vision"}, Stems(l.Folder)); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{
		"b": "b.gguf", "big": "big-00001-of-00002.gguf", "big-00001-of-00002": "big-00001-of-00002.gguf", "vision": "vision/v-Q8_0.gguf",
		"split": "split/s-00001-of-00002.gguf", "c": "", "empty": "", "big-00002-of-00002": "",
	} {
		if got := strings.TrimPrefix(Find(l.Folder, name), l.Folder+"/"); got != want {
			t.Errorf("Find(%q) = %q, want %q", name, got, want)
		}
	}
	if names := Stems(filepath.Join(l.Folder, "absent")); names != nil {
		t.Errorf("an absent folder has %v", names)
	}
}

func TestSplitName_AndBack(t *testing.T) {
	for file, want := range map[string]FileName{
		"a.gguf":                      {"a", 1, 1},
		"a-00002-of-00003.gguf":       {"a", 2, 3},
		"a-00004-of-00003.gguf":       {"a-00004-of-00003", 1, 1},
		"a-2-of-3.gguf":               {"a-2-of-3", 1, 1},
		"x/y-1.0-00001-of-00010.gguf": {"x/y-1.0", 1, 10},
	} {
		got, ok := SplitName(file)
		if !ok || got != want || got.String() != file {
			t.Errorf("%s: %+v, %t, %s", file, got, ok, got)
		}
	}
	for _, file := range []string{"a.bin", ".gguf", ""} {
		if _, ok := SplitName(file); ok {
			t.Errorf("%q is the name of a model", file)
		}
	}
}

func TestLibrary_Models_WhatTheHeaderSays(t *testing.T) {
	l := folder(t, "broken.gguf")
	path := add(t, l, "tiny.gguf")
	models, unreadable := l.Models()
	if len(models) != 1 || len(unreadable) != 1 || unreadable[0].Name != "broken" || unreadable[0].Err == nil {
		t.Fatalf("got %+v and %+v", models, unreadable)
	}
	m := models[0]
	info := must.Get(os.Stat(path))(t)
	if m.Name != "tiny" || !slices.Equal(m.Files, []string{path}) || m.Size != info.Size() || !m.Modified.Equal(info.ModTime()) || len(m.Digest) != 64 || m.Source != nil {
		t.Errorf("got %+v", m)
	}
	real := load(t, path)
	defer func() { _ = real.Close() }()
	want := real.Info()
	if m.Parameters != want.Parameters || m.Context != want.ContextTrain || m.Embedding != want.Embedding || m.Vocabulary != want.Vocabulary {
		t.Errorf("got %+v, llama.cpp says %+v", m.Details, want)
	}
	if m.Architecture != "llama" || !m.Template || m.ParameterSize() != "1.6M" || m.Quantisation == "" {
		t.Errorf("got %+v", m.Details)
	}
}

func load(t *testing.T, path string) *native.Model {
	t.Helper()
	return must.Get(native.LoadModel(t.Context(), path, native.ModelOptions{}))(t)
}

func small(t *testing.T, path, architecture string) {
	t.Helper()
	must.Do(t, synth.SmallFile(path, architecture, 1))
}

func TestLibrary_Model_ChangedFile_IsReadAnew(t *testing.T) {
	l := folder(t)
	path := filepath.Join(l.Folder, "m.gguf")
	small(t, path, "mamba")
	before := must.Get(l.Model("m"))(t)
	small(t, path, "cohere2")
	after, err := l.Model("m")
	if err != nil || before.Architecture != "mamba" || after.Architecture != "cohere2" || before.Digest == after.Digest {
		t.Errorf("%q, then %q, %v", before.Architecture, after.Architecture, err)
	}
	must.Do(t, WriteSource(path, Source{From: "hf://o/n", Pulled: time.Now(), Files: []SourceFile{{Name: "m.gguf", Size: after.Size, SHA256: strings.Repeat("a", 64)}}}))
	if m, err := l.Model("m"); err != nil || m.Source == nil || m.Digest != strings.Repeat("a", 64) {
		t.Errorf("with a note: %+v, %v", m, err)
	}
	small(t, path, "bert")
	if m, err := l.Model("m"); err != nil || m.Source != nil {
		t.Errorf("the note of another file: %+v, %v", m.Source, err)
	}
}

func TestLibrary_Model_Unknown(t *testing.T) {
	l := folder(t, "mistral.gguf")
	for arg, says := range map[string]string{"mistrl": "did you mean mistral", "zzz": "it holds mistral", "./absent.gguf": "absent.gguf"} {
		if _, err := l.Model(arg); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", arg, err)
		}
	}
}

// A model of which a part is missing is in the list of names, and no advice about itself.
func TestAdvice_NeverTheNameItself(t *testing.T) {
	for want, names := range map[string][]string{
		"that folder holds no .gguf file": {"three"}, "did you mean three-b?": {"three", "three-b"}, "it holds unlike": {"three", "unlike"},
	} {
		if got := Advice("three", names); !strings.Contains(got, want) {
			t.Errorf("of %v: %s; want %s", names, got, want)
		}
	}
}

func TestLibrary_Remove_AllFilesOfAModel(t *testing.T) {
	l := folder(t, "a-00001-of-00002.gguf", "a-00002-of-00002.gguf", "a.source.json", "ab.gguf", "half-00001-of-00002.gguf.part", "half-00001-of-00002.gguf.part.json",
		"dir/x-00001-of-00002.gguf", "dir/x-00002-of-00002.gguf", "kept/k.gguf", "kept/notes.txt")
	for _, name := range []string{"a", "half", "dir", "kept"} {
		files, err := l.Removable(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		must.Do(t, l.Remove(files))
	}
	var left []string
	must.Do(t, filepath.WalkDir(l.Folder, func(path string, d os.DirEntry, err error) error {
		if path != l.Folder {
			left = append(left, strings.TrimPrefix(path, l.Folder+"/"))
		}
		return err
	}))
	if diff := cmp.Diff([]string{"ab.gguf", "kept", "kept/notes.txt"}, left); diff != "" {
		t.Error(diff)
	}
	outside := filepath.Join(t.TempDir(), "mine.gguf")
	if _, err := l.Removable(outside); !errors.Is(err, ErrNotFound) {
		t.Errorf("a path outside: %v", err)
	}
	if _, err := l.Removable("../" + filepath.Base(l.Folder) + "/ab"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a path: %v", err)
	}
}

// A removal that is cut leaves no half of a model, and can be done again.
func TestLibrary_Remove_Cut_LeavesNoModel(t *testing.T) {
	for _, last := range []string{"a-00002-of-00003.gguf", "a-00003-of-00003.gguf"} {
		l := folder(t, "a-00001-of-00003.gguf", "a-00002-of-00003.gguf", "a-00003-of-00003.gguf", "a.source.json")
		files, err := l.Removable("a")
		if err != nil {
			t.Fatal(err)
		}
		blocked := filepath.Join(l.Folder, last)
		must.Do(t, errors.Join(os.Remove(blocked), os.MkdirAll(filepath.Join(blocked, "inner"), 0o700)))
		if err := l.Remove(files); err == nil {
			t.Fatal("a folder was removed")
		}
		if names := Stems(l.Folder); len(names) > 0 {
			t.Errorf("cut before %s there is still %v", last, names)
		}
		must.Do(t, errors.Join(os.RemoveAll(blocked), os.WriteFile(blocked, nil, 0o600)))
		if files, err = l.Removable("a"); err != nil {
			t.Fatal(err)
		}
		if err := l.Remove(files); err != nil {
			t.Error(err)
		}
		if all, err := os.ReadDir(l.Folder); err != nil || len(all) > 0 {
			t.Errorf("%v is left, %v", all, err)
		}
	}
}

// LoRA adapters and control vectors lie in the folder, too, and are found there by name, but are
// no models.
func TestLibrary_Adapters_AreNoModels(t *testing.T) {
	l := folder(t, "broken.gguf")
	add(t, l, "model.gguf")
	for name, write := range map[string]func(io.Writer) error{
		"lora.gguf":   synth.Adapter{Model: builtIn}.Write,
		"vector.gguf": func(w io.Writer) error { return synth.ControlVector(w, builtIn, 1, 0.1) },
	} {
		file := must.Get(os.Create(filepath.Join(l.Folder, name)))(t)
		must.Do(t, errors.Join(write(file), file.Close()))
	}
	if diff := cmp.Diff([]string{"broken", "model"}, l.Names()); diff != "" {
		t.Error(diff)
	}
	models, unreadable := l.Models()
	if len(models) != 1 || models[0].Name != "model" || len(unreadable) != 1 || unreadable[0].Name != "broken" {
		t.Errorf("models %v, unreadable %v", models, unreadable)
	}
	if Find(l.Folder, "lora") == "" {
		t.Error("an adapter is not found by its name")
	}
}
