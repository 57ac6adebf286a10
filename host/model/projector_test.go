// SPDX-License-Identifier: MIT

package model

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// storePair writes a small pair and returns its paths.
func storePair(t *testing.T, pair synth.MediaPair) (model, projector string) {
	t.Helper()
	model, projector = must.Both(pair.WriteFiles(t.TempDir(), 1))(t)
	return model, projector
}

func TestCheckProjector_GoodFiles_AreTriedOnce(t *testing.T) {
	var always, others []synth.MediaPair
	for _, pair := range synth.MediaPairs {
		if pair.Projector == "gemma3" || pair.Sees() && pair.Hears() { // with whole pieces, and for both
			always = append(always, pair)
		} else {
			others = append(others, pair)
		}
	}
	for _, pair := range append(steadytest.Some(t, others, 1), steadytest.Some(t, always, 2)...) {
		trials := 0
		var found []ProjectorTrial
		o := CheckOptions{CacheDir: filepath.Join(t.TempDir(), "cache"), Trying: func() { trials++ }}
		model, projector := storePair(t, pair)
		for range 2 {
			p, err := CheckProjector(t.Context(), model, projector, native.ProjectorOptions{Threads: 1}, o)
			if err != nil || (p.Vision != "") != pair.Sees() || (p.Audio != "") != pair.Hears() {
				t.Fatalf("%s: %+v, %v", pair.Projector, p, err)
			}
			found = append(found, p.Trial)
		}
		if found[0] != found[1] || (found[0].Whole > 0) != (pair.Projector == "gemma3") {
			t.Errorf("%s: %+v", pair.Projector, found)
		}
		if trials != 1 {
			t.Errorf("%s was tried %d times", pair.Projector, trials)
		}
	}
}

// Other bounds of embeddings are tried for themselves.
func TestCheckProjector_OtherOptions_AreTried(t *testing.T) {
	trials := 0
	o := CheckOptions{CacheDir: filepath.Join(t.TempDir(), "cache"), Trying: func() { trials++ }}
	model, projector := storePair(t, synth.MediaPairs[3])
	for _, most := range []int{0, 16, 0} {
		if _, err := CheckProjector(t.Context(), model, projector, native.ProjectorOptions{Threads: 1, ImageMaxTokens: most}, o); err != nil {
			t.Error(err)
		}
	}
	if trials != 2 {
		t.Errorf("%d trials", trials)
	}
}

func TestCheckProjector_WrongFile_NamesItAndTheReason(t *testing.T) {
	model, projector := storePair(t, synth.MediaPairs[0])
	other := store(t, "model.gguf", builtIn)
	llama, _ := storePair(t, synth.MediaPairs[1])
	for name, c := range map[string]struct {
		model, path string
		want        error
	}{
		"absent":          {model, filepath.Join(t.TempDir(), "absent.gguf"), ErrNotFound},
		"a folder":        {model, t.TempDir(), ErrNotFile},
		"a model":         {model, model, gguf.ErrUnsupported},
		"of another":      {other, projector, ErrRefused},
		"no GGUF file":    {model, store(t, "text.gguf", []byte("hello")), gguf.ErrNotGGUF},
		"more embeddings": {llama, deepProjector(t), ErrRefused},
	} {
		_, err := CheckProjector(t.Context(), c.model, c.path, native.ProjectorOptions{Threads: 1}, CheckOptions{CacheDir: t.TempDir()})
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.path) {
			t.Errorf("%s: %v; want %v of %s", name, err, c.want, c.path)
		}
	}
}

// deepProjector is one whose embeddings are twice as wide as others.
func deepProjector(t *testing.T) string {
	t.Helper()
	_, path := storePair(t, synth.MediaPairs[5])
	return path
}

