// SPDX-License-Identifier: MIT

package synth

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/penstock/penstock/native/gguf"
)

const (
	blockSize = 8 // tokens that are guessed in a pass, with the one before them
	maskToken = 2 // stands for what is to be guessed
)

func zero(float64) float64 { return 0 }

// dflash is a head for qwen3 that guesses a block of tokens in one pass: each attends to what it
// makes of the inputs of three layers, and to all of the block. With a rank it is DSpark's, where
// the guess before each token changes its logits.
func dflash(rank uint64) architecture {
	layers := []uint32{0, 1, smallLayers - 1}
	a := architecture{
		name: "dflash",
		numbers: map[string]uint32{"block_count": 2, "attention.head_count": 4, "attention.head_count_kv": 2, "attention.key_length": eagleHead,
			"attention.value_length": eagleHead, "feed_forward_length": smallFFN, "block_size": blockSize},
		floats: ropeFloats, lists: map[string][]uint32{"target_layers": layers}, mask: maskToken,
		outer: []smallTensor{{"output_norm.weight", one, []uint64{smallDim}}, {"enc.output_norm.weight", one, []uint64{smallDim}},
			{"fc.weight", nil, []uint64{uint64(len(layers)) * smallDim, smallDim}}},
		layer: qwen3(nil).layer, // with what it reads the same
	}
	if rank > 0 {
		a.outer = append(a.outer, smallTensor{"markov_w1.weight", nil, []uint64{rank, smallVocabulary}}, smallTensor{"markov_w2.weight", nil, []uint64{rank, smallVocabulary}})
	}
	return a
}

// deepBlocks is DSpark's with blocks so long, of layers so many, that llama.cpp ends the process:
// its plan of a pass over a block has no room for them.
func deepBlocks() architecture {
	a := dflash(smallRank)
	a.numbers["block_count"], a.numbers["block_size"] = 8, 64
	a.outer = append(a.outer, smallTensor{"conf_proj.weight", nil, []uint64{smallDim + smallRank, 1}}, smallTensor{"conf_proj.bias", nil, []uint64{1}})
	return a
}

// echoingBlocks is a dflash whose first guess is the last token that the model has read. It sees a
// window of three positions: of these the head has filled that one, with numbers larger than those
// of the block itself, and all count the same.
func echoingBlocks() architecture {
	a := dflash(0)
	a.numbers["block_count"], a.numbers["attention.head_count_kv"], a.numbers["attention.sliding_window"] = 1, 4, 3
	a.lists["attention.sliding_window_pattern"] = []uint32{1}
	for i, t := range a.layer {
		switch t.name {
		case "attn_q.weight", "ffn_down.weight":
			a.layer[i].fill = zero
		case "attn_k.weight":
			a.layer[i].dims = []uint64{smallDim, smallDim}
		case "attn_v.weight":
			a.layer[i] = smallTensor{t.name, identity(smallDim), []uint64{smallDim, smallDim}}
		case "attn_output.weight":
			a.layer[i].fill = identity(smallDim)
		}
	}
	for i, t := range a.outer {
		switch t.name {
		case "fc.weight":
			a.outer[i].fill = identity(t.dims[0])
		case "enc.output_norm.weight":
			a.outer[i].fill = func(float64) float64 { return 20 }
		}
	}
	return a
}

// mostRank is how many numbers of a token DSpark's heads go by at most.
const mostRank = 256

const q80Len = 2 + blockLen // bytes of a block: its scale in 16 bits, and its numbers

// WithBlocks writes to w a head (DSpark) for the loop in the file at path, of a shape: it guesses
// the next tokens of the loop in one pass, and is right for so many of a hundred of them. Each
// guess follows from the one before alone, with the first numbers of the loop's own embedding.
func WithBlocks(w io.Writer, path string, s Shape, seed uint64) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	of, err := gguf.Read(file, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	embedding, l := of.Tensors[0], &loop{length: uint64(s.Loop), right: uint64(s.Right)}
	tokens, rank := embedding.Dims[1], min(embedding.Dims[0], mostRank)
	row := make([]byte, embedding.Size()/tokens)
	from := bufio.NewReader(io.NewSectionReader(file, of.DataOffset, int64(embedding.Size())))
	for range tokens {
		if _, err := io.ReadFull(from, row); err != nil {
			return err
		}
		l.embedding.Write(row[:uint64(len(row))*rank/embedding.Dims[0]])
	}
	l.embedding.Write(make([]byte, -uint64(l.embedding.Len())&(of.Alignment-1)))
	s.Head = false // of its own file
	h, dim, head := &gguf.Header{}, uint64(s.Dim), uint64(s.headDim())
	h.Set("general.architecture", gguf.NewString("dflash"))
	for _, p := range []struct {
		key   string
		value uint32
	}{
		{"context_length", s.Context}, {"embedding_length", s.Dim}, {"block_count", 1}, {"feed_forward_length", s.FFN}, {"attention.head_count", s.Heads},
		{"attention.head_count_kv", s.KVHeads}, {"block_size", blockSize},
	} {
		h.Set("dflash."+p.key, gguf.NewUint32(p.value))
	}
	h.Set("dflash.attention.layer_norm_rms_epsilon", gguf.NewFloat32(1e-5))
	h.Set("dflash.target_layers", gguf.NewUint32s(0))
	if _, err := copyVocabulary(h, path); err != nil {
		return err
	}
	h.Set("tokenizer.ggml.mask_token_id", gguf.NewUint32(maskToken))
	for _, t := range []tensor{
		{"markov_w1", embedding.Type, []uint64{rank, tokens}}, {"markov_w2", embedding.Type, []uint64{rank, tokens}}, {"output_norm", gguf.F32, []uint64{dim}},
		{"enc.output_norm", gguf.F32, []uint64{dim}}, {"fc", gguf.F32, []uint64{dim, dim}},
	} {
		h.Append(t.name+".weight", t.kind, t.dims...)
	}
	for _, t := range slices.Concat(s.attention(Q40), []tensor{{"attn_q_norm", gguf.F32, []uint64{head}}, {"attn_k_norm", gguf.F32, []uint64{head}}},
		s.feedForward(Q40)) {
		h.Append("blk.0."+t.name+".weight", t.kind, t.dims...)
	}
	if err := h.Write(w); err != nil {
		return err
	}
	for i, t := range h.Tensors {
		switch t.Name {
		case "markov_w1.weight": // with larger scales, so that the logits are far apart
			larger := slices.Clone(l.embedding.Bytes())
			for at := uint64(0); at+q80Len <= t.Size(); at += q80Len {
				larger[at+1] += 8 << 2 // to the exponent
			}
			_, err = w.Write(larger)
		case "markov_w2.weight":
			err = l.output(w, tokens, l.exchanged)
		case "output_norm.weight": // so that all else adds nothing to the logits
			_, err = w.Write(smallTensor{fill: zero}.data(t.Elements(), h.Alignment, rand.New(rand.NewPCG(seed, 0))))
		default:
			err = writeTensor(w, t, h.Alignment, seed, uint64(i))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
