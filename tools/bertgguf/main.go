// SPDX-License-Identifier: MIT

// Command bertgguf writes the GGUF file of a BERT that sentence-transformers has trained, as
// llama.cpp's converter does, which needs PyTorch.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/native/gguf/synth"
)

func main() {
	from := flag.String("model", "", "folder with config.json, vocab.txt and model.safetensors (required)")
	out := flag.String("o", "", "file to write (required)")
	flag.Parse()
	if err := convert(*from, *out); err != nil {
		fmt.Fprintln(os.Stderr, "bertgguf:", err)
		os.Exit(1)
	}
}

// config is config.json.
type config struct {
	Name    string  `json:"_name_or_path"`
	Context uint32  `json:"max_position_embeddings"`
	Width   uint32  `json:"hidden_size"`
	Layers  uint32  `json:"num_hidden_layers"`
	FFN     uint32  `json:"intermediate_size"`
	Heads   uint32  `json:"num_attention_heads"`
	Types   uint32  `json:"type_vocab_size"`
	Epsilon float32 `json:"layer_norm_eps"`
	Kind    string  `json:"model_type"`
	Act     string  `json:"hidden_act"`
}

// pooling is 1_Pooling/config.json.
type pooling struct {
	Mean bool `json:"pooling_mode_mean_tokens"`
}

func convert(from, out string) (err error) {
	var c config
	var p pooling
	if err := errors.Join(readJSON(filepath.Join(from, "config.json"), &c), readJSON(filepath.Join(from, "1_Pooling", "config.json"), &p)); err != nil {
		return err
	}
	if c.Kind != "bert" || c.Act != "gelu" || !p.Mean {
		return fmt.Errorf("the model is a %q with %q and mean pooling %t; only bert with gelu and mean pooling is known here", c.Kind, c.Act, p.Mean)
	}
	h := &gguf.Header{}
	describe(h, c)
	if err := vocabulary(h, filepath.Join(from, "vocab.txt")); err != nil {
		return err
	}
	weights, err := open(filepath.Join(from, "model.safetensors"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, weights.file.Close()) }()
	names, err := list(h, c, weights)
	if err != nil {
		return err
	}
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(file, 1<<20)
	err = h.Write(buffered)
	for i, t := range h.Tensors {
		if err == nil {
			err = weights.copy(buffered, names[i], t, h.Alignment)
		}
	}
	return errors.Join(err, buffered.Flush(), file.Close())
}

func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func describe(h *gguf.Header, c config) {
	h.Set("general.architecture", gguf.NewString("bert"))
	h.Set("general.name", gguf.NewString(filepath.Base(c.Name)))
	h.Set("general.file_type", gguf.NewUint32(1)) // most weights are F16
	for _, p := range []struct {
		key   string
		value uint32
	}{
		{"context_length", c.Context}, {"embedding_length", c.Width}, {"block_count", c.Layers}, {"feed_forward_length", c.FFN},
		{"attention.head_count", c.Heads}, {"pooling_type", 1},
	} {
		h.Set("bert."+p.key, gguf.NewUint32(p.value))
	}
	h.Set("bert.attention.layer_norm_epsilon", gguf.NewFloat32(c.Epsilon))
	h.Set("bert.attention.causal", gguf.NewBool(false))
	h.Set("tokenizer.ggml.token_type_count", gguf.NewUint32(c.Types))
}

// vocabulary has a mark at the beginning of a word, where BERT's has one at what goes on with it.
func vocabulary(h *gguf.Header, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	tokens := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	kinds := make([]int32, len(tokens))
	special := map[string]string{"[PAD]": "padding", "[UNK]": "unknown", "[CLS]": "cls", "[SEP]": "seperator", "[MASK]": "mask"} //nolint:misspell // so it is spelt there
	for i, t := range tokens {
		kinds[i] = 1 // a part of text
		switch rest, goesOn := strings.CutPrefix(t, "##"); {
		case special[t] != "":
			kinds[i] = 3 // a control token
			h.Set("tokenizer.ggml."+special[t]+"_token_id", gguf.NewUint32(uint32(i)))
		case goesOn:
			tokens[i] = rest
		default:
			tokens[i] = "\u2581" + t
		}
	}
	h.Set("tokenizer.ggml.model", gguf.NewString("bert"))
	h.Set("tokenizer.ggml.pre", gguf.NewString("default"))
	h.Set("tokenizer.ggml.tokens", gguf.NewStrings(tokens...))
	h.Set("tokenizer.ggml.token_type", gguf.NewInt32s(kinds...))
	return nil
}

