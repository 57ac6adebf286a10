// SPDX-License-Identifier: MIT

package examples

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/session"
)

// TestGo_Sessions_AreTheSameNativelyAndInTheHost runs the tests of the examples in Go, which try
// them natively. Then it makes the calls of each of their sessions once more, on the modules that
// TinyGo and stock Go built, and wants each to come out the same. smc is left out: what it tells
// has exponentials, whose last digits are the compiler's.
func TestGo_Sessions_AreTheSameNativelyAndInTheHost(t *testing.T) {
	tests := exec.Command("go", "test", "-count=1", "./...")
	tests.Dir = filepath.Join("..", "..", "..", "plugins", "examples")
	folder := t.TempDir()
	tests.Env = append(os.Environ(), "PENSTOCK_RECORD="+folder)
	if out, err := tests.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"answer-length", "banned-phrases", "dynamic-temperature", "min-p", "no-repeat", "probe", "prompt-lookup", "reasoning-budget", "redact", "regex-stop", "repetition-stop", "shorten", "last-pictures",
		"transcript", "stdgo/min-p", "beam", "best-of", "choice", "form", "guidance", "heal", "lookahead"} {
		t.Run(name, func(t *testing.T) {
			playAll(t, name, filepath.Join(folder, filepath.Base(name)+".Test*.json"))
		})
	}
}

// playAll plays the files of a plugin's sessions.
func playAll(t *testing.T, name, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("its tests open no session; %v", err)
	}
	players := map[[sha256.Size]byte]*session.Player{} // by what loading the module depends on
	for _, file := range files {
		f := readSessions(t, file)
		key := sha256.Sum256(mustJSON(t, f.Vocabulary))
		if players[key] == nil {
			players[key] = newPlayer(t, name, f)
		}
		play(t, players[key], f)
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

// TestGo_Sessions_FindAChange plays sessions of one configuration with another.
func TestGo_Sessions_FindAChange(t *testing.T) {
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
