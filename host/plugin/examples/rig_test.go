// SPDX-License-Identifier: MIT

// Package examples tests the example plugins under the real runtime. They come from build/plugins,
// where `make plugins` puts them.
package examples

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/session"
	"github.com/penstock/penstock/host/spawn"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/tools/must"
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
	l := hosttest.Open(t, load.New, func(o *plugin.HostOptions) {
		o.CacheDir, o.Vocabulary, o.Grammars = codeCache, v, session.NewGrammars(v)
	})
	return hosttest.Load(t, l, hosttest.Built(read(t, name)))
}

func mustJSON(t testing.TB, value any) []byte {
	t.Helper()
	return must.Get(json.Marshal(value))(t)
}

// TestFixtures_OldModulesBehaveAsBefore loads modules that were built before v1 had its later
// features, and makes the calls of sessions that were written then: each must come out as it did.
// The modules are never built again.
func TestFixtures_OldModulesBehaveAsBefore(t *testing.T) {
	modules, err := filepath.Glob(filepath.Join("testdata", "v1", "*.wasm"))
	if err != nil || len(modules) < 5 {
		t.Fatalf("the fixtures are gone: %v %v", modules, err)
	}
	for _, module := range modules {
		name := strings.TrimSuffix(filepath.Base(module), ".wasm")
		t.Run(name, func(t *testing.T) {
			wasm := must.Get(os.ReadFile(module))(t)
			files, err := filepath.Glob(filepath.Join("testdata", "v1", name+".*.json"))
			if err != nil || len(files) == 0 {
				t.Fatalf("it has no sessions: %v", err)
			}
			for _, file := range files {
				f := readSessions(t, file)
				p := must.Get(session.NewPlayer(t.Context(), load.File{Content: wasm}, f, plugin.HostOptions{}))(t)
				play(t, p, f)
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestGoldenCases_Model_TellWhatDiffers has a program run on a model, and says what comes of it
// wrongly.
func TestGoldenCases_Model_TellWhatDiffers(t *testing.T) {
	for outcome, want := range map[string]string{
		`"shown":[[2,3],[1]],"computed":5,"answer":0`: "",
		`"shown":[[2,3],[3]]`:                         `shown: recorded choice 0: token 2 "b", token 3 "c"; choice 1: token 3 "c", came choice 0`,
		`"shown":[2,3]`:                               `shown: recorded token 2 "b", token 3 "c", came choice 0: token 2 "b", token 3 "c"; choice 1`,
		`"logprobs":[[-1,-1],[]]`:                     "logprobs: recorded choice 0: [-1 -1]; choice 1: [], came",
		`"computed":4`:                                "computed: recorded 4, came 5",
		`"computed":0`:                                "computed: recorded 0, came 5",
		`"adopted":[]`:                                "",
		`"logprobs":[["nan","nan"],["nan"]]`:          "",
		`"logprobs":[[],[]]`:                          "",
		`"answer":1`:                                  "answer: recorded 1, came 0",
		`"refusal":"no"`:                              `refusal: recorded "no", came none`,
		`"adopted":[{"tokens":[4,2],"from":1}]`:       `adopted: recorded [{"tokens":[4,2],"from":1}], came`,
		`"outputs":[{"beams":[{"score":-0.38014,"text":"bc","tokens":[2,3]},{"score":-0.8574,"text":"a","tokens":[1]}]}]`: "",
		`"outputs":[{"beams":[{"score":-0.38114,"text":"bc","tokens":[2,3]},{"score":-0.8574,"text":"a","tokens":[1]}]}]`: "outputs: recorded",
	} {
		f := must.Get(session.Read(strings.NewReader(`{"penstock_session":1,"vocabulary":{"pieces":["","a","b","c","go"],"attributes":{"end":[0]}},"sessions":[
			{"plugin":{"name":"beam"},"request":{"config":{"width":2},"prompt":[4],"max_tokens":8,"choices":2},"model":[
				{"after":[4],"probabilities":[0.01,0.6,0.37,0.01,0.01]},{"after":[1],"probabilities":[0.3,0.2,0.2,0.2,0.1]},
				{"after":[2],"probabilities":[0.01,0.01,0.01,0.96,0.01]},{"after":[3],"probabilities":[0.9,0.03,0.03,0.03,0.01]}],
			"calls":[{"call":"open"},{"call":"run",` + outcome + `}]}]}`)))(t)
		d, err := newPlayer(t, "beam", f).Play(t.Context(), &f.Sessions[0])
		if err != nil || (d == nil) != (want == "") || d != nil && !strings.Contains(d.String(), want) {
			t.Errorf("%s: %v, %v, want %q", outcome, d, err, want)
		}
	}
}
