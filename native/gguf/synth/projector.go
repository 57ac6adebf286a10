// SPDX-License-Identifier: MIT

package synth

import (
	"fmt"

	"github.com/penstock/penstock/native/gguf"
)

// The encoders' sizes.
const (
	patch  = 14 // pixels of a side
	mels   = 80 // frequencies
	frames = 1500
)

// tower is the size of an encoder, and of what it makes.
type tower struct {
	width, ffn uint64 // which must differ: libmtmd takes equal ones as swapped
	heads      uint32
	layers     int // of those of pictures, where the kind leaves a choice
	dim        uint64
	weights    gguf.TensorType
}

// merged is how many numbers 2 x 2 patches have.
func (t tower) merged() uint64 { return 4 * t.width }

var (
	smallTower = tower{width: 64, ffn: 128, heads: 4, layers: 2, dim: mediaDim, weights: gguf.F32}
	so400m     = tower{width: 1152, ffn: 4304, heads: 16, layers: 27, weights: gguf.F16}
)

// WriteSigLIP writes a projector of pictures with random weights on a tower of the shape of SigLIP
// so400m (0.8 GB), for measuring speed. kind is idefics3, whose pictures have up to 16 tiles of
// 378 pixels' side and 81 embeddings each, and an overview, or gemma3, whose pictures have 896
// pixels' side and 256 embeddings, which see one another. dim is the width of the text model.
func WriteSigLIP(path, kind string, dim, seed uint64) error {
	f, err := newProjectorFile([]string{kind}, so400m)
	if err != nil {
		return err
	}
	f.tower.dim = dim
	switch kind {
	case "idefics3":
		f.tiled(378, 3, 4*378)
	case "gemma3":
		f.gemma(896, 4)
	default:
		return fmt.Errorf("%w: no projector on SigLIP is a %q", ErrShape, kind)
	}
	return f.writeTo(path, seed)
}

// projectorFile is an encoder of pictures, of sounds, or of both.
func projectorFile(kinds []string) (*mediaFile, error) {
	f, err := newProjectorFile(kinds, smallTower)
	if err != nil {
		return nil, err
	}
	for _, kind := range kinds {
		projectors[kind](f)
	}
	return f, nil
}

// newProjectorFile begins an encoder, of which the header says what it can do.
func newProjectorFile(kinds []string, of tower) (*mediaFile, error) {
	f := newMediaFile("clip", fmt.Sprint(kinds))
	f.tower = of
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
		if projectors[kind] == nil {
			return nil, fmt.Errorf("%w: no small projector is a %q", ErrShape, kind)
		}
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
		{"embedding_length", uint32(f.tower.width)}, {"feed_forward_length", uint32(f.tower.ffn)}, {"block_count", layers}, {"projection_dim", uint32(f.tower.dim)},
		{"attention.head_count", f.tower.heads},
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

func (f *mediaFile) patches(name string) { f.convolution(name, 4, patch, patch, 3, f.tower.width) }

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
		f.norm(name+"ln1", f.tower.width, !of.plainNorms)
		f.norm(name+"ln2", f.tower.width, !of.plainNorms)
		if of.joined {
			f.linear(name+"attn_qkv", f.tower.width, 3*f.tower.width)
		} else {
			f.linear(name+"attn_q", f.tower.width, f.tower.width)
			f.matrix(name+"attn_k.weight", 1, f.tower.width, f.tower.width)
			if !of.unbiasedKey {
				f.bias(name+"attn_k", f.tower.width)
			}
			f.linear(name+"attn_v", f.tower.width, f.tower.width)
		}
		f.linear(name+"attn_out", f.tower.width, f.tower.width)
		f.linear(name+"ffn_up", f.tower.width, f.tower.ffn)
		if of.gated {
			f.linear(name+"ffn_gate", f.tower.width, f.tower.ffn)
		}
		f.linear(name+"ffn_down", f.tower.ffn, f.tower.width)
	}
}

func (f *mediaFile) positions(name string, n uint64) { f.tensor(name, gguf.F32, 0.5, f.tower.width, n) }

// siglip is the encoder of gemma3 and idefics3.
func (f *mediaFile) siglip(side, scale uint32, more ...number) {
	f.h.Set("clip.use_gelu", gguf.NewBool(true))
	patches := f.vision(side, uint32(f.tower.layers), append(more, number{"projector.scale_factor", scale})...)
	f.bias("v.patch_embd", f.tower.width)
	f.positions("v.position_embd.weight", patches)
	f.norm("v.post_ln", f.tower.width, true)
	f.layers("v", f.tower.layers, layer{})
}

