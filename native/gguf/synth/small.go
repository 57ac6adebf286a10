// SPDX-License-Identifier: MIT

package synth

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/penstock/penstock/native/gguf"
)

// Sizes of small models.
const (
	smallVocabulary = 256
	smallDim        = 64
	smallLayers     = 4
	smallFFN        = 128
	smallState      = 16 // of a recurrent layer, for each of inner numbers
	smallInner      = 2 * smallDim
	smallRank       = 8
	smallWindow     = 16 // positions
	separator       = 3  // the token
)

// architecture is what tells one kind of small model from another.
type architecture struct {
	name    string // for llama.cpp; empty: that of the kind
	numbers map[string]uint32
	floats  map[string]float32
	lists   map[string][]uint32
	outer   []smallTensor // besides the embedding; nil: a norm at the end
	layer   []smallTensor // each layer's, without "blk.N."
	encoder bool          // each token sees all
	adds    []string      // tokens that are put around a text: bos, eos, sep
	mask    uint32        // the token that stands for what is to be guessed; 0: none

	embedding func(random float64) float64 // its numbers; nil: as they are
	heads     uint32                       // layers at the end that guess,
	head      func(i int) []smallTensor    // and what each has besides
}

const smallContext = 512

const smallDeviation = 0.2 // of random numbers; large enough for texts that differ
// Kinds of pooling, by llama.cpp's numbers.
const (
	poolMean = 1
	poolLast = 3
	poolRank = 4 // a classifier's scores
)

// smallTensor is a tensor of a layer, filled with random numbers unless it says with what.
type smallTensor struct {
	name string
	fill func(random float64) float64
	dims []uint64
}

func one(float64) float64 { return 1 }

// biased is a tensor with its bias, dims are those of the weights.
func biased(name string, fill func(float64) float64, dims ...uint64) []smallTensor {
	return []smallTensor{{name + ".weight", fill, dims}, {name + ".bias", nil, dims[len(dims)-1:]}}
}

// decaying is the exponent of a state: above 0 it would grow.
func decaying(random float64) float64 { return -0.1 - math.Abs(random) }

// bert is an encoder with some kind of pooling, and perhaps with a head.
func bert(pooling uint32, head ...smallTensor) architecture {
	return architecture{
		name:    "bert",
		numbers: map[string]uint32{"attention.head_count": 4, "feed_forward_length": smallFFN, "pooling_type": pooling},
		floats:  map[string]float32{"attention.layer_norm_epsilon": 1e-5},
		outer: slices.Concat([]smallTensor{{"position_embd.weight", nil, []uint64{smallDim, smallContext}}, {"token_types.weight", nil, []uint64{smallDim, 2}}},
			biased("token_embd_norm", one, smallDim), head),
		layer: slices.Concat(biased("attn_q", nil, smallDim, smallDim), biased("attn_k", nil, smallDim, smallDim), biased("attn_v", nil, smallDim, smallDim),
			biased("attn_output", nil, smallDim, smallDim), biased("attn_output_norm", one, smallDim), biased("ffn_up", nil, smallDim, smallFFN),
			biased("ffn_down", nil, smallFFN, smallDim), biased("layer_output_norm", one, smallDim)),
		encoder: true,
	}
}

// encoderDecoder is T5, whose layers have other names.
func encoderDecoder() architecture {
	outer := []smallTensor{{"enc.output_norm.weight", one, []uint64{smallDim}}, {"dec.output_norm.weight", one, []uint64{smallDim}}}
	for i := range smallLayers {
		for _, half := range []struct {
			name       string
			attentions []string
		}{{"enc", []string{"attn"}}, {"dec", []string{"attn", "cross_attn"}}} {
			layer := fmt.Sprintf("%s.blk.%d.", half.name, i)
			for _, a := range half.attentions {
				outer = append(outer, smallTensor{layer + a + "_norm.weight", one, []uint64{smallDim}})
				for _, m := range []string{"_q", "_k", "_v", "_o"} {
					outer = append(outer, smallTensor{layer + a + m + ".weight", nil, []uint64{smallDim, smallDim}})
				}
			}
			outer = append(outer, smallTensor{layer + "attn_rel_b.weight", nil, []uint64{4, 8}}, smallTensor{layer + "ffn_norm.weight", one, []uint64{smallDim}},
				smallTensor{layer + "ffn_up.weight", nil, []uint64{smallDim, smallFFN}}, smallTensor{layer + "ffn_down.weight", nil, []uint64{smallFFN, smallDim}})
		}
	}
	return architecture{
		numbers: map[string]uint32{"attention.head_count": 4, "feed_forward_length": smallFFN, "attention.relative_buckets_count": 8},
		floats:  map[string]float32{"attention.layer_norm_rms_epsilon": 1e-5},
		outer:   outer,
	}
}

