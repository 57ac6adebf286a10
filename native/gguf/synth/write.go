// SPDX-License-Identifier: MIT

// Package synth writes model files with random weights: of real shapes, to measure with, and small
// ones, to test with.
//
// Speed does not depend on what the weights are, so such a file measures it without a download.
package synth

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/penstock/penstock/native/gguf"
)

// ErrShape means that the shape cannot be one of a Llama model, or that its name is unknown.
var ErrShape = errors.New("bad model shape")

// Shape is the size of a Llama model. Unless it has a Loop, the embedding is also the output layer.
type Shape struct {
	Name                             string
	Dim, Layers, Heads, KVHeads, FFN uint32 // widths in numbers a token
	Context                          uint32 // tokens
	Experts, Active                  uint32 // in each layer, and for each token; 0: dense
	Loop                             uint32 // tokens after which greedy text begins again; 0: the text is random
	Head                             bool   // its file has a head that guesses the token after the next
	Right                            uint32 // of a hundred tokens of a loop, how many the head guesses rightly
}

// Shapes are those of well-known models of that many parameters: SmolLM 135M, Qwen 2.5 0.5B, Llama
// 3.2 1B, Llama 3.1 8B. A larger vocabulary than theirs adds to the count. The mixture of experts
// is no well-known one: it is small enough to measure. The loop computes what 135m computes, and
// its greedy text can be guessed; loop1b is one that computes what 1b computes, and has a head that
// is always right. The shallow one has a third of 135m's layers: a long prompt takes a third of the
// time.
var Shapes = []Shape{
	{Name: "135m", Dim: 576, Layers: 30, Heads: 9, KVHeads: 3, FFN: 1536, Context: 8192},
	{Name: "0.5b", Dim: 896, Layers: 24, Heads: 14, KVHeads: 2, FFN: 4864, Context: 32768},
	{Name: "1b", Dim: 2048, Layers: 16, Heads: 32, KVHeads: 8, FFN: 8192, Context: 131072},
	{Name: "8b", Dim: 4096, Layers: 32, Heads: 32, KVHeads: 8, FFN: 14336, Context: 131072},
	{Name: "moe", Dim: 768, Layers: 12, Heads: 12, KVHeads: 4, FFN: 512, Context: 8192, Experts: 32, Active: 4},
	{Name: "loop", Dim: 576, Layers: 30, Heads: 9, KVHeads: 3, FFN: 1536, Context: 8192, Loop: 32},
	{Name: "loop1b", Dim: 2048, Layers: 16, Heads: 32, KVHeads: 8, FFN: 8192, Context: 131072, Loop: 32, Head: true, Right: 100},
	{Name: "shallow", Dim: 576, Layers: 10, Heads: 9, KVHeads: 3, FFN: 1536, Context: 32768},
}

// ShapeNamed finds one of Shapes.
func ShapeNamed(name string) (Shape, error) {
	i := slices.IndexFunc(Shapes, func(s Shape) bool { return strings.EqualFold(s.Name, name) })
	if i < 0 {
		var names []string
		for _, s := range Shapes {
			names = append(names, s.Name)
		}
		return Shape{}, fmt.Errorf("%w: no shape is named %q, there are %s", ErrShape, name, strings.Join(names, ", "))
	}
	return Shapes[i], nil
}

// headDim is the width of one attention head.
func (s Shape) headDim() uint32 { return s.Dim / s.Heads }

