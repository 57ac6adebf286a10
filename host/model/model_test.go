// SPDX-License-Identifier: MIT

package model

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// folder makes a model folder with empty files of these names.
func folder(t *testing.T, files ...string) CheckOptions {
	t.Helper()
	o := CheckOptions{Folder: t.TempDir(), CacheDir: filepath.Join(t.TempDir(), "cache")}
	for _, f := range files {
		must.Do(t, os.WriteFile(filepath.Join(o.Folder, f), nil, 0o600))
	}
	return o
}

func TestResolve_NameOrPath(t *testing.T) {
	o := folder(t, "llama.gguf", "big-00001-of-00002.gguf", "big-00002-of-00002.gguf", "notes.txt")
	for arg, want := range map[string]File{
		"llama":            {Path: filepath.Join(o.Folder, "llama.gguf"), Name: "llama"},
		"big":              {Path: filepath.Join(o.Folder, "big-00001-of-00002.gguf"), Name: "big"},
		"some/where/x.bin": {Path: "some/where/x.bin", Name: "x.bin"},
		"absent.gguf":      {Path: "absent.gguf", Name: "absent"},
		"model_test.go":    {Path: "model_test.go", Name: "model_test.go"},
	} {
		if got, err := Resolve(arg, o); err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: got %v, %v, want %v", arg, got, err, want)
		}
	}
}

func TestResolve_UnknownName_NamesWhatThereIs(t *testing.T) {
	for _, c := range []struct {
		files     []string
		arg, says string
	}{
		{[]string{"mistral-7b.gguf", "qwen.gguf"}, "mistrl-7b", "did you mean mistral-7b?"},
		{[]string{"mistral-7b.gguf", "qwen.gguf"}, "Qwen", "did you mean qwen?"},
		{[]string{"mistral-7b.gguf", "qwen.gguf"}, "phi", "it holds mistral-7b, qwen"},
		{nil, "phi", "put one there"},
	} {
		_, err := Resolve(c.arg, folder(t, c.files...))
		if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.arg) {
			t.Errorf("%s among %v: %v", c.arg, c.files, err)
		}
	}
}

func TestResolve_BuiltIn_IsStoredOnceAndRepaired(t *testing.T) {
	o := folder(t)
	first := must.Get(Resolve("", o))(t)
	if info, err := os.Stat(filepath.Dir(first.Path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the cache folder: %v, %v", info, err)
	}
	must.Do(t, os.WriteFile(first.Path, []byte("damaged"), 0o600))
	second := must.Get(Resolve(BuiltInName, o))(t)
	have, err := os.ReadFile(second.Path)
	if err != nil || second.Path != first.Path || !second.BuiltIn || !bytes.Equal(have, builtIn) {
		t.Errorf("got %v, %d bytes, %v", second, len(have), err)
	}
}

func TestResolve_BuiltIn_CacheNotWritable_UsesATemporaryFile(t *testing.T) {
	o := folder(t, "file")
	o.CacheDir = filepath.Join(o.Folder, "file", "below")
	f := must.Get(Resolve("", o))(t)
	if have, err := os.ReadFile(f.Path); err != nil || !bytes.Equal(have, builtIn) {
		t.Errorf("%d bytes, %v", len(have), err)
	}
	must.Do(t, f.Close())
	if _, err := os.Stat(f.Path); !os.IsNotExist(err) {
		t.Errorf("after Close: %v", err)
	}
}
