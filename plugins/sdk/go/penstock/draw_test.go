// SPDX-License-Identifier: MIT

package penstock_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// drawer draws from what it sees, and rowDrawer too; sum is that of the weights.
type (
	drawer    struct{ weights []float32 }
	rowDrawer struct{ weights []float32 }
)

var sum float32

func (d *drawer) Sample(c *penstock.Candidates) penstock.Choice {
	d.weights, sum = c.Softmax(d.weights)
	return penstock.Take(c.Draw(d.weights, sum))
}

func (d *rowDrawer) SampleRow(r *penstock.Row) penstock.Choice {
	d.weights, sum = r.Softmax(d.weights)
	return penstock.Take(r.Draw(d.weights, sum))
}

// drawing is a case of plugins/abi/testdata/draws.json, which says what the fields mean.
type drawing struct {
	Seed   uint64
	Prompt int
	IDs    []penstock.Token
	Logits []*float32
	Sum    string
	Tokens []penstock.Token
}

// TestDraw_IsThatOfTheRustSDK draws as the Rust SDK's tests do: the same weights and the same
// tokens.
func TestDraw_IsThatOfTheRustSDK(t *testing.T) {
	text, err := os.ReadFile(filepath.FromSlash("../../../abi/testdata/draws.json"))
	if err != nil {
		t.Fatal(err)
	}
	var script struct{ Cases []drawing }
	if err := json.Unmarshal(text, &script); err != nil || len(script.Cases) <= 5 {
		t.Fatalf("%d cases, %v", len(script.Cases), err)
	}
	penstock.Register[drawer](penstock.Manifest{Name: "drawer"})
	penstock.Register[rowDrawer](penstock.Manifest{Name: "row-drawer"})
	for i, c := range script.Cases {
		var logits []float32
		for _, x := range c.Logits {
			if x == nil {
				inf := float32(math.Inf(-1))
				x = &inf
			}
			logits = append(logits, *x)
		}
		r := plugintest.Request{Pieces: make([]string, 1000), Prompt: make([]penstock.Token, c.Prompt), Seed: c.Seed}
		var s *plugintest.Session
		draw := func() penstock.Choice { return s.Sample(slices.Clone(c.IDs), slices.Clone(logits)) }
		if c.IDs != nil {
			s = plugintest.Open[drawer](t, r)
		} else {
			s = plugintest.Open[rowDrawer](t, r)
			draw = func() penstock.Choice { return s.SampleRow(slices.Clone(logits)) }
		}
		var drawn []penstock.Token
		for range c.Tokens {
			token, _ := draw().Token()
			drawn = append(drawn, token)
			s.Accept(0)
		}
		if bits := fmt.Sprintf("%08x", math.Float32bits(sum)); !slices.Equal(drawn, c.Tokens) || bits != c.Sum {
			t.Errorf("case %d: drew %v with the sum %s, want %v and %s", i, drawn, bits, c.Tokens, c.Sum)
		}
	}
}