func (s Shape) validate() error {
	for name, n := range map[string]uint32{"dim": s.Dim, "layers": s.Layers, "heads": s.Heads, "kv heads": s.KVHeads,
		"ffn": s.FFN, "context": s.Context} {
		if n == 0 {
			return fmt.Errorf("%w: %s is 0", ErrShape, name)
		}
	}
	if s.Dim%blockLen != 0 || s.FFN%blockLen != 0 {
		return fmt.Errorf("%w: dim %d and ffn %d must be multiples of %d", ErrShape, s.Dim, s.FFN, blockLen)
	}
	if (s.Experts == 0) != (s.Active == 0) || s.Active > s.Experts {
		return fmt.Errorf("%w: %d of %d experts are active", ErrShape, s.Active, s.Experts)
	}
	if s.Loop > 0 && s.Experts > 0 {
		return fmt.Errorf("%w: a loop of %d tokens with %d experts; only dense models can have a loop", ErrShape, s.Loop, s.Experts)
	}
	if s.Right > 100 || s.Right > 0 && (!s.Head || s.Loop == 0) || s.Head && s.Experts > 0 {
		return fmt.Errorf("%w: a head (%v) that is right for %d of 100 tokens of a loop of %d with %d experts; heads of loops are, without experts",
			ErrShape, s.Head, s.Right, s.Loop, s.Experts)
	}
	if s.Dim%s.Heads != 0 || s.headDim()%2 != 0 || s.Heads%s.KVHeads != 0 {
		return fmt.Errorf("%w: %d heads (%d for keys) do not divide a width of %d evenly", ErrShape, s.Heads, s.KVHeads, s.Dim)
	}
	return nil
}

// Write writes a model of Llama's architecture to w, or of GLM 4's where the shape has a head. The
// vocabulary is that of the GGUF file vocabPath, of which only the header is read; llama.cpp's
// source tree has some under models/. The same arguments give the same bytes.
func Write(w io.Writer, shape Shape, vocabPath string, quant Quant, seed uint64) error {
	if err := shape.validate(); err != nil {
		return err
	}
	h := &gguf.Header{}
	describe(h, shape, quant)
	tokens, err := copyVocabulary(h, vocabPath)
	if err != nil {
		return fmt.Errorf("reading the vocabulary %s: %w", vocabPath, err)
	}
	h.Set(shape.architecture()+".vocab_size", gguf.NewUint32(uint32(tokens)))
	addTensors(h, shape, quant, uint64(tokens))
	if err := h.Write(w); err != nil {
		return fmt.Errorf("writing the model's header: %w", err)
	}
	write := func(w io.Writer, t gguf.Tensor, index int) error {
		return writeTensor(w, t, h.Alignment, seed, uint64(index))
	}
	if shape.Loop > 0 {
		write = (&loop{length: uint64(shape.Loop), right: uint64(shape.Right), write: write}).tensor
	}
	for i, t := range h.Tensors {
		if err := write(w, t, i); err != nil {
			return fmt.Errorf("writing tensor %s: %w", t.Name, err)
		}
	}
	return nil
}

func describe(h *gguf.Header, s Shape, q Quant) {
	prefix := s.architecture() + "."
	h.Set("general.architecture", gguf.NewString(s.architecture()))
	h.Set("general.name", gguf.NewString("random weights "+s.Name))
	h.Set("general.file_type", gguf.NewUint32(q.fileType()))
	for _, p := range []struct {
		key   string
		value uint32
	}{
		{"context_length", s.Context}, {"embedding_length", s.Dim}, {"block_count", s.Layers}, {"feed_forward_length", s.FFN},
		{"attention.head_count", s.Heads}, {"attention.head_count_kv", s.KVHeads}, {"rope.dimension_count", s.headDim()},
	} {
		h.Set(prefix+p.key, gguf.NewUint32(p.value))
	}
	if s.Experts > 0 {
		h.Set(prefix+"expert_count", gguf.NewUint32(s.Experts))
		h.Set(prefix+"expert_used_count", gguf.NewUint32(s.Active))
	}
	if s.Head {
		s.describeHead(h)
	}
	h.Set(prefix+"attention.layer_norm_rms_epsilon", gguf.NewFloat32(1e-5))
	h.Set(prefix+"rope.freq_base", gguf.NewFloat32(10000))
}

// copyVocabulary copies the tokenizer's keys and returns the number of tokens.
func copyVocabulary(h *gguf.Header, path string) (int, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	from, err := gguf.Read(file, info.Size())
	if err != nil {
		return 0, err
	}
	for _, key := range from.Keys {
		if strings.HasPrefix(key, "tokenizer.") {
			h.Set(key, from.Values[key])
		}
	}
	n := len(h.Values["tokenizer.ggml.tokens"].Strings())
	if n == 0 {
		return 0, fmt.Errorf("%w: it has no tokens", gguf.ErrMalformed)
	}
	return n, nil
}

