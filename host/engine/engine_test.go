// SPDX-License-Identifier: MIT

package engine

import (
	"testing"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
)

const builtIn = "../model/penstock-tiny.gguf"

func open1(t *testing.T, o Options) *Engine {
	t.Helper()
	o.Path = builtIn
	e, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func TestSmoke(t *testing.T) {
	e := open1(t, Options{})
	t.Logf("%+v", e.Info())
	b := e.Backend()
	p := sampling.Default()
	p.Temperature = 0
	chain, err := e.NewChain(p)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := e.Tokenize("<|im_start|>user\nTell me a story about a frog.<|im_end|>\n<|im_start|>assistant\n", true, true)
	if err != nil {
		t.Fatal(err)
	}
	var batch scheduler.Batch
	for i, tok := range tokens {
		batch.Add(tok, int32(i), 0, i == len(tokens)-1)
	}
	pos := len(tokens)
	text := ""
	for range 60 {
		if err := b.Start(&batch); err != nil {
			t.Fatal(err)
		}
		if err := b.Wait(); err != nil {
			t.Fatal(err)
		}
		draws := []scheduler.Draw{{Row: 0, Stage: chain[0]}}
		b.SampleRows(draws)
		if draws[0].Err != nil {
			t.Fatal(draws[0].Err)
		}
		tok := draws[0].Token
		if b.EndOfGeneration(tok) {
			break
		}
		text += b.Piece(tok)
		chain[0].Accept(tok)
		batch.Reset()
		batch.Add(tok, int32(pos), 0, true)
		pos++
	}
	t.Log(text)
}