func (f *mediaFile) gemma3() { f.gemma(112, 4) }

func (f *mediaFile) gemma(side, scale uint32) {
	f.siglip(side, scale)
	f.matrix("mm.input_projection.weight", 1, f.tower.dim, f.tower.width) // stored transposed
	f.norm("mm.soft_emb_norm", f.tower.width, false)
}

// idefics3 cuts a picture into tiles of 4 x 4 patches; a square one has four, and an overview.
func (f *mediaFile) idefics3() { f.tiled(56, 2, 112) }

// tiled cuts pictures, whose longer side becomes most pixels, into tiles. One embedding stands for
// scale x scale patches.
func (f *mediaFile) tiled(side, scale, most uint32) {
	f.siglip(side, scale, number{"preproc_image_size", most})
	f.matrix("mm.model.fc.weight", 1, uint64(scale)*uint64(scale)*f.tower.width, f.tower.dim)
}

// llava is LLaVA 1.5's, which leaves out the last layer.
func (f *mediaFile) llava() {
	patches := f.vision(56, 3)
	f.tensor("v.class_embd", gguf.F32, 1, f.tower.width)
	f.positions("v.position_embd.weight", patches+1)
	f.norm("v.pre_ln", f.tower.width, true)
	f.layers("v", 3, layer{})
	f.linear("mm.0", f.tower.width, f.tower.dim)
	f.linear("mm.2", f.tower.dim, f.tower.dim)
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
	f.norm("v.post_ln", f.tower.width, !windows)
	f.layers("v", 2, layer{gated: windows, plainNorms: windows})
	f.linear("mm.0", f.tower.merged(), f.tower.merged())
	f.linear("mm.2", f.tower.merged(), f.tower.dim)
}

func (f *mediaFile) qwen3() {
	f.h.Set("clip.use_gelu", gguf.NewBool(true))
	patches := f.vision(112, 2, number{"spatial_merge_size", 2})
	f.patches("v.patch_embd.weight.1")
	f.bias("v.patch_embd", f.tower.width)
	f.positions("v.position_embd.weight", patches)
	f.norm("v.post_ln", f.tower.width, true)
	f.layers("v", 2, layer{joined: true})
	for i := range deepLayers {
		name := fmt.Sprintf("v.deepstack.%d.", i)
		f.norm(name+"norm", f.tower.merged(), true)
		f.linear(name+"fc1", f.tower.merged(), f.tower.merged())
		f.linear(name+"fc2", f.tower.merged(), f.tower.dim)
	}
	f.linear("mm.0", f.tower.merged(), f.tower.merged())
	f.linear("mm.2", f.tower.merged(), f.tower.dim)
}

// whisper is the encoder of ultravox and qwen2a. The biases of its convolutions have two
// dimensions.
func (f *mediaFile) whisper(more ...number) {
	f.describe("audio", 2, 1e-5, append(more, number{"num_mel_bins", mels})...)
	f.convolution("a.conv1d.1.weight", 1, 3, mels, f.tower.width)
	f.tensor("a.conv1d.1.bias", gguf.F32, 0.1, 1, f.tower.width)
	f.convolution("a.conv1d.2.weight", 1, 3, f.tower.width, f.tower.width)
	f.tensor("a.conv1d.2.bias", gguf.F32, 0.1, 1, f.tower.width)
	f.tensor("a.position_embd.weight", gguf.F32, 0.1, f.tower.width, frames)
	f.norm("a.post_ln", f.tower.width, true)
	f.layers("a", 2, layer{unbiasedKey: true})
}

// ultravox puts four frames into one embedding. Eight would make libmtmd abort: it counts one
// embedding less than it computes, but for the width of the real one.
func (f *mediaFile) ultravox() {
	const stack = 4
	f.whisper(number{"projector.stack_factor", stack})
	f.norm("mm.a.norm_pre", stack*f.tower.width, false)
	f.matrix("mm.a.mlp.1.weight", 1, stack*f.tower.width, 2*f.tower.width)
	f.norm("mm.a.norm_mid", f.tower.width, false)
	f.matrix("mm.a.mlp.2.weight", 1, f.tower.width, f.tower.dim)
}

func (f *mediaFile) qwen2Audio() {
	f.whisper()
	f.linear("mm.a.fc", f.tower.width, f.tower.dim)
}