// adding is the architecture with tokens around a text.
func (a architecture) adding(tokens ...string) architecture {
	a.adds = tokens
	return a
}

var architectures = map[string]architecture{
	"mamba": {
		numbers: map[string]uint32{"ssm.conv_kernel": 4, "ssm.inner_size": smallInner, "ssm.state_size": smallState, "ssm.time_step_rank": smallRank},
		floats:  map[string]float32{"attention.layer_norm_rms_epsilon": 1e-5},
		layer: []smallTensor{
			{"attn_norm.weight", one, []uint64{smallDim}}, {"ssm_in.weight", nil, []uint64{smallDim, 2 * smallInner}},
			{"ssm_conv1d.weight", nil, []uint64{4, smallInner}}, {"ssm_conv1d.bias", nil, []uint64{smallInner}},
			{"ssm_x.weight", nil, []uint64{smallInner, smallRank + 2*smallState}}, {"ssm_dt.weight", nil, []uint64{smallRank, smallInner}},
			{"ssm_dt.bias", nil, []uint64{smallInner}}, {"ssm_a", decaying, []uint64{smallState, smallInner}},
			{"ssm_d", one, []uint64{smallInner}}, {"ssm_out.weight", nil, []uint64{smallInner, smallDim}},
		},
	},
	"falcon-h1": { // smallRank is how many heads the recurrent part has
		numbers: map[string]uint32{"attention.head_count": 4, "attention.head_count_kv": 2, "feed_forward_length": smallFFN, "ssm.conv_kernel": 4,
			"ssm.inner_size": smallInner, "ssm.state_size": smallState, "ssm.time_step_rank": smallRank, "ssm.group_count": 1},
		floats: map[string]float32{"attention.layer_norm_rms_epsilon": 1e-5, "rope.freq_base": 10000},
		layer: []smallTensor{
			{"attn_norm.weight", one, []uint64{smallDim}}, {"attn_q.weight", nil, []uint64{smallDim, smallDim}},
			{"attn_k.weight", nil, []uint64{smallDim, smallDim / 2}}, {"attn_v.weight", nil, []uint64{smallDim, smallDim / 2}},
			{"attn_output.weight", nil, []uint64{smallDim, smallDim}}, {"ssm_in.weight", nil, []uint64{smallDim, 2*smallInner + 2*smallState + smallRank}},
			{"ssm_conv1d.weight", nil, []uint64{4, smallInner + 2*smallState}}, {"ssm_conv1d.bias", nil, []uint64{smallInner + 2*smallState}},
			{"ssm_dt.bias", nil, []uint64{smallRank}}, {"ssm_a", decaying, []uint64{1, smallRank}}, {"ssm_d", one, []uint64{1, smallRank}},
			{"ssm_out.weight", nil, []uint64{smallInner, smallDim}}, {"ffn_norm", one, []uint64{smallDim}},
			{"ffn_gate.weight", nil, []uint64{smallDim, smallFFN}}, {"ffn_up.weight", nil, []uint64{smallDim, smallFFN}},
			{"ffn_down.weight", nil, []uint64{smallFFN, smallDim}},
		},
	},
	"cohere2": {
		numbers: map[string]uint32{"attention.head_count": 4, "attention.head_count_kv": 2, "attention.sliding_window": smallWindow, "feed_forward_length": smallFFN},
		floats:  map[string]float32{"attention.layer_norm_epsilon": 1e-5, "logit_scale": 1, "rope.freq_base": 10000},
		layer: []smallTensor{
			{"attn_norm.weight", one, []uint64{smallDim}}, {"attn_q.weight", nil, []uint64{smallDim, smallDim}},
			{"attn_k.weight", nil, []uint64{smallDim, smallDim / 2}}, {"attn_v.weight", nil, []uint64{smallDim, smallDim / 2}},
			{"attn_output.weight", nil, []uint64{smallDim, smallDim}}, {"ffn_gate.weight", nil, []uint64{smallDim, smallFFN}},
			{"ffn_up.weight", nil, []uint64{smallDim, smallFFN}}, {"ffn_down.weight", nil, []uint64{smallFFN, smallDim}},
		},
	},
	"gemma4":           gemma4(),
	"gemma4-assistant": gemma4Assistant(),

	"t5":       encoderDecoder(),
	"bert":     bert(poolMean),
	"reranker": bert(poolRank, append(biased("cls", nil, smallDim, smallDim), biased("cls.output", nil, smallDim, 1)...)...).adding("bos", "eos", "sep"),
	"qwen3":    qwen3(nil),
	"eagle3":   eagle3(false),
	"dflash":   dflash(0),
	"dspark":   dflash(smallRank),
	"embedder": qwen3(map[string]uint32{"pooling_type": poolLast}, "eos"),
}

