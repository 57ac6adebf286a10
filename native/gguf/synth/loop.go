// SPDX-License-Identifier: MIT

package synth

import (
	"bytes"
	"io"
	"strings"

	"github.com/penstock/penstock/native/gguf"
)

const (
	embeddingName = "token_embd.weight"
	outputName    = "output.weight"
)

// loop writes the tensors of a model that follows each token by the next one of its group of so
// many, and the group's last by its first. The layers add nothing to a token's embedding, and the
// output layer's row of a token is the embedding of the one before it. That wins by far, so the
// text is the same whatever kernels round. A pass costs what one of random weights costs.
type loop struct {
	length    uint64
	right     uint64 // of a hundred tokens, how many its head guesses rightly
	write     func(w io.Writer, t gguf.Tensor, index int) error
	embedding bytes.Buffer
}

func (l *loop) tensor(w io.Writer, t gguf.Tensor, index int) error {
	switch {
	case t.Name == embeddingName:
		return l.write(io.MultiWriter(w, &l.embedding), t, index)
	case t.Name == outputName:
		return l.output(w, t.Dims[1], func(token uint64) uint64 { return token })
	case strings.HasSuffix(t.Name, headOutput):
		return l.output(w, t.Dims[1], l.exchanged)
	case strings.HasSuffix(t.Name, headInput):
		return writeIdentity(w, t, 0)
	case strings.HasSuffix(t.Name, ".attn_output.weight"), strings.Contains(t.Name, ".ffn_down"):
		return l.write(zeroed{w}, t, index)
	}
	return l.write(w, t, index)
}

// output writes the rows of the embedding in another order, then its padding. Each token has the
// row that another one should have.
func (l *loop) output(w io.Writer, tokens uint64, as func(token uint64) uint64) error {
	all := l.embedding.Bytes()
	row := uint64(len(all)) / tokens // the padding is shorter than a row for each token
	for token := range tokens {
		token := min(as(token), tokens-1)
		before := token - 1
		if first := token / l.length * l.length; token == first {
			before = min(first+l.length, tokens) - 1
		}
		if _, err := w.Write(all[before*row : (before+1)*row]); err != nil {
			return err
		}
	}
	_, err := w.Write(all[tokens*row:])
	return err
}

// zeroed writes as many zeros as it is given bytes. In all types of weights these are numbers that
// are 0.
type zeroed struct{ w io.Writer }

func (z zeroed) Write(p []byte) (int, error) { return z.w.Write(make([]byte, len(p))) }