// tensor is a tensor of a layer, without the layer's number.
type tensor struct {
	name string
	kind gguf.TensorType
	dims []uint64
}

// addTensors lists the tensors in the order llama.cpp's own files have. Norms are F32.
func addTensors(h *gguf.Header, s Shape, q Quant, tokens uint64) {
	dim := uint64(s.Dim)
	h.Append(embeddingName, gguf.Q8_0, dim, tokens)
	h.Append("output_norm.weight", gguf.F32, dim)
	if s.Loop > 0 {
		h.Append(outputName, gguf.Q8_0, dim, tokens)
	}
	for i := range s.Layers {
		for _, t := range append(s.attention(q), s.feedForward(q)...) {
			h.Append(fmt.Sprintf("blk.%d.%s.weight", i, t.name), t.kind, t.dims...)
		}
	}
	if s.Head {
		s.addHead(h, q, tokens)
	}
}

func (s Shape) attention(q Quant) []tensor {
	dim, kv, kind := uint64(s.Dim), uint64(s.KVHeads*s.headDim()), q.layerType()
	return []tensor{
		{"attn_norm", gguf.F32, []uint64{dim}}, {"attn_q", kind, []uint64{dim, dim}}, {"attn_k", kind, []uint64{dim, kv}},
		{"attn_v", kind, []uint64{dim, kv}}, {"attn_output", kind, []uint64{dim, dim}}, {s.secondNorm(), gguf.F32, []uint64{dim}},
	}
}

// feedForward lists the matrices of one layer; those of all experts are one tensor. What chooses
// the experts is F32.
func (s Shape) feedForward(q Quant) []tensor {
	dim, ffn, experts, kind := uint64(s.Dim), uint64(s.FFN), uint64(s.Experts), q.layerType()
	if experts == 0 {
		return []tensor{{"ffn_gate", kind, []uint64{dim, ffn}}, {"ffn_up", kind, []uint64{dim, ffn}}, {"ffn_down", kind, []uint64{ffn, dim}}}
	}
	return []tensor{
		{"ffn_gate_inp", gguf.F32, []uint64{dim, experts}}, {"ffn_gate_exps", kind, []uint64{dim, ffn, experts}},
		{"ffn_up_exps", kind, []uint64{dim, ffn, experts}}, {"ffn_down_exps", kind, []uint64{ffn, dim, experts}},
	}
}

const (
	deviation = 0.02    // of the weights, as models are initialised
	chunkLen  = 1 << 20 // weights made at a time by one goroutine; a multiple of blockLen
)

// writeTensor writes one tensor's data and its padding: ones for a norm, normally distributed
// numbers for a matrix. The chunks of a matrix are made in parallel, each from its own seed, and
// written in order.
func writeTensor(w io.Writer, t gguf.Tensor, align, seed, index uint64) error {
	padding := make([]byte, -t.Size()&(align-1))
	if len(t.Dims) == 1 { // a norm
		_, err := w.Write(append(ones(t.Elements()), padding...))
		return err
	}
	workers := uint64(runtime.GOMAXPROCS(0))
	buffers := make([][]byte, workers)
	chunks := (t.Elements() + chunkLen - 1) / chunkLen
	for first := uint64(0); first < chunks; first += workers {
		batch := min(workers, chunks-first)
		var wait sync.WaitGroup
		for i := range batch {
			wait.Go(func() {
				chunk := first + i
				n := min(chunkLen, t.Elements()-chunk*chunkLen)
				buffers[i] = encode(buffers[i][:0], t.Type, normal(n, seed, index<<32|chunk))
			})
		}
		wait.Wait()
		for _, b := range buffers[:batch] {
			if _, err := w.Write(b); err != nil {
				return err
			}
		}
	}
	_, err := w.Write(padding)
	return err
}

// normal makes n random weights.
func normal(n, seed, stream uint64) []float32 {
	random := rand.New(rand.NewPCG(seed, stream))
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(random.NormFloat64() * deviation)
	}
	return out
}

