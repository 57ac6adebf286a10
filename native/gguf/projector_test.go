// SPDX-License-Identifier: MIT

package gguf_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
)

// projectorBytes is the projector file of a small pair.
func projectorBytes(t testing.TB, pair synth.MediaPair) []byte {
	t.Helper()
	_, path, err := pair.WriteFiles(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return must.Get(os.ReadFile(path))(t)
}

func TestCheckProjector_GoodFiles_AreDescribed(t *testing.T) {
	for _, pair := range synth.MediaPairs {
		data := projectorBytes(t, pair)
		p, err := gguf.CheckProjector(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Errorf("%s: %v", pair.Projector, err)
		}
		kinds := strings.Trim(p.Vision+"+"+p.Audio, "+")
		if kinds != pair.Projector || (p.Vision != "") != pair.Sees() || (p.Audio != "") != pair.Hears() || p.Bytes == 0 {
			t.Errorf("%s is described as %+v", pair.Projector, p)
		}
	}
}

func TestCheckProjector_WrongFile_IsRefused(t *testing.T) {
	data := projectorBytes(t, synth.MediaPairs[len(synth.MediaPairs)-1]) // which has both
	set := func(key string, v gguf.Value) func(*gguf.Header) { return func(h *gguf.Header) { h.Set(key, v) } }
	for says, c := range map[string]struct {
		change func(*gguf.Header)
		want   error
	}{
		`architecture is "llama"`:                {set("general.architecture", gguf.NewString("llama")), gguf.ErrUnsupported},
		"for speaking":                           {set("clip.has_gen_audio_encoder", gguf.NewBool(true)), gguf.ErrUnsupported},
		`"hunyuanvl"`:                            {set("clip.vision.projector_type", gguf.NewString("hunyuanvl")), gguf.ErrUnsupported},
		"clip.vision.projector_type is of":       {set("clip.vision.projector_type", gguf.NewUint32(1)), gguf.ErrMalformed},
		"nor clip.vision.projector_type":         {set("clip.vision.projector_type", gguf.NewString("")), gguf.ErrMalformed},
		"has_vision_encoder is of":               {set("clip.has_vision_encoder", gguf.NewUint32(1)), gguf.ErrMalformed},
		"use_silu is of":                         {set("clip.use_silu", gguf.NewString("yes")), gguf.ErrMalformed},
		"vision.embedding_length is 0":           {set("clip.vision.embedding_length", gguf.NewUint32(0)), gguf.ErrMalformed},
		"vision.image_size is 4294967295":        {set("clip.vision.image_size", gguf.NewUint32(math.MaxUint32)), gguf.ErrMalformed},
		"vision.patch_size is 0":                 {set("clip.vision.patch_size", gguf.NewUint32(0)), gguf.ErrMalformed},
		"patch_size is 200, more than":           {set("clip.vision.patch_size", gguf.NewUint32(200)), gguf.ErrMalformed},
		"head_count is 7, which does not divide": {set("clip.vision.attention.head_count", gguf.NewUint32(7)), gguf.ErrMalformed},
		"head_count_kv is 3":                     {set("clip.audio.attention.head_count_kv", gguf.NewUint32(3)), gguf.ErrMalformed},
		"audio.block_count is of type string":    {set("clip.audio.block_count", gguf.NewString("2")), gguf.ErrMalformed},
		"vision.feature_layer is of type u32":    {set("clip.vision.feature_layer", gguf.NewUint32(2)), gguf.ErrMalformed},
		"vision.wa_layer_indexes is -4":          {set("clip.vision.wa_layer_indexes", gguf.NewInt32s(1, -4)), gguf.ErrMalformed},
		"image_grid_pinpoints is 0":              {set("clip.vision.image_grid_pinpoints", gguf.NewInt32s(0, 3)), gguf.ErrMalformed},
		"image_mean has the number NaN":          {set("clip.vision.image_mean", gguf.NewFloat32s(0, float32(math.NaN()), 0)), gguf.ErrMalformed},
		"image_std has the number 0":             {set("clip.vision.image_std", gguf.NewFloat32s(1, 1, 0)), gguf.ErrMalformed},
		"layer_norm_epsilon is NaN":              {set("clip.audio.attention.layer_norm_epsilon", gguf.NewFloat32(float32(math.NaN()))), gguf.ErrMalformed},
		"stack_factor is 0":                      {set("clip.audio.projector.stack_factor", gguf.NewUint32(0)), gguf.ErrMalformed},
		"minicpmv_version is of":                 {set("clip.minicpmv_version", gguf.NewUint32(2)), gguf.ErrMalformed},
		"minicpmv_query_num is 1000000":          {set("clip.minicpmv_query_num", gguf.NewUint32(1000000)), gguf.ErrMalformed},
		"preproc_min_tiles is 9, the most 3": {func(h *gguf.Header) {
			h.Set("clip.vision.preproc_min_tiles", gguf.NewUint32(9))
			h.Set("clip.vision.preproc_max_tiles", gguf.NewUint32(3))
		}, gguf.ErrMalformed},
		"image_min_pixels is 9, the most 3": {func(h *gguf.Header) {
			h.Set("clip.vision.image_min_pixels", gguf.NewUint32(9))
			h.Set("clip.vision.image_max_pixels", gguf.NewUint32(3))
		}, gguf.ErrMalformed},
		"it has neither": {func(h *gguf.Header) {
			h.Set("clip.has_vision_encoder", gguf.NewBool(false))
			h.Set("clip.has_audio_encoder", gguf.NewBool(false))
		}, gguf.ErrMalformed},
		"none for weights": {func(h *gguf.Header) { h.Tensors[len(h.Tensors)-1].Type = 26 /* I32, as long as F32 */ }, gguf.ErrMalformed},
	} {
		h, err := gguf.Read(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		weights := data[h.DataOffset:]
		c.change(h)
		var b bytes.Buffer
		must.Do(t, h.Write(&b))
		b.Write(weights)
		_, err = gguf.CheckProjector(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	if _, err := gguf.CheckProjector(bytes.NewReader(data[:len(data)/2]), int64(len(data)/2)); !errors.Is(err, gguf.ErrTruncated) {
		t.Error(err)
	}
}

// FuzzCheckProjector looks for a panic. Its seeds are the headers of small projectors, cut off and
// with flipped bits.
func FuzzCheckProjector(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, pair := range synth.MediaPairs {
		data := projectorBytes(f, pair)
		h := must.Get(gguf.Read(bytes.NewReader(data), int64(len(data))))(f)
		header := data[:h.DataOffset]
		f.Add(header, int64(len(data)))
		for range 4 {
			flipped := bytes.Clone(header)
			flipped[random.IntN(len(flipped))] ^= 1 << random.IntN(8)
			f.Add(flipped, int64(len(data)))
		}
	}
	f.Fuzz(func(t *testing.T, header []byte, size int64) {
		if size < 0 || size > 1<<32 {
			return
		}
		p, err := gguf.CheckProjector(bytes.NewReader(header), size)
		if err == nil && p.Vision == "" && p.Audio == "" {
			t.Error("a projector without an encoder was accepted")
		}
	})
}
