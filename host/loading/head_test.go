// SPDX-License-Identifier: MIT

package loading

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/native/gguf/synth"
)

// headed writes a model with a head, and with that many layers before it.
func headed(t *testing.T, layers uint32) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "head.gguf")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	s := synth.Shape{Name: "loop", Dim: 64, Layers: layers, Heads: 2, KVHeads: 1, FFN: 64, Context: 512, Loop: 32, Head: true, Right: 100}
	if err := errors.Join(synth.Write(f, s, tinyModel, synth.Q40, 1), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// damaged is a model's file with NaN among the weights of a tensor.
func damaged(t *testing.T, path, tensor string) string {
	t.Helper()
	var at int64
	to := filepath.Join(t.TempDir(), "damaged.gguf")
	f, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	if err := synth.Edit(f, path, func(h *gguf.Header) {
		for _, x := range h.Tensors {
			if x.Name == tensor {
				at = h.DataOffset + int64(x.Offset)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte{0, 0x7e}, at) // the scale of the first block
	if err := errors.Join(err, f.Close()); err != nil || at == 0 {
		t.Fatal(err)
	}
	return to
}

// The head in a model's own file guesses unless the configuration or the memory says otherwise. A
// damaged one does not, and the model is served.
func TestOpen_HeadInTheFile_Guesses(t *testing.T) {
	good := headed(t, 2)
	const head = "blk.2.nextn.eh_proj.weight"
	for name, c := range map[string]struct {
		path, types, drafter string
		memory               uint64
		says                 string
	}{
		"as it is":           {path: good, drafter: "draft-mtp"},
		"alone":              {path: good, types: "draft-mtp", drafter: "draft-mtp"},
		"by the text alone":  {path: good, types: "ngram-simple", drafter: "ngram-simple"},
		"none":               {path: good, types: "none"},
		"a chain":            {path: smallModel(t, "step35"), drafter: "draft-mtp"},
		"no head":            {path: tinyModel, drafter: "ngram-simple"},
		"no head, but alone": {path: tinyModel, types: "draft-mtp", says: "add ngram-simple"},
		"not a number":       {path: damaged(t, good, head), drafter: "ngram-simple", says: withoutHead},
		"too little memory":  {path: good, drafter: "ngram-simple", memory: 4 << 20, says: "no room for the model's head"},
	} {
		t.Run(name, func(t *testing.T) {
			flags := map[string]any{"model.path": c.path, "scheduler.slots": "2", "model.ctx_size": "1024"}
			if c.types != "" {
				flags["speculation.type"] = c.types
			}
			if got, log := drafterOf(t, flags, Options{memory: c.memory}); got != c.drafter || !strings.Contains(log, c.says) {
				t.Errorf("%q guesses; the log says\n%s", got, log)
			}
		})
	}
}

// drafterOf opens a model and returns what guesses its tokens, and the log.
func drafterOf(t *testing.T, flags map[string]any, o Options) (name, said string) {
	t.Helper()
	var log bytes.Buffer
	core, err := Open(t.Context(), settings(t, flags), slog.New(slog.NewTextHandler(&log, nil)), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := core.Close(); err != nil {
		t.Error(err)
	}
	return core.Model.Compute.Drafter, log.String()
}

// A draft model that is nothing but a head guesses for the models it is made for. Others are
// served without it.
func TestOpen_HeadAsDraftModel_Guesses(t *testing.T) {
	const types = "draft-mtp,ngram-simple"
	for _, c := range []struct{ path, head, types, drafter, says string }{
		{smallModel(t, "gemma4"), "gemma4-assistant", types, "draft-mtp", "the model's head guesses"},
		{smallModel(t, "qwen3"), "eagle3", "draft-simple,draft-eagle3", "draft-eagle3", "the model's head guesses"},
		{smallModel(t, "qwen3"), "dflash", "draft-dflash", "draft-dflash", "the model's head guesses"},
		{smallModel(t, "qwen3"), "dspark", types, "draft-dspark", "the model's head guesses"},
		{tinyModel, "eagle3", types, "ngram-simple", withoutHead},
	} {
		flags := map[string]any{"model.path": c.path, "speculation.draft_model": smallModel(t, c.head), "speculation.type": c.types,
			"scheduler.slots": "2", "model.ctx_size": "1024"}
		if got, log := drafterOf(t, flags, Options{}); got != c.drafter || !strings.Contains(log, c.says) {
			t.Errorf("%s: %q guesses; the log says\n%s", c.path, got, log)
		}
	}
}

// A head that is to guess as a model by itself is refused before it is tried.
func TestOpen_HeadAsModel_Refused(t *testing.T) {
	for workers, want := range map[string]string{"": "add draft-mtp to speculation.type", "127.0.0.1:1": "serve it without --rpc"} {
		c := settings(t, map[string]any{"model.path": tinyModel, "speculation.draft_model": smallModel(t, "eagle3"), "speculation.type": "draft-simple"})
		if workers != "" {
			c.Workers.RPC = []string{workers} // which are connected before
		}
		_, err := newLoader(c, slog.New(slog.DiscardHandler), Options{}).openDraftModel(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with workers %q: %v", workers, err)
		}
	}
}
