// SPDX-License-Identifier: MIT

package synth

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/penstock/penstock/native/gguf"
)

// MediaPair is a small text model and a projector that belongs to it, of an architecture and of
// kinds that llama.cpp knows.
type MediaPair struct {
	Projector string // one kind, or one for pictures and one for sounds with a plus between them
	Text      string
}

// MediaPairs are those of which each has something that the others have not: pictures of one size,
// tiles, positions with coordinates, windows, embeddings that see one another, several embeddings
// a token, sounds, and both.
var MediaPairs = []MediaPair{
	{"gemma3", "gemma3"}, {"idefics3", "llama"}, {"mlp", "llama"}, {"qwen2vl_merger", "qwen2vl"}, {"qwen2.5vl_merger", "qwen2vl"},
	{"qwen3vl_merger", "qwen3vl"}, {"ultravox", "llama"}, {"qwen2a", "llama"}, {"mlp+ultravox", "llama"}, {"qwen2.5vl_merger+qwen2a", "qwen2vl"},
}

// Sees reports whether it takes pictures.
func (p MediaPair) Sees() bool {
	return !strings.HasPrefix(p.Projector, "ultravox") && !strings.HasPrefix(p.Projector, "qwen2a")
}

// Hears reports whether it takes sounds.
func (p MediaPair) Hears() bool {
	return strings.Contains(p.Projector, "ultravox") || strings.Contains(p.Projector, "qwen2a")
}

// WriteFiles writes the pair's two files into a folder, with random weights and about 1 MB each,
// and returns their paths. Greedy answers depend on what is seen or heard, and are printable ASCII
// without an end. The same arguments give the same bytes.
func (p MediaPair) WriteFiles(dir string, seed uint64) (model, projector string, err error) {
	if !slices.Contains([]string{"llama", "gemma3", "qwen2vl", "qwen3vl"}, p.Text) {
		return "", "", fmt.Errorf("%w: no small model for pictures is a %q", ErrShape, p.Text)
	}
	encoder, err := projectorFile(strings.Split(p.Projector, "+"))
	if err != nil {
		return "", "", err
	}
	model, projector = filepath.Join(dir, "text-"+p.Text+".gguf"), filepath.Join(dir, "mmproj-"+p.Projector+".gguf")
	err = mediaModel(p.Text).writeTo(model, seed)
	return model, projector, errors.Join(err, encoder.writeTo(projector, seed))
}

func (f *mediaFile) writeTo(path string, seed uint64) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(f.write(file, seed), file.Close())
}

// mediaFile is a small model's or projector's file while it is put together: a header, and what
// fills each of its tensors. A tensor's numbers depend on the seed and on its name, so that files
// which share a tensor share its numbers.
type mediaFile struct {
	h     *gguf.Header
	fills []func(row uint64) float64 // deviation of a row's random numbers; nil: all are 1
	tower tower                      // of an encoder
}

func newMediaFile(architecture, name string) *mediaFile {
	f := &mediaFile{h: &gguf.Header{}, tower: smallTower}
	f.h.Set("general.architecture", gguf.NewString(architecture))
	f.h.Set("general.name", gguf.NewString("synthetic "+name))
	f.h.Set("general.file_type", gguf.NewUint32(0))
	return f
}

// numbers sets metadata of 32 bits, whose keys begin with a prefix.
func (f *mediaFile) numbers(prefix string, numbers []number) {
	for _, n := range numbers {
		f.h.Set(prefix+n.key, gguf.NewUint32(n.value))
	}
}

type number struct {
	key   string
	value uint32
}

// matrix adds random numbers with a deviation that keeps the size of what is multiplied with them,
// times factor. The last of dims counts the outputs.
func (f *mediaFile) matrix(name string, factor float64, dims ...uint64) {
	f.tensor(name, f.tower.weights, factor/math.Sqrt(float64(product(dims[:len(dims)-1]))), dims...)
}

// convolution is a matrix in half precision, as libmtmd wants the first layer.
func (f *mediaFile) convolution(name string, factor float64, dims ...uint64) {
	f.tensor(name, gguf.F16, factor/math.Sqrt(float64(product(dims[:len(dims)-1]))), dims...)
}