// A file that passes the check of its header and on which libmtmd ends the process is an error.
func TestCheckProjector_CrashingFile_IsAnError(t *testing.T) {
	pair := synth.MediaPairs[6] // ultravox
	model, projector := storePair(t, pair)
	rewritten(t, projector, func(h *gguf.Header) {
		for i := range h.Tensors { // a matrix the wrong way round
			if h.Tensors[i].Name == "mm.a.mlp.1.weight" {
				h.Tensors[i].Dims[0], h.Tensors[i].Dims[1] = h.Tensors[i].Dims[1], h.Tensors[i].Dims[0]
			}
		}
	})
	if _, err := CheckProjector(t.Context(), model, projector, native.ProjectorOptions{Threads: 1}, CheckOptions{CacheDir: t.TempDir()}); !errors.Is(err, ErrCrashed) {
		t.Error(err)
	}
}

// rewritten changes the header of a file.
func rewritten(t *testing.T, path string, change func(*gguf.Header)) {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, synth.Edit(&b, path, change))
	must.Do(t, os.WriteFile(path, b.Bytes(), 0o600))
}

// TestCorruptedProjectors damages the small projectors, 10 times or 4,000 in `make test-long`. Each
// of the files is refused by the check of its header or by the trial, or works in this process too.
func TestCorruptedProjectors(t *testing.T) {
	from, count := steadytest.Seed(t), steadytest.InLongTest(4000, 10)
	var total tally
	c := corrupter{t: t, path: filepath.Join(t.TempDir(), "mmproj.gguf"), total: &total}
	defer c.close()
	models, projectors := map[synth.MediaPair]string{}, map[synth.MediaPair][]byte{}
	for _, pair := range synth.MediaPairs {
		model, projector := storePair(t, pair)
		data := must.Get(os.ReadFile(projector))(t)
		models[pair], projectors[pair] = model, data
	}
	for seed := range uint64(count) {
		pair := synth.MediaPairs[seed%uint64(len(synth.MediaPairs))]
		data, did := mutateProjector(projectors[pair], from+seed/uint64(len(synth.MediaPairs)))
		c.projector(seed, models[pair], data, pair.Projector+": "+did)
	}
	t.Log(total.String())
	if steadytest.Long() && (total.works == 0 || total.refused == 0 || total.header == 0) {
		t.Error("a way for files to go was never taken")
	}
}

func (c *corrupter) projector(seed uint64, model string, data []byte, did string) {
	if _, err := gguf.CheckProjector(bytes.NewReader(data), int64(len(data))); err != nil {
		if !isTyped(err) {
			c.t.Errorf("seed %d (%.200s): the header check's error has no type: %v", seed, did, err)
		}
		c.total.header++
		return
	}
	must.Do(c.t, os.WriteFile(c.path, data, 0o600))
	must.Do(c.t, c.start())
	r := request{Task: projectorTask, Path: model, Projector: c.path, Encoding: native.ProjectorOptions{Threads: 1}, Timeout: time.Minute}
	_, err := c.child.ask(c.t.Context(), r)
	c.bury()
	switch {
	case errors.Is(err, ErrCrashed):
		c.t.Logf("seed %d (%.200s): %v", seed, did, err)
		c.total.crashed++
	case errors.Is(err, ErrRefused), errors.Is(err, ErrTooLarge):
		c.total.refused++
	case err != nil:
		c.t.Errorf("seed %d (%.200s): %v", seed, did, err)
	default:
		if _, err := tryProjector(r); err != nil {
			c.t.Errorf("seed %d (%.200s): passed the trial, but then: %v", seed, did, err)
		}
		c.total.works++
	}
}

// mutateProjector damages a projector as mutate does, but for the vocabulary, which it has not.
func mutateProjector(data []byte, seed uint64) ([]byte, string) {
	m := mutator{rand: rand.New(rand.NewPCG(seed, 78)), data: bytes.Clone(data)}
	h, err := gguf.Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return data, err.Error()
	}
	m.header = h
	kinds := []func(){m.truncate, m.flipHeader, m.flipData, m.flipAnywhere, m.setAbsurd, m.dropKey, m.editTensor, m.fillData, m.splice}
	kinds[seed%uint64(len(kinds))]()
	return m.data, m.did
}
