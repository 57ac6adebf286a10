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
	"github.com/penstock/penstock/tools/must"
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
	r.Config = must.Get(m.CheckConfig(r.Config))(t)
	s := must.Get(stage.New(m, r))(t)
	must.Close(t, s)
	must.Do(t, s.Reset([]scheduler.Token{0}, 1))
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
	s := must.Get(stage.New(m, plugin.RequestInfo{Config: []byte(`{"tokens":2}`), MaxTokens: 50, ContextSize: 4096}))(t)
	defer func() { _ = s.Close() }() // tested elsewhere
	prompt := []scheduler.Token{1, 2, 3, 4, 5}
	must.Do(t, s.Reset(prompt, len(prompt)))
	for _, c := range []struct {
		accept scheduler.Token
		most   int
		want   []scheduler.Token
	}{{1, 16, nil}, {2, 16, prompt[2:]}, {3, 1, prompt[3:4]}, {9, 16, nil}} {
		must.Get(s.Accept(c.accept))(t)
		if got := s.Foresee(c.most); !slices.Equal(got, c.want) {
			t.Errorf("after %d it guesses %v, want %v", c.accept, got, c.want)
		}
	}
}
