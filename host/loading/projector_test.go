// SPDX-License-Identifier: MIT

package loading

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/fit"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/media/picture"
	"github.com/penstock/penstock/host/media/sound"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// openPair serves a pair of files, with what else flags say.
func openPair(t *testing.T, pair synth.MediaPair, flags map[string]any) *serving.Model {
	t.Helper()
	path, projector := must.Both(pair.WriteFiles(t.TempDir(), 1))(t)
	all := map[string]any{"model.path": path, "model.mmproj": projector, "media.cache": "1MiB"}
	for k, v := range flags {
		all[k] = v
	}
	return openModel(t, all)
}

func openModel(t *testing.T, flags map[string]any) *serving.Model {
	t.Helper()
	core := must.Get(Open(t.Context(), settings(t, flags), slog.New(slog.DiscardHandler), Options{}))(t)
	core.Start()
	must.Close(t, core)
	return core.Model
}

// drawn is a picture whose colours depend on a seed.
func drawn(width, height int, seed byte) media.Item {
	p := picture.RGB{Width: width, Height: height, Pixels: make([]byte, 3*width*height)}
	for i := range p.Pixels {
		p.Pixels[i] = byte(i)*7 + seed*31
	}
	return media.Item{Field: "messages[0]", Kind: media.Image, Hash: sha256.Sum256(p.Pixels), Picture: p}
}

// hummed is a sound of a second.
func hummed(rate int) media.Item {
	s := sound.Samples{Rate: rate, Mono: make([]float32, rate)}
	for i := range s.Mono {
		s.Mono[i] = float32(i%97)/97 - 0.5
	}
	return media.Item{Field: "messages[0]", Kind: media.Audio, Hash: sha256.Sum256([]byte("hum")), Sound: s}
}

// What is counted is what an encode gives, the same content has the same tokens, and other content
// others: with embeddings that see one another, of one size, with coordinates, of several for a
// token, and with sounds. The tests of host/model try others.
func TestOpen_Projectors(t *testing.T) {
	for _, n := range steadytest.Some(t, []int{0, 2, 3, 5, 8}, 2) {
		pair := synth.MediaPairs[n]
		t.Run(pair.Projector, func(t *testing.T) {
			m := openPair(t, pair, nil)
			if m.Media.Images != pair.Sees() || (m.Media.AudioRate > 0) != pair.Hears() {
				t.Fatalf("%+v", m.Media)
			}
			var items []media.Item
			if pair.Sees() {
				items = append(items, drawn(100, 80, 1), drawn(100, 80, 2))
			}
			if pair.Hears() {
				items = append(items, hummed(m.Media.AudioRate))
			}
			var seen [][]int32
			for _, item := range items {
				count := must.Get(m.MediaEncoder.Count(item))(t)
				tokens, pieces := must.Both(m.MediaEncoder.Encode(t.Context(), item, "me", ""))(t)
				again, same, err := m.MediaEncoder.Encode(t.Context(), item, "another", "")
				if err != nil || !slices.Equal(tokens, again) || !slices.Equal(pieces, same) {
					t.Errorf("again: %v, %v, %v", tokens, again, err)
				}
				rows := 0
				for _, p := range pieces {
					rows += p.Rows
					if len(p.Values) == 0 || len(p.Values)%p.Rows != 0 {
						t.Errorf("%d numbers of %d rows", len(p.Values), p.Rows)
					}
				}
				below := len(slices.DeleteFunc(slices.Clone(tokens), func(token int32) bool { return token >= 0 }))
				if count != len(tokens) || below != rows || rows == 0 {
					t.Errorf("%d tokens, %d below 0, %d rows, %d counted", len(tokens), below, rows, count)
				}
				if slices.ContainsFunc(seen, func(other []int32) bool { return slices.Equal(other, tokens) }) {
					t.Error("two have the same tokens")
				}
				seen = append(seen, tokens)
			}
		})
	}
}

// Requests whose pieces were let go of have others: those who hold a piece hold the one that the
// table has.
func TestMediaEncoder_HoldsThePieceOfTheTable(t *testing.T) {
	m := openPair(t, synth.MediaPairs[2], map[string]any{"media.cache": "0"})
	table := m.MediaEncoder.(*mediaEncoder).pieces
	held := map[*piece.Piece]bool{}
	for range 3 {
		tokens, pieces := must.Both(m.MediaEncoder.Encode(t.Context(), drawn(30, 30, 1), "me", ""))(t)
		for _, p := range pieces {
			held[p] = true
		}
		i := slices.IndexFunc(tokens, func(token int32) bool { return token < 0 })
		if !held[table.Piece(tokens[i])] {
			t.Error("the table has a piece that nobody holds")
		}
	}
	if len(held) != 1 {
		t.Errorf("%d pieces of one picture", len(held))
	}
}