func (f *mediaFile) tensor(name string, kind gguf.TensorType, deviation float64, dims ...uint64) {
	f.add(name, kind, func(uint64) float64 { return deviation }, dims...)
}

func (f *mediaFile) add(name string, kind gguf.TensorType, deviation func(row uint64) float64, dims ...uint64) {
	f.h.Append(name, kind, dims...)
	f.fills = append(f.fills, deviation)
}

// norm adds weights that change nothing, and a random bias where there is one.
func (f *mediaFile) norm(name string, n uint64, biased bool) {
	f.add(name+".weight", gguf.F32, nil, n)
	if biased {
		f.bias(name, n)
	}
}

func (f *mediaFile) bias(name string, n uint64) { f.tensor(name+".bias", gguf.F32, 0.1, n) }

// linear is a matrix of weights from so many numbers to others, with a bias.
func (f *mediaFile) linear(name string, from, to uint64) {
	f.matrix(name+".weight", 1, from, to)
	f.bias(name, to)
}

func (f *mediaFile) write(w io.Writer, seed uint64) error {
	if err := f.h.Write(w); err != nil {
		return err
	}
	for i, t := range f.h.Tensors {
		if _, err := w.Write(numbersOf(t, f.fills[i], seed, f.h.Alignment)); err != nil {
			return err
		}
	}
	return nil
}

func numbersOf(t gguf.Tensor, deviation func(row uint64) float64, seed, align uint64) []byte {
	name := fnv.New64a()
	_, _ = name.Write([]byte(t.Name))
	random := rand.New(rand.NewPCG(seed, name.Sum64()))
	out := make([]byte, 0, t.Size()+align)
	for i := range t.Elements() {
		x := float32(1)
		if deviation != nil {
			x = float32(random.NormFloat64() * deviation(i/t.Dims[0]))
		}
		if t.Type == gguf.F16 {
			out = binary.LittleEndian.AppendUint16(out, half(x))
		} else {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
		}
	}
	return append(out, make([]byte, -uint64(len(out))&(align-1))...)
}

func product(of []uint64) uint64 {
	n := uint64(1)
	for _, x := range of {
		n *= x
	}
	return n
}

// Sizes of the small models that read pictures and sounds.
const (
	mediaDim     = 64
	mediaFFN     = 128
	mediaLayers  = 3
	mediaHeads   = 4
	mediaKVHeads = 2
	mediaHead    = 16
	mediaContext = 32768
	deepLayers   = 1 // of qwen3vl's encoder, which feed layers of the model too
)

// MediaTemplate is the chat template of these models.
const MediaTemplate = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}" +
	"{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"

// mediaSpecials are the tokens after those of bytes and of an empty line: what the projectors put
// around pictures and sounds.
var mediaSpecials = []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<start_of_image>", "<end_of_image>", "<|vision_start|>", "<|vision_end|>",
	"<|image_pad|>", "<fake_token_around_image>", "<global-img>", "<image>", "</image>", "<|audio_bos|>", "<|audio_eos|>"}

// mediaRows is how many rows and columns of tiles have a token, which idefics3 wants.
const mediaRows = 4