// SmallFile writes a file with a model of some hundred kilobytes of an architecture other than
// Llama, with random weights and a byte-level vocabulary: "mamba" has a state in place of a cache,
// "falcon-h1" both, "cohere2" attends to a sliding window, "bert" is an encoder for embeddings and
// "embedder" a decoder for them, "reranker" scores a document for a query, and "t5" decodes what
// its encoder gives. "gemma4" attends to a window in each second layer, and "gemma4-assistant" is a
// head for it, as "eagle3", "dflash" and "dspark" are for "qwen3". "eagle3-echo" and "dflash-echo",
// of the same seed, guess the last token that was read. With "dspark-deep" llama.cpp ends the
// process. "step35" has a chain of three heads, and those of "step35-counting" guess tokens by
// their numbers. Other kinds are the names in archs, some megabytes each and without a usable
// vocabulary: "llama-moe". The same arguments give the same bytes.
func SmallFile(path, kind string, seed uint64) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(writeSmall(file, kind, seed), file.Close())
}

// writeSmall is SmallFile to a writer.
func writeSmall(w io.Writer, kind string, seed uint64) error {
	a, ok := architectures[kind]
	switch kind { // those whose numbers are counted
	case "eagle3-echo":
		a, ok = eagle3(true), true
	case "dflash-echo":
		a, ok = echoingBlocks(), true
	case "dspark-deep":
		a, ok = deepBlocks(), true
	case "step35", "step35-counting":
		a, ok = step35(kind == "step35-counting"), true
	}
	if !ok {
		return writeArch(w, kind, seed)
	}
	name := cmp.Or(a.name, kind)
	h := &gguf.Header{}
	h.Set("general.architecture", gguf.NewString(name))
	numbers := map[string]uint32{"context_length": smallContext, "embedding_length": smallDim, "block_count": smallLayers}
	maps.Copy(numbers, a.numbers)
	for _, key := range slices.Sorted(maps.Keys(numbers)) {
		h.Set(name+"."+key, gguf.NewUint32(numbers[key]))
	}
	for _, key := range slices.Sorted(maps.Keys(a.floats)) {
		h.Set(name+"."+key, gguf.NewFloat32(a.floats[key]))
	}
	for _, key := range slices.Sorted(maps.Keys(a.lists)) {
		h.Set(name+"."+key, gguf.NewUint32s(a.lists[key]...))
	}
	setBytes(h, smallVocabulary)
	if a.mask > 0 {
		h.Set("tokenizer.ggml.mask_token_id", gguf.NewUint32(a.mask))
	}
	if a.encoder {
		h.Set(name+".attention.causal", gguf.NewBool(false))
		h.Set("tokenizer.ggml.token_type_count", gguf.NewUint32(2))
	}
	for _, token := range a.adds {
		h.Set("tokenizer.ggml.add_"+token+"_token", gguf.NewBool(true))
		if token == "sep" {
			h.Set("tokenizer.ggml.seperator_token_id", gguf.NewUint32(separator)) // spelt like this in GGUF
		}
	}
	if a.outer == nil {
		a.outer = []smallTensor{{"output_norm.weight", one, []uint64{smallDim}}}
	}
	tensors := slices.Concat([]smallTensor{{"token_embd.weight", a.embedding, []uint64{uint64(numbers["embedding_length"]), smallVocabulary}}}, a.outer)
	for i := range numbers["block_count"] {
		for _, t := range a.layer {
			t.name = fmt.Sprintf("blk.%d.%s", i, t.name)
			tensors = append(tensors, t)
		}
		if first := numbers["block_count"] - a.heads; i >= first {
			for _, t := range a.head(int(i - first)) {
				t.name = fmt.Sprintf("blk.%d.%s", i, t.name)
				tensors = append(tensors, t)
			}
		}
	}
	for _, t := range tensors {
		h.Append(t.name, gguf.F32, t.dims...)
	}
	if err := h.Write(w); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(seed, 0))
	for i, t := range tensors {
		if _, err := w.Write(t.data(h.Tensors[i].Elements(), h.Alignment, random)); err != nil {
			return err
		}
	}
	return nil
}

// data is a tensor's numbers, and zeros up to the alignment.
func (t smallTensor) data(n, align uint64, random *rand.Rand) []byte {
	out := make([]byte, 0, 4*n)
	for range n {
		x := smallDeviation * random.NormFloat64()
		if t.fill != nil {
			x = t.fill(x)
		}
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(x)))
	}
	return append(out, make([]byte, -uint64(len(out))&(align-1))...)
}

// archHeaders are the headers of models that llama.cpp's program test-llama-archs writes, each of
// one architecture. The program takes minutes to build, and its random weights are large, so
// `make golden` keeps the headers here, and writeArch makes weights of its own.
//
//go:embed archs/*.gguf.gz
var archHeaders embed.FS

