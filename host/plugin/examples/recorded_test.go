// SPDX-License-Identifier: MIT

package examples

import (
	"context"
	"encoding/gob"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
)

// session is what the Go SDK's package plugintest writes down of a session: a request, and calls with what came of them.
type session struct {
	Plugin, Test string
	Request      struct {
		Config, Messages       string
		Pieces                 []string
		Attributes             map[int32]int32
		Special                map[int32]int32
		Prompt                 []int32
		MaxTokens, ContextSize int
		Seed                   uint64
	}
	Calls []call
}

// call is one call of a plugin; fields that the export has no use for are zero.
type call struct {
	Export     string
	Token      int32  // of accept and stop; the number of tokens left by rewind
	Text       string // of stop; the prompt of a template
	IDs        []int32
	Logits     []float32
	Answer     int32 // of prepare: the forced token, or −1
	LeftIDs    []int32
	LeftLogits []float32
	Mask       []uint32
	Bias       map[int32]float32
	Backtrack  int
	Tokens     []int32 // of a splice
	Refused    bool
	Refusal    string
}

// TestGo_Sessions_AreTheSameNativelyAndInTheHost runs the tests of the examples in Go, which try them natively. Then it makes the
// calls of each of their sessions once more, on the modules that TinyGo and stock Go built, and wants each to come out the same.
func TestGo_Sessions_AreTheSameNativelyAndInTheHost(t *testing.T) {
	tests := exec.Command("go", "test", "-count=1", "./...")
	tests.Dir = filepath.Join("..", "..", "..", "plugins", "examples")
	folder := t.TempDir()
	tests.Env = append(os.Environ(), "PENSTOCK_RECORD="+folder)
	if out, err := tests.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.session"))
	if err != nil {
		t.Fatal(err)
	}
	sessions := map[string][]*session{} // by plugin
	for _, file := range files {
		s := readSession(t, file)
		sessions[s.Plugin] = append(sessions[s.Plugin], s)
	}
	sessions["stdgo/min-p"] = sessions["min-p"]
	for _, name := range []string{"answer-length", "banned-phrases", "dynamic-temperature", "min-p", "regex-stop", "repetition-stop", "transcript", "stdgo/min-p"} {
		t.Run(name, func(t *testing.T) {
			if len(sessions[name]) == 0 {
				t.Fatal("its tests open no session")
			}
			modules := map[string]*load.Plugin{} // by vocabulary
			for _, s := range sessions[name] {
				v := vocabulary{s}
				if modules[v.key()] == nil {
					modules[v.key()] = loaded(t, name, v)
				}
				if err := repeat(modules[v.key()], s); err != nil {
					t.Errorf("%s: %v", s.Test, err)
				}
			}
		})
	}
}

func readSession(t *testing.T, file string) *session {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	s := &session{}
	if err := gob.NewDecoder(f).Decode(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// vocabulary is a session's.
type vocabulary struct{ *session }

// key tells vocabularies apart. fmt writes maps in the order of their keys.
func (v vocabulary) key() string {
	return fmt.Sprintf("%q %v %v", v.Request.Pieces, v.Request.Attributes, v.Request.Special)
}

func (v vocabulary) Size() int                 { return len(v.Request.Pieces) }
func (v vocabulary) Piece(t int32) string      { return v.Request.Pieces[t] }
func (v vocabulary) Attributes(t int32) uint32 { return uint32(v.Request.Attributes[t]) }
func (v vocabulary) Special(kind int32) int32 {
	if t, ok := v.Request.Special[kind]; ok {
		return t
	}
	return -1
}

// Tokenize is not what these plugins ask for.
func (v vocabulary) Tokenize(string, bool, bool) ([]int32, error) { return nil, errDiffers }

// request is a session's, as the host puts it.
func (s *session) request() plugin.Request {
	q := s.Request
	return plugin.Request{Config: []byte(q.Config), Seed: q.Seed, MaxTokens: q.MaxTokens, ContextSize: q.ContextSize}
}

// repeat makes the calls of a session.
func repeat(m *load.Plugin, s *session) error {
	if i := slices.IndexFunc(s.Calls, func(c call) bool { return c.Export == abi.ExportTemplate }); i >= 0 {
		text, err := stage.Render(context.Background(), m, []byte(s.Request.Messages), s.request())
		return s.Calls[i].outcome(text, err)
	}
	stage, err := stage.New(m, s.request())
	if err != nil {
		return err
	}
	defer func() { _ = stage.Close() }() // tested elsewhere
	r := repetition{stage: stage, history: slices.Clone(s.Request.Prompt), prompt: len(s.Request.Prompt)}
	for n, c := range s.Calls {
		if err := r.call(c); err != nil {
			return fmt.Errorf("call %d, %s: %w", n+1, c.Export, err)
		}
	}
	return nil
}
