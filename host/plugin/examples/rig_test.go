// SPDX-License-Identifier: MIT

// Package examples tests the example plugins under the real runtime. They come from build/plugins,
// where `make plugins` puts them.
package examples

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/session"
	"github.com/penstock/penstock/host/spawn"
	"github.com/penstock/penstock/plugins/abi"
)

// codeCache is where all tests keep what was compiled, so that each module is compiled once.
var codeCache string

func TestMain(m *testing.M) {
	spawn.Run(compile.Child())
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "penstock-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	codeCache = dir
	return m.Run()
}

// words is a vocabulary: all single bytes, then pieces of JSON, words, parts of characters and
// long runs, then the end.
type words []string

const endOfText = "<end>"

func newWords() words {
	var w words
	for b := range 256 {
		w = append(w, string([]byte{byte(b)}))
	}
	w = append(w, `{"`, `":`, `","`, `"}`, `"]`, `]}`, `}}`, `]]`, `],`, `},`, `[]`, `{}`, ` "`, `": "`, `", "`, `":"`, `[{"`, `"},{"`, `\"`, `\n`, `\u`, `\u00`,
		"12", "123", "-1", "0.", "1.5", "true", "false", "null", "tr", "ue", "nul", "name", "na", "age", "id", "items", "tag", "tags", "color",
		"re", "red", "green", "blue", "the", " the", " a", "hello", " world", "ing", "é", "ü", "日", "日本", "\xe6\x97", "\xf0\x9f", "\x98\x80", "a\"", "x\",\"", "\n\n", "\t",
		"abcdefghijklmnopqrstuvwxyz", "ab", "abc", "abcd", "abcde", "abcdef", "name\":", "age\":", "\"name\"", "0", "00", "1e5")
	return append(w, endOfText)
}

func (w words) Size() int { return len(w) }
func (w words) Piece(t int32) string {
	if w[t] == endOfText {
		return ""
	}
	return w[t]
}
func (w words) Attributes(t int32) uint32 {
	if w[t] == endOfText {
		return abi.AttrControl | abi.AttrEnd
	}
	return 0
}
func (w words) Special(kind int32) int32 {
	if kind == abi.SpecialEOS {
		return int32(len(w) - 1)
	}
	return -1
}
func (w words) Tokenize(text string, _, _ bool) ([]int32, error) {
	var tokens []int32
	for _, b := range []byte(text) {
		tokens = append(tokens, int32(b))
	}
	return tokens, nil
}

// read reads a plugin that was built.
func read(t testing.TB, name string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join("..", "..", "..", "build", "plugins", name+".wasm"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%s.wasm is not built: run `make plugins` first", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// loaded is a plugin that was built, loaded with vocabulary v.
func loaded(t testing.TB, name string, v plugin.Vocabulary) *load.Plugin {
	t.Helper()
	limits := plugin.DefaultLimits()
	limits.Compile, limits.HookTime, limits.SetupTime, limits.LoadTime = time.Minute, time.Minute, time.Minute, time.Minute // machines under load
	r := load.New(plugin.HostOptions{CacheDir: codeCache, ModelOptions: plugin.ModelOptions{Vocabulary: v, Grammars: session.NewGrammars(v)}, Limits: limits})
	m, err := r.Load(context.Background(), read(t, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.Release()
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

func mustJSON(t testing.TB, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
