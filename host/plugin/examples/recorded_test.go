// SPDX-License-Identifier: MIT

package examples

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/session"
)

// sources is where the examples are.
var sources = filepath.Join("..", "..", "..", "plugins", "examples")

// caseless are the examples without cases, and why that is so.
var caseless = map[string]string{
	"prompt-lookup": "sessions have no drafts",
	"grammar":       "the host's grammars decide; host's tests have it on the built-in model",
	"json-schema":   "this package's tests of schemas have it",
}

// TestCases_ComeOutAsTheySay makes the calls of each example's golden cases, on the modules that
// were built of it: in Go with TinyGo, and of some with Go's own compiler.
func TestCases_ComeOutAsTheySay(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(sources, "*", "README.md"))
	if err != nil || len(folders) < 25 {
		t.Fatalf("there are %d examples; %v", len(folders), err)
	}
	for _, readme := range folders {
		name := filepath.Base(filepath.Dir(readme))
		files, err := filepath.Glob(filepath.Join(filepath.Dir(readme), "cases", "*.json"))
		if err != nil || (len(files) == 0) != (caseless[name] != "") {
			t.Errorf("%s has %d cases, %q, %v", name, len(files), caseless[name], err)
		}
		modules := []string{name}
		if _, err := os.Stat(filepath.Join("..", "..", "..", "build", "plugins", "stdgo", name+".wasm")); err == nil {
			modules = append(modules, "stdgo/"+name)
		}
		for _, module := range modules {
			t.Run(module, func(t *testing.T) {
				for _, file := range files {
					f := readSessions(t, file)
					play(t, newPlayer(t, module, f), f)
				}
			})
		}
	}
}

func readSessions(t *testing.T, file string) *session.File {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := session.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", filepath.Base(file), err)
	}
	return f
}

func newPlayer(t *testing.T, name string, f *session.File) *session.Player {
	t.Helper()
	p, err := session.NewPlayer(t.Context(), read(t, name), f, plugin.HostOptions{CacheDir: codeCache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// play makes the calls of a file's sessions.
func play(t *testing.T, p *session.Player, f *session.File) {
	t.Helper()
	for i := range f.Sessions {
		s := &f.Sessions[i]
		if len(s.Calls) < 2 && s.Calls[0].Call == session.CallOpen && s.Calls[0].Refusal == nil {
			t.Errorf("%s: the session has no calls to compare", s.Name)
		}
		if d, err := p.Play(t.Context(), s); err != nil || d != nil {
			t.Errorf("%s: %v %v", s.Name, d, err)
		}
	}
}

// TestCases_FindAChange plays sessions of one configuration with another.
func TestCases_FindAChange(t *testing.T) {
	text := `{"penstock_session":1,"vocabulary":{"pieces":["a","b","c"]},"sessions":[{"plugin":{"name":"min-p"},"request":{"config":{"min_p":0.5}},
		"calls":[{"call":"open"},{"call":"sample","ids":[0,1,2],"logits":[3,2.5,2],"answer":-3}]}]}`
	f, err := session.Read(bytes.NewReader([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"min-p", "stdgo/min-p"} {
		p := newPlayer(t, name, f)
		for config, differs := range map[string]bool{`{"min_p":0.5}`: false, `{"min_p":0.3}`: true, `{}`: true} {
			f.Sessions[0].Request.Config = json.RawMessage(config)
			if d, err := p.Play(t.Context(), &f.Sessions[0]); err != nil || (d != nil) != differs {
				t.Errorf("%s with %s: %v, %v", name, config, d, err)
			}
		}
	}
}
