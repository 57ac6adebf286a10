// SPDX-License-Identifier: MIT

package gguf

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
)

// Projector is what the header of a projector file says: a file with encoders of pictures and
// sounds, which belongs to a model.
type Projector struct {
	Vision string // kind of the projector for pictures; "": there is none
	Audio  string // likewise for sounds
	Bytes  uint64 // of its tensors
}

// Kinds are those of its encoders in a word.
func (p Projector) Kinds() string {
	if p.Vision != "" && p.Audio != "" && p.Vision != p.Audio {
		return p.Vision + "+" + p.Audio
	}
	return cmp.Or(p.Vision, p.Audio)
}

// placeDependent are kinds whose embeddings or positions depend on what stands before a picture,
// so that they cannot be kept by content.
var placeDependent = map[string]bool{"deepseek4v": true, "hunyuanvl": true}

// CheckProjector reads the header of a projector file of size bytes and refuses what libmtmd
// (llama.cpp v0.5.0) is known to abort on, divide by zero with or overflow, as far as the header
// shows it. Shapes that do not fit together show when it computes: an unknown file should still be
// tried in a child process. Errors are those of Check.
func CheckProjector(file io.ReaderAt, size int64) (Projector, error) {
	h, err := Read(file, size)
	if err != nil {
		return Projector{}, err
	}
	if arch := h.Architecture(); arch != "clip" {
		return Projector{}, fmt.Errorf("%w: its architecture is %q, a projector's is \"clip\"", ErrUnsupported, arch)
	}
	for _, t := range h.Tensors {
		if !tensorTypes[t.Type].weights {
			return Projector{}, fmt.Errorf("%w: tensor %q has the type %v, which is none for weights", ErrMalformed, t.Name, t.Type)
		}
	}
	p := Projector{Bytes: h.TensorBytes()}
	for _, check := range []func(*Header) error{checkProjectorKeys, p.readKinds, checkEncoders} {
		if err := check(h); err != nil {
			return Projector{}, err
		}
	}
	return p, nil
}

// readKinds finds what the file has encoders for.
func (p *Projector) readKinds(h *Header) error {
	if h.Values["clip.has_gen_audio_encoder"].is() {
		return fmt.Errorf("%w: it is for speaking, not for reading pictures or sounds", ErrUnsupported)
	}
	for _, sense := range []struct {
		name string
		kind *string
	}{{"vision", &p.Vision}, {"audio", &p.Audio}} {
		if !h.Values["clip.has_"+sense.name+"_encoder"].is() {
			continue
		}
		kind := h.Values["clip.projector_type"].Text()
		if kind == "" {
			kind = h.Values["clip."+sense.name+".projector_type"].Text()
		}
		if kind == "" {
			return fmt.Errorf("%w: neither clip.projector_type nor clip.%s.projector_type is there", ErrMalformed, sense.name)
		}
		if placeDependent[kind] {
			return fmt.Errorf("%w: projectors of the kind %q, whose embeddings depend on where a picture stands", ErrUnsupported, kind)
		}
		*sense.kind = kind
	}
	if p.Vision == "" && p.Audio == "" {
		return fmt.Errorf("%w: it has neither clip.has_vision_encoder nor clip.has_audio_encoder", ErrMalformed)
	}
	return nil
}

// is reports whether a value is true.
func (v Value) is() bool { return v.Type == Bool && v.Int(0) != 0 }

// bound is the range of a number, or of the numbers of a list.
type bound struct {
	lo, hi int64
	list   bool
}

// side is the most pixels of a picture's side that libmtmd takes from a file.
const side = 8192

// projectorNumbers are the numbers that libmtmd reads, without the "clip." before them. Of
// encoders, these are common to both kinds.
var projectorNumbers = map[string]bound{
	"embedding_length": {1, 1 << 16, false}, "feed_forward_length": {1, 1 << 18, false}, "block_count": {0, maxLayers, false},
	"projection_dim": {1, 1 << 17, false}, "attention.head_count": {0, 1 << 10, false}, "attention.head_count_kv": {1, 1 << 10, false},
	"attention.head_dim": {1, 1 << 12, false}, "feature_layer": {-1, maxLayers, true}, "wa_pattern_mode": {-1, maxLayers, true}, "window_size": {1, 4096, false},

	"image_size": {0, side, false}, "patch_size": {1, 1 << 10, false}, "image_min_pixels": {1, side * side, false}, "image_max_pixels": {1, side * side, false},
	"preproc_min_tiles": {0, 256, false}, "preproc_max_tiles": {1, 256, false}, "preproc_image_size": {1, side, false}, "projector.scale_factor": {1, 64, false},
	"projector.query_side": {1, 256, false}, "projector.window_side": {1, 256, false}, "projector.spatial_offsets": {-1, 256, true},
	"spatial_merge_size": {1, 64, false}, "image_grid_pinpoints": {1, side, true}, "n_wa_pattern": {0, maxLayers, false}, "wa_layer_indexes": {0, maxLayers, true},
	"sam.head_count": {1, 1 << 10, false}, "sam.block_count": {1, maxLayers, false}, "sam.embedding_length": {1, 1 << 16, false}, "expert_used_count": {1, maxExperts, false},

	"num_mel_bins": {1, 640, false}, "projector.stack_factor": {1, 64, false}, "chunk_size": {1, 8192, false}, "conv_kernel_size": {1, 1 << 10, false},
	"max_pos_emb": {1, 1 << 16, false}, "projector.window_size": {1, 1 << 10, false}, "projector.downsample_rate": {1, 1 << 10, false},
	"projector.head_count": {1, 1 << 10, false}, "rvq.num_quantizers": {1, 256, false}, "rvq.codebook_size": {1, 1 << 20, true},
	"local_block_count": {0, maxLayers, false}, "local_group_size": {1, 1 << 10, false}, "subsampling_factor": {8, 8, false},
}