// renamed are the tensors of GGUF, each with its name in safetensors.
var renamed = struct{ outer, layer [][2]string }{
	outer: [][2]string{
		{"token_embd", "embeddings.word_embeddings"}, {"position_embd", "embeddings.position_embeddings"},
		{"token_types", "embeddings.token_type_embeddings"}, {"token_embd_norm", "embeddings.LayerNorm"},
	},
	layer: [][2]string{
		{"attn_q", "attention.self.query"}, {"attn_k", "attention.self.key"}, {"attn_v", "attention.self.value"},
		{"attn_output", "attention.output.dense"}, {"attn_output_norm", "attention.output.LayerNorm"},
		{"ffn_up", "intermediate.dense"}, {"ffn_down", "output.dense"}, {"layer_output_norm", "output.LayerNorm"},
	},
}

// list adds the tensors to the header and returns their names in safetensors.
func list(h *gguf.Header, c config, weights *safetensors) (names []string, err error) {
	add := func(name, from string) {
		for _, part := range []string{".weight", ".bias"} {
			if t, ok := weights.tensors[from+part]; ok {
				h.Append(name+part, kindOf(name, t), t.dims()...)
				names = append(names, from+part)
			} else if part == ".weight" {
				err = errors.Join(err, fmt.Errorf("model.safetensors has no tensor %s", from+part))
			}
		}
	}
	for _, n := range renamed.outer {
		add(n[0], n[1])
	}
	for i := range c.Layers {
		for _, n := range renamed.layer {
			add(fmt.Sprintf("blk.%d.%s", i, n[0]), fmt.Sprintf("encoder.layer.%d.%s", i, n[1]))
		}
	}
	return names, err
}

// kindOf is half precision for the matrices that texts are multiplied with.
func kindOf(name string, t tensor) gguf.TensorType {
	if len(t.Shape) < 2 || name == "position_embd" || name == "token_types" {
		return gguf.F32
	}
	return gguf.F16
}

// safetensors is a file of tensors: a JSON of their places, then their numbers.
type safetensors struct {
	file    *os.File
	begin   int64 // of the numbers
	tensors map[string]tensor
}

type tensor struct {
	Dtype string
	Shape []uint64 // the fastest-running last
	Place [2]int64 `json:"data_offsets"`
}

func (t tensor) dims() []uint64 {
	dims := make([]uint64, len(t.Shape))
	for i, n := range t.Shape {
		dims[len(dims)-1-i] = n
	}
	return dims
}

func open(path string) (_ *safetensors, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	var length uint64
	if err = binary.Read(file, binary.LittleEndian, &length); err == nil && length > 1<<20 {
		err = fmt.Errorf("the header has %d bytes, more than 1 MiB", length)
	}
	s := &safetensors{file: file, begin: 8 + int64(length)}
	if err == nil {
		var header map[string]json.RawMessage
		err = json.NewDecoder(io.LimitReader(file, int64(length))).Decode(&header)
		delete(header, "__metadata__")
		s.tensors = make(map[string]tensor, len(header))
		for name, data := range header {
			var t tensor
			err = errors.Join(err, json.Unmarshal(data, &t))
			s.tensors[name] = t
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	return s, nil
}

// copy writes the numbers of a tensor, padded.
func (s *safetensors) copy(w io.Writer, name string, as gguf.Tensor, align uint64) error {
	from := s.tensors[name]
	data := make([]byte, from.Place[1]-from.Place[0])
	if from.Dtype != "F32" || uint64(len(data)) != 4*as.Elements() {
		return fmt.Errorf("tensor %s is %d bytes of %s; it has to be %d numbers of F32", name, len(data), from.Dtype, as.Elements())
	}
	if _, err := s.file.ReadAt(data, s.begin+from.Place[0]); err != nil {
		return fmt.Errorf("tensor %s: %w", name, err)
	}
	if as.Type == gguf.F16 {
		data = synth.Halves(data)
	}
	for uint64(len(data))%align != 0 {
		data = append(data, 0)
	}
	_, err := w.Write(data)
	return err
}
