// SPDX-License-Identifier: MIT

package synth

import (
	"fmt"
	"slices"

	"github.com/penstock/penstock/native/gguf"
)

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