// projectorTypes are the other values that libmtmd reads. It aborts where one has another type.
var projectorTypes = map[string]Type{
	"clip.projector_type": String, "clip.vision.projector_type": String, "clip.audio.projector_type": String, "clip.vision.mm_patch_merge_type": String,
	"clip.has_vision_encoder": Bool, "clip.has_audio_encoder": Bool, "clip.has_gen_audio_encoder": Bool, "clip.use_gelu": Bool, "clip.use_silu": Bool,
	"clip.minicpmv_version": Int32, "general.name": String, "general.description": String,
}

// longestList is how many numbers a list has at most: pairs of sides, or one a layer.
const longestList = 2 * maxLayers

func checkProjectorKeys(h *Header) error {
	for key, want := range projectorTypes {
		if _, _, err := h.scalar(key, want); err != nil {
			return err
		}
	}
	if err := h.checkNumber("clip.minicpmv_query_num", bound{0, 1 << 12, false}); err != nil {
		return err
	}
	for _, sense := range []string{"clip.vision.", "clip.audio."} {
		for key, b := range projectorNumbers {
			if err := h.checkNumber(sense+key, b); err != nil {
				return err
			}
		}
		p := params{h: h, prefix: sense}
		if p.float("attention.layer_norm_epsilon", 0, 1); p.err != nil {
			return p.err
		}
	}
	for _, key := range []string{"clip.vision.image_mean", "clip.vision.image_std"} {
		if err := h.checkColours(key); err != nil {
			return err
		}
	}
	return nil
}

// checkNumber refuses a number that is not a u32 within its bounds, or a list of other than i32.
func (h *Header) checkNumber(key string, b bound) error {
	v, ok := h.Values[key]
	if !ok {
		return nil
	}
	if b.list != (v.Type == Array) || b.list && v.Elem != Int32 || !b.list && v.Type != Uint32 || v.Len() > longestList {
		return fmt.Errorf("%w: %s is of type %v of %v and has %d numbers", ErrMalformed, key, v.Type, v.Elem, v.Len())
	}
	for i := range v.Len() {
		if n := v.Int(i); n < b.lo || n > b.hi {
			return fmt.Errorf("%w: %s is %d, expected %d to %d", ErrMalformed, key, n, b.lo, b.hi)
		}
	}
	return nil
}

// checkColours refuses what makes pixels that are no numbers. A deviation is divided by.
func (h *Header) checkColours(key string) error {
	v, err := h.array(key, Float32)
	if err != nil || v == nil {
		return err
	}
	for i := range v.Len() {
		f := v.Float(i)
		if math.IsNaN(f) || math.Abs(f) > 1e3 || strings.HasSuffix(key, "_std") && f < 1e-3 {
			return fmt.Errorf("%w: %s has the number %g", ErrMalformed, key, f)
		}
	}
	return nil
}

// checkEncoders refuses numbers that do not fit one another.
func checkEncoders(h *Header) error {
	for _, sense := range []string{"vision", "audio"} {
		if !h.Values["clip.has_"+sense+"_encoder"].is() {
			continue
		}
		number := func(key string) int64 {
			if v, ok := h.Values["clip."+sense+"."+key]; ok {
				return v.Int(0)
			}
			return 0
		}
		width, heads, ownHead := number("embedding_length"), number("attention.head_count"), number("attention.head_dim")
		if heads > 0 && ownHead == 0 && width%heads != 0 {
			return fmt.Errorf("%w: clip.%s.attention.head_count is %d, which does not divide the width %d", ErrMalformed, sense, heads, width)
		}
		if kv := number("attention.head_count_kv"); kv > 0 && heads%kv != 0 {
			return fmt.Errorf("%w: clip.%s.attention.head_count_kv is %d, which does not divide the %d heads", ErrMalformed, sense, kv, heads)
		}
		if size, patch := number("image_size"), number("patch_size"); size > 0 && patch > size {
			return fmt.Errorf("%w: clip.vision.patch_size is %d, more than the %d pixels of a picture's side", ErrMalformed, patch, size)
		}
		if least, most := number("preproc_min_tiles"), number("preproc_max_tiles"); most > 0 && least > most {
			return fmt.Errorf("%w: clip.vision.preproc_min_tiles is %d, the most %d", ErrMalformed, least, most)
		}
		if least, most := number("image_min_pixels"), number("image_max_pixels"); most > 0 && least > most {
			return fmt.Errorf("%w: clip.vision.image_min_pixels is %d, the most %d", ErrMalformed, least, most)
		}
	}
	return nil
}