// mediaModel is a text model of an architecture, with random weights. Only tokens of printable
// ASCII can come out: the output layer has zeros for the others.
func mediaModel(architecture string) *mediaFile {
	f := newMediaFile(architecture, architecture)
	f.numbers(architecture+".", []number{
		{"context_length", mediaContext}, {"embedding_length", mediaDim}, {"block_count", mediaLayers}, {"feed_forward_length", mediaFFN},
		{"attention.head_count", mediaHeads}, {"attention.head_count_kv", mediaKVHeads}, {"attention.key_length", mediaHead},
		{"attention.value_length", mediaHead}, {"rope.dimension_count", mediaHead},
	})
	f.h.Set(architecture+".attention.layer_norm_rms_epsilon", gguf.NewFloat32(1e-5))
	f.h.Set(architecture+".rope.freq_base", gguf.NewFloat32(10000))
	switch architecture {
	case "gemma3":
		f.h.Set("gemma3.attention.sliding_window", gguf.NewUint32(512))
	case "qwen2vl":
		f.h.Set("qwen2vl.rope.dimension_sections", gguf.NewInt32s(2, 3, 3, 0))
	case "qwen3vl":
		f.h.Set("qwen3vl.rope.dimension_sections", gguf.NewInt32s(3, 3, 2, 0))
		f.h.Set("qwen3vl.n_deepstack_layers", gguf.NewUint32(deepLayers))
	}
	tokens := uint64(mediaVocabulary(f.h))
	f.tensor("token_embd.weight", gguf.F32, 1, mediaDim, tokens)
	f.add("output.weight", gguf.F32, func(token uint64) float64 {
		if token < ' ' || token > '~' {
			return 0
		}
		return 0.5
	}, mediaDim, tokens)
	f.norm("output_norm", mediaDim, false)
	for i := range mediaLayers {
		f.textLayer(architecture, fmt.Sprintf("blk.%d.", i))
	}
	return f
}

// textLayer has attention that is sharper than usual, so that answers depend on what a picture
// shows.
func (f *mediaFile) textLayer(architecture, layer string) {
	f.norm(layer+"attn_norm", mediaDim, false)
	f.norm(layer+"ffn_norm", mediaDim, false)
	for _, m := range []struct {
		name  string
		heads uint64
	}{{"q", mediaHeads}, {"k", mediaKVHeads}, {"v", mediaKVHeads}} {
		f.matrix(layer+"attn_"+m.name+".weight", 2, mediaDim, m.heads*mediaHead)
		if architecture == "qwen2vl" {
			f.bias(layer+"attn_"+m.name, m.heads*mediaHead)
		}
	}
	f.matrix(layer+"attn_output.weight", 2, mediaHeads*mediaHead, mediaDim)
	f.matrix(layer+"ffn_gate.weight", 1, mediaDim, mediaFFN)
	f.matrix(layer+"ffn_up.weight", 1, mediaDim, mediaFFN)
	f.matrix(layer+"ffn_down.weight", 1, mediaFFN, mediaDim)
	if architecture == "gemma3" {
		f.norm(layer+"post_attention_norm", mediaDim, false)
		f.norm(layer+"post_ffw_norm", mediaDim, false)
	}
	if architecture == "gemma3" || architecture == "qwen3vl" {
		f.norm(layer+"attn_q_norm", mediaHead, false)
		f.norm(layer+"attn_k_norm", mediaHead, false)
	}
}

// mediaVocabulary gives a header a token for each byte, one for an empty line and the special
// ones, and returns how many that are.
func mediaVocabulary(h *gguf.Header) int {
	var tokens []string
	for _, letter := range byteLetters() {
		tokens = append(tokens, string(letter))
	}
	newline := tokens['\n']
	tokens = append(tokens, newline+newline)
	first := len(tokens)
	tokens = append(tokens, mediaSpecials...)
	for row := range mediaRows {
		for column := range mediaRows {
			tokens = append(tokens, fmt.Sprintf("<row_%d_col_%d>", row+1, column+1))
		}
	}
	const normal, control = 1, 3
	types := slices.Concat(slices.Repeat([]int32{normal}, first), slices.Repeat([]int32{control}, len(tokens)-first))
	for _, k := range []struct {
		key   string
		value gguf.Value
	}{
		{"model", gguf.NewString("gpt2")}, {"pre", gguf.NewString("gpt-2")}, {"tokens", gguf.NewStrings(tokens...)},
		{"token_type", gguf.NewInt32s(types...)}, {"merges", gguf.NewStrings(newline + " " + newline)},
		{"bos_token_id", gguf.NewUint32(uint32(first))}, {"eos_token_id", gguf.NewUint32(uint32(first + 2))},
		{"padding_token_id", gguf.NewUint32(uint32(first))}, {"add_bos_token", gguf.NewBool(false)},
	} {
		h.Set("tokenizer.ggml."+k.key, k.value)
	}
	h.Set("tokenizer.chat_template", gguf.NewString(MediaTemplate))
	return len(tokens)
}
