// SPDX-License-Identifier: MIT

package synth

import (
	"fmt"

	"github.com/penstock/penstock/native/gguf"
)

// The encoders' sizes.
const (
	towerFFN   = 128 // which must differ from the width: libmtmd takes equal ones as swapped
	towerHeads = 4
	patch      = 14 // pixels of a side
	mels       = 80 // frequencies
	frames     = 1500
	merged     = 4 * mediaTower // numbers of 2 x 2 patches
)

// projectorFile is an encoder of pictures, of sounds, or of both.
func projectorFile(kinds []string) (*mediaFile, error) {
	f := newMediaFile("clip", fmt.Sprint(kinds))
	f.h.Set("general.type", gguf.NewString("mmproj"))
	for _, kind := range kinds {
		sense := "vision"
		if kind == "ultravox" || kind == "qwen2a" {
			sense = "audio"
		}
		f.h.Set("clip.has_"+sense+"_encoder", gguf.NewBool(true))
		key := "clip.projector_type"
		if len(kinds) > 1 {
			key = "clip." + sense + ".projector_type"
		}
		f.h.Set(key, gguf.NewString(kind))
		add, ok := projectors[kind]
		if !ok {
			return nil, fmt.Errorf("%w: no small projector is a %q", ErrShape, kind)
		}
		add(f)
	}
	return f, nil
}

// projectors are the kinds of small projectors.
var projectors = map[string]func(*mediaFile){
	"gemma3": (*mediaFile).gemma3, "idefics3": (*mediaFile).idefics3, "mlp": (*mediaFile).llava,
	"qwen2vl_merger":   func(f *mediaFile) { f.qwen2(false) },
	"qwen2.5vl_merger": func(f *mediaFile) { f.qwen2(true) },
	"qwen3vl_merger":   (*mediaFile).qwen3, "ultravox": (*mediaFile).ultravox, "qwen2a": (*mediaFile).qwen2Audio,
}

// describe sets what all encoders' headers say.
func (f *mediaFile) describe(sense string, layers uint32, epsilon float32, more ...number) {
	f.numbers("clip."+sense+".", append([]number{
		{"embedding_length", mediaTower}, {"feed_forward_length", towerFFN}, {"block_count", layers}, {"projection_dim", mediaDim},
		{"attention.head_count", towerHeads},
	}, more...))
	f.h.Set("clip."+sense+".attention.layer_norm_epsilon", gguf.NewFloat32(epsilon))
}

// vision begins an encoder of pictures and returns how many patches one has.
func (f *mediaFile) vision(side, layers uint32, more ...number) (patches uint64) {
	f.describe("vision", layers, 1e-6, append(more, number{"image_size", side}, number{"patch_size", patch})...)
	f.h.Set("clip.vision.image_mean", gguf.NewFloat32s(0.5, 0.5, 0.5))
	f.h.Set("clip.vision.image_std", gguf.NewFloat32s(0.5, 0.5, 0.5))
	f.patches("v.patch_embd.weight")
	return uint64(side/patch) * uint64(side/patch)
}

func (f *mediaFile) patches(name string) { f.convolution(name, 4, patch, patch, 3, mediaTower) }

// layer says what a layer of an encoder has.
type layer struct {
	joined      bool // queries, keys and values in one matrix
	gated       bool // a gate before the second matrix of the feed-forward part
	plainNorms  bool // no biases of norms
	unbiasedKey bool
}

func (f *mediaFile) layers(sense string, n int, of layer) {
	for i := range n {
		name := fmt.Sprintf("%s.blk.%d.", sense, i)
		f.norm(name+"ln1", mediaTower, !of.plainNorms)
		f.norm(name+"ln2", mediaTower, !of.plainNorms)
		if of.joined {
			f.linear(name+"attn_qkv", mediaTower, 3*mediaTower)
		} else {
			f.linear(name+"attn_q", mediaTower, mediaTower)
			f.matrix(name+"attn_k.weight", 1, mediaTower, mediaTower)
			if !of.unbiasedKey {
				f.bias(name+"attn_k", mediaTower)
			}
			f.linear(name+"attn_v", mediaTower, mediaTower)
		}
		f.linear(name+"attn_out", mediaTower, mediaTower)
		f.linear(name+"ffn_up", mediaTower, towerFFN)
		if of.gated {
			f.linear(name+"ffn_gate", mediaTower, towerFFN)
		}
		f.linear(name+"ffn_down", towerFFN, mediaTower)
	}
}

func (f *mediaFile) positions(name string, n uint64) { f.tensor(name, gguf.F32, 0.5, mediaTower, n) }