func TestMediaEncoder_Refusals(t *testing.T) {
	m := openPair(t, synth.MediaPairs[2], nil)
	for name, c := range map[string]struct {
		item media.Item
		says string
	}{
		"a strip":  {drawn(303, 3, 1), "303×3 pixels; the longer side may have 100 times"},
		"too long": {drawn(native.MaxPictureSide+1, 200, 1), "a side may have 16384"},
		"a sound":  {hummed(16000), "cannot be encoded for this model"},
	} {
		_, countErr := m.MediaEncoder.Count(c.item)
		_, _, err := m.MediaEncoder.Encode(t.Context(), c.item, "me", "")
		for _, err := range []error{err, countErr} {
			var refused *refusal.Error
			if !errors.As(err, &refused) || refused.Field != c.item.Field || refused.Kind != refusal.KindInvalid || !strings.Contains(refused.Message, c.says) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(refusal.ErrGone)
	if _, _, err := m.MediaEncoder.Encode(ctx, drawn(9, 9, 5), "me", ""); !errors.Is(err, refusal.ErrGone) {
		t.Error(err)
	}
}

// A picture to be looked at in passing takes fewer tokens, and is another one for the cache.
func TestMediaEncoder_LowDetail(t *testing.T) {
	m := openPair(t, synth.MediaPairs[3], nil)
	item := drawn(1200, 900, 1)
	high, _ := must.Both(m.MediaEncoder.Encode(t.Context(), item, "me", ""))(t)
	item.Detail = lowDetail
	low, _, err := m.MediaEncoder.Encode(t.Context(), item, "me", "")
	count, countErr := m.MediaEncoder.Count(item)
	if err != nil || countErr != nil || len(low) >= len(high) || count != len(low) || slices.Equal(low, high[:len(low)]) {
		t.Errorf("%d tokens instead of %d, %d counted: %v, %v", len(low), len(high), count, err, countErr)
	}
}

// Passes have room for a picture whose embeddings see one another, whatever is configured.
func TestOpen_Projector_EnlargesPasses(t *testing.T) {
	m := openPair(t, synth.MediaPairs[0], map[string]any{"scheduler.slots": "1", "scheduler.batch_size": "2", "scheduler.ubatch_size": "2"})
	whole := m.MediaEncoder.(*mediaEncoder).projector.Info().Whole
	if whole < 3 || m.Compute.Batch != whole {
		t.Errorf("%d embeddings are computed in passes of %d", whole, m.Compute.Batch)
	}
}

// A projector beside the model is found; one that does not fit is not used, and refused where the
// configuration names it.
func TestOpen_Projector_FoundBesideTheModel(t *testing.T) {
	folder := t.TempDir()
	path, projector, err := synth.MediaPairs[2].WriteFiles(folder, 1)
	if err != nil {
		t.Fatal(err)
	}
	if m := openModel(t, map[string]any{"model.path": path}); !m.Media.Images {
		t.Error("it was not found")
	}
	for name, flags := range map[string]map[string]any{
		"not wanted": {"model.mmproj_auto": "false"}, "no tokens": {"model.image_min_tokens": "1", "model.image_max_tokens": "1"},
	} {
		flags["model.path"] = path
		if m := openModel(t, flags); name == "not wanted" && m.Media.Images {
			t.Error(name)
		}
	}
	wide := must.Get(os.ReadFile(second(synth.MediaPairs[5].WriteFiles(t.TempDir(), 1))))(t)
	must.Do(t, os.WriteFile(projector, wide, 0o600))
	var logged bytes.Buffer
	core := must.Get(Open(t.Context(), settings(t, map[string]any{"model.path": path}), slog.New(slog.NewTextHandler(&logged, nil)), Options{}))(t)
	if core.Model.MediaEncoder != nil || !strings.Contains(logged.String(), "takes text only") {
		t.Error(logged.String())
	}
	if err := core.Close(); err != nil {
		t.Error(err)
	}
	_, err = Open(t.Context(), settings(t, map[string]any{"model.path": path, "model.mmproj": projector}), slog.New(slog.DiscardHandler), Options{})
	for _, part := range []string{"model.mmproj", filepath.Base(path[:len(path)-5]), projector, "leave out --mmproj"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
}

func second(_, path string, _ error) string { return path }

// What a projector takes is counted before it was tried and after, and so are the passes that it
// wants.
func TestPlan_CountsTheProjector(t *testing.T) {
	folder := t.TempDir()
	path, _ := must.Both(synth.MediaPairs[0].WriteFiles(folder, 1))(t)
	flags := map[string]any{"model.path": path, "scheduler.slots": "1", "scheduler.batch_size": "2", "scheduler.ubatch_size": "2"}
	c := settings(t, flags)
	used := func() (plan fit.Plan, bytes uint64) {
		t.Helper()
		plan = must.Get(Plan(t.Context(), c, path, 0))(t)
		return plan, plan.Need.Main().Used()
	}
	_, untried := used()
	core := must.Get(Open(t.Context(), c, slog.New(slog.DiscardHandler), Options{}))(t)
	whole := core.Model.Compute.Batch
	if err := core.Close(); err != nil {
		t.Error(err)
	}
	tried, withTrial := used()
	c = settings(t, map[string]any{"model.path": path, "model.mmproj_auto": "false", "scheduler.slots": "1", "scheduler.batch_size": "2", "scheduler.ubatch_size": "2"})
	plain, without := used()
	if untried <= without || withTrial <= without {
		t.Errorf("%d bytes untried, %d tried, %d without", untried, withTrial, without)
	}
	if whole <= 2 || tried.UBatch != whole || plain.UBatch != 2 {
		t.Errorf("passes of %d tokens, %d without; a picture is %d", tried.UBatch, plain.UBatch, whole)
	}
}