func ones(n uint64) []byte {
	out := make([]byte, 0, 4*n)
	for range n {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(1))
	}
	return out
}

// Quant is how the weights are stored.
type Quant int

// Q40 stores 4.5 bits a weight, Q80 8.5. With Q40 the embedding, which is also the output layer,
// is Q8_0: llama-quantize keeps that tensor at higher precision as well (Q6_K, 6.6 bits).
const (
	Q40 Quant = iota
	Q80
)

// QuantNamed finds a Quant by llama.cpp's name for it.
func QuantNamed(name string) (Quant, error) {
	switch strings.ToUpper(name) {
	case "Q4_0":
		return Q40, nil
	case "Q8_0":
		return Q80, nil
	default:
		return 0, fmt.Errorf("%w: no quantisation is named %q, there are Q4_0 and Q8_0", ErrShape, name)
	}
}

// layerType is the tensor type of the layers' matrices, fileType the value of general.file_type.
func (q Quant) layerType() gguf.TensorType {
	if q == Q40 {
		return gguf.Q4_0
	}
	return gguf.Q8_0
}

func (q Quant) fileType() uint32 {
	if q == Q40 {
		return 2
	}
	return 7
}

// blockLen is the numbers in a block of either format, which share one scale.
const blockLen = 32

// encode appends weights, a multiple of blockLen, in the given type.
func encode(dst []byte, kind gguf.TensorType, weights []float32) []byte {
	for len(weights) > 0 {
		switch kind {
		case gguf.Q4_0:
			dst = encodeQ40(dst, weights[:blockLen])
		case gguf.F32:
			for _, x := range weights[:blockLen] {
				dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
			}
		default:
			dst = encodeQ80(dst, weights[:blockLen])
		}
		weights = weights[blockLen:]
	}
	return dst
}

// encodeQ80: a half-precision scale, then 32 signed bytes.
func encodeQ80(dst []byte, w []float32) []byte {
	var peak float32
	for _, x := range w {
		peak = max(peak, x, -x)
	}
	scale := peak / 127
	dst = binary.LittleEndian.AppendUint16(dst, half(scale))
	for _, x := range w {
		dst = append(dst, byte(int8(math.Round(float64(ratio(x, scale))))))
	}
	return dst
}

// encodeQ40: a half-precision scale, then 32 numbers from 0 to 15 that stand for -8 to 7. The
// number of largest magnitude becomes -8, so the scale's sign is the opposite of its own. A byte
// holds number i and number i+16.
func encodeQ40(dst []byte, w []float32) []byte {
	var peak float32
	for _, x := range w {
		if max(x, -x) > max(peak, -peak) {
			peak = x
		}
	}
	scale := peak / -8
	dst = binary.LittleEndian.AppendUint16(dst, half(scale))
	for i := range blockLen / 2 {
		low, high := nibble(ratio(w[i], scale)), nibble(ratio(w[i+blockLen/2], scale))
		dst = append(dst, low|high<<4)
	}
	return dst
}

func nibble(x float32) byte { return byte(min(15, int(x+8.5))) }

func ratio(x, scale float32) float32 {
	if scale == 0 {
		return 0
	}
	return x / scale
}

// half is the nearest half-precision number to f, ties to even. f is finite and below 65504.
func half(f float32) uint16 {
	bits := math.Float32bits(f)
	sign, abs := uint16(bits>>16)&0x8000, bits&0x7fffffff
	if abs < 0x38800000 { // below the smallest normal half, 2^-14: a multiple of 2^-24
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(abs))*(1<<24)))
	}
	abs += 0xfff + abs>>13&1 // round the 13 bits that go, then move the exponent's bias from 127 to 15
	return sign | uint16(abs>>13-(127-15)<<10)
}

// Halves gives numbers of F32, as they lie in a file, half precision.
func Halves(numbers []byte) []byte {
	halves := make([]byte, 0, len(numbers)/2)
	for at := 0; at+4 <= len(numbers); at += 4 {
		halves = binary.LittleEndian.AppendUint16(halves, half(math.Float32frombits(binary.LittleEndian.Uint32(numbers[at:]))))
	}
	return halves
}