// siglip is the encoder of gemma3 and idefics3.
func (f *mediaFile) siglip(side, scale uint32, more ...number) {
	f.h.Set("clip.use_gelu", gguf.NewBool(true))
	patches := f.vision(side, 2, append(more, number{"projector.scale_factor", scale})...)
	f.bias("v.patch_embd", mediaTower)
	f.positions("v.position_embd.weight", patches)
	f.norm("v.post_ln", mediaTower, true)
	f.layers("v", 2, layer{})
}

func (f *mediaFile) gemma3() {
	f.siglip(112, 4)
	f.matrix("mm.input_projection.weight", 1, mediaDim, mediaTower) // stored transposed
	f.norm("mm.soft_emb_norm", mediaTower, false)
}

// idefics3 cuts a picture into tiles of 4 x 4 patches; a square one has four, and an overview.
func (f *mediaFile) idefics3() {
	f.siglip(56, 2, number{"preproc_image_size", 112})
	f.matrix("mm.model.fc.weight", 1, merged, mediaDim)
}

// llava is LLaVA 1.5's, which leaves out the last layer.
func (f *mediaFile) llava() {
	patches := f.vision(56, 3)
	f.tensor("v.class_embd", gguf.F32, 1, mediaTower)
	f.positions("v.position_embd.weight", patches+1)
	f.norm("v.pre_ln", mediaTower, true)
	f.layers("v", 3, layer{})
	f.linear("mm.0", mediaTower, mediaDim)
	f.linear("mm.2", mediaDim, mediaDim)
}

// qwen2 is Qwen2-VL's, or Qwen2.5-VL's, in which the first of two layers has windows.
func (f *mediaFile) qwen2(windows bool) {
	activation := "clip.use_gelu"
	if windows {
		activation = "clip.use_silu"
		f.h.Set("clip.vision.n_wa_pattern", gguf.NewUint32(2))
	}
	f.h.Set(activation, gguf.NewBool(true))
	f.vision(112, 2)
	f.patches("v.patch_embd.weight.1")
	f.norm("v.post_ln", mediaTower, !windows)
	f.layers("v", 2, layer{gated: windows, plainNorms: windows})
	f.linear("mm.0", merged, merged)
	f.linear("mm.2", merged, mediaDim)
}

func (f *mediaFile) qwen3() {
	f.h.Set("clip.use_gelu", gguf.NewBool(true))
	patches := f.vision(112, 2, number{"spatial_merge_size", 2})
	f.patches("v.patch_embd.weight.1")
	f.bias("v.patch_embd", mediaTower)
	f.positions("v.position_embd.weight", patches)
	f.norm("v.post_ln", mediaTower, true)
	f.layers("v", 2, layer{joined: true})
	for i := range deepLayers {
		name := fmt.Sprintf("v.deepstack.%d.", i)
		f.norm(name+"norm", merged, true)
		f.linear(name+"fc1", merged, merged)
		f.linear(name+"fc2", merged, mediaDim)
	}
	f.linear("mm.0", merged, merged)
	f.linear("mm.2", merged, mediaDim)
}

// whisper is the encoder of ultravox and qwen2a. The biases of its convolutions have two dimensions.
func (f *mediaFile) whisper(more ...number) {
	f.describe("audio", 2, 1e-5, append(more, number{"num_mel_bins", mels})...)
	f.convolution("a.conv1d.1.weight", 1, 3, mels, mediaTower)
	f.tensor("a.conv1d.1.bias", gguf.F32, 0.1, 1, mediaTower)
	f.convolution("a.conv1d.2.weight", 1, 3, mediaTower, mediaTower)
	f.tensor("a.conv1d.2.bias", gguf.F32, 0.1, 1, mediaTower)
	f.tensor("a.position_embd.weight", gguf.F32, 0.1, mediaTower, frames)
	f.norm("a.post_ln", mediaTower, true)
	f.layers("a", 2, layer{unbiasedKey: true})
}

// ultravox puts four frames into one embedding. Eight would make libmtmd abort: it counts one embedding less than it computes, but for the
// width of the real one.
func (f *mediaFile) ultravox() {
	const stack = 4
	f.whisper(number{"projector.stack_factor", stack})
	f.norm("mm.a.norm_pre", stack*mediaTower, false)
	f.matrix("mm.a.mlp.1.weight", 1, stack*mediaTower, 2*mediaTower)
	f.norm("mm.a.norm_mid", mediaTower, false)
	f.matrix("mm.a.mlp.2.weight", 1, mediaTower, mediaDim)
}

func (f *mediaFile) qwen2Audio() {
	f.whisper()
	f.linear("mm.a.fc", mediaTower, mediaDim)
}
