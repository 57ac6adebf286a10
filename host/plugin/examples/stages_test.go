// SPDX-License-Identifier: MIT

package examples

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/scheduler"
)

// opened is a stage that is open after a prompt of one token, 0.
func opened(t testing.TB, m *load.Plugin, config string) *stage.Stage {
	t.Helper()
	return begun(t, m, plugin.RequestInfo{Config: []byte(config), MaxTokens: 50, ContextSize: 4096})
}

// begun is opened for any request, with the configuration that the schema's defaults make of its
// own.
func begun(t testing.TB, m *load.Plugin, r plugin.RequestInfo) *stage.Stage {
	t.Helper()
	var err error
	if r.Config, err = m.CheckConfig(r.Config); err != nil {
		t.Fatal(err)
	}
	s, err := stage.New(m, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Reset([]scheduler.Token{0}, 1); err != nil {
		t.Fatal(err)
	}
	return s
}

func randomRow(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 3))
	row := make([]float32, n)
	for i := range row {
		row[i] = float32(4 * r.NormFloat64())
	}
	return row
}

// TestPromptLookup_Draft_GoesOnAsThePromptDid has the module guess: sessions have no such call.
func TestPromptLookup_Draft_GoesOnAsThePromptDid(t *testing.T) {
	m := loaded(t, "prompt-lookup", newWords())
	s, err := stage.New(m, plugin.RequestInfo{Config: []byte(`{"tokens":2}`), MaxTokens: 50, ContextSize: 4096})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }() // tested elsewhere
	prompt := []scheduler.Token{1, 2, 3, 4, 5}
	if err := s.Reset(prompt, len(prompt)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		accept scheduler.Token
		most   int
		want   []scheduler.Token
	}{{1, 16, nil}, {2, 16, prompt[2:]}, {3, 1, prompt[3:4]}, {9, 16, nil}} {
		if _, err := s.Accept(c.accept); err != nil {
			t.Fatal(err)
		}
		if got := s.Foresee(c.most); !slices.Equal(got, c.want) {
			t.Errorf("after %d it guesses %v, want %v", c.accept, got, c.want)
		}
	}
}