// archDeviation is that of archs' weights. With the 0.1 of llama.cpp's own tests most of these
// models answer the same whatever stands before.
const archDeviation = 0.3

// writeArch writes a model that has the header of one that llama.cpp's program has written.
func writeArch(w io.Writer, name string, seed uint64) error {
	h, err := archHeader(name)
	if err != nil {
		return err
	}
	if err := h.Write(w); err != nil {
		return err
	}
	for i, t := range h.Tensors {
		if t.Type != gguf.F32 {
			return fmt.Errorf("%w: %s of %s has %v", ErrShape, t.Name, name, t.Type)
		}
		random := smallTensor{fill: func(x float64) float64 { return archDeviation / smallDeviation * x }}
		if strings.Contains(t.Name, "ssm_a") { // above 0 a state would grow
			random.fill = func(x float64) float64 { return -archDeviation / smallDeviation * math.Abs(x) }
		}
		if _, err := w.Write(random.data(t.Elements(), h.Alignment, rand.New(rand.NewPCG(seed, uint64(i))))); err != nil {
			return err
		}
	}
	return nil
}

func archHeader(name string) (*gguf.Header, error) {
	zipped, err := archHeaders.ReadFile("archs/" + name + ".gguf.gz")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: no small model is a %q", ErrShape, name)
	} else if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil, err
	}
	header, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	const withWeights = 1 << 40 // larger than any file with such a header
	return gguf.Read(bytes.NewReader(header), withWeights)
}

const (
	gemmaHead = 16 // numbers of an attention head
	gemmaDim  = 32 // of the assistant, whose model has smallDim
)

// gemmaLists say which layers have a sliding window: each second one.
var gemmaLists = map[string][]uint32{"attention.sliding_window_pattern": {1, 0, 1, 0}}

// gemmaNumbers are those of both of Gemma 4's architectures, whose heads are alike: the assistant's
// attend to the model's cells.
func gemmaNumbers() map[string]uint32 {
	return map[string]uint32{"attention.head_count": 4, "attention.head_count_kv": 2, "attention.sliding_window": smallWindow, "feed_forward_length": smallFFN,
		"attention.key_length": gemmaHead, "attention.value_length": gemmaHead, "attention.key_length_swa": gemmaHead, "attention.value_length_swa": gemmaHead,
		"embedding_length_per_layer_input": 0}
}

// gemmaLayer are the tensors of a layer of both.
func gemmaLayer(dim uint64) []smallTensor {
	return []smallTensor{
		{"attn_norm.weight", one, []uint64{dim}}, {"attn_q.weight", nil, []uint64{dim, 4 * gemmaHead}}, {"attn_output.weight", nil, []uint64{4 * gemmaHead, dim}},
		{"attn_q_norm.weight", one, []uint64{gemmaHead}}, {"post_attention_norm.weight", one, []uint64{dim}}, {"layer_output_scale.weight", one, []uint64{1}},
		{"ffn_norm.weight", one, []uint64{dim}}, {"ffn_gate.weight", nil, []uint64{dim, smallFFN}}, {"ffn_up.weight", nil, []uint64{dim, smallFFN}},
		{"ffn_down.weight", nil, []uint64{smallFFN, dim}}, {"post_ffw_norm.weight", one, []uint64{dim}},
	}
}

func gemmaOuter(dim uint64) []smallTensor {
	return []smallTensor{{"output_norm.weight", one, []uint64{dim}}, {"rope_freqs.weight", one, []uint64{gemmaHead / 2}}}
}

var ropeFloats = map[string]float32{"attention.layer_norm_rms_epsilon": 1e-5, "rope.freq_base": 10000}

func gemma4() architecture {
	return architecture{
		numbers: gemmaNumbers(), floats: ropeFloats, lists: gemmaLists, outer: gemmaOuter(smallDim),
		layer: slices.Concat(gemmaLayer(smallDim), []smallTensor{{"attn_k.weight", nil, []uint64{smallDim, 2 * gemmaHead}},
			{"attn_v.weight", nil, []uint64{smallDim, 2 * gemmaHead}}, {"attn_k_norm.weight", one, []uint64{gemmaHead}}}),
	}
}

// gemma4Assistant is a head for gemma4: all of its layers guess.
func gemma4Assistant() architecture {
	a := architecture{
		numbers: gemmaNumbers(), floats: ropeFloats, lists: gemmaLists, layer: gemmaLayer(gemmaDim),
		outer: slices.Concat(gemmaOuter(gemmaDim), []smallTensor{{"nextn.pre_projection.weight", nil, []uint64{2 * smallDim, gemmaDim}},
			{"nextn.post_projection.weight", nil, []uint64{gemmaDim, smallDim}}}),
	}
	a.numbers["embedding_length"], a.numbers["embedding_length_out"], a.numbers["nextn_predict_layers"] = gemmaDim, smallDim, smallLayers
	return a
}

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
