// SPDX-License-Identifier: MIT

package engine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// smallOf writes a small model of one of llama.cpp's architectures with random weights.
func smallOf(t *testing.T, name string) string {
	t.Helper()
	plain, path := filepath.Join(t.TempDir(), name+".gguf"), filepath.Join(t.TempDir(), name+".gguf")
	must.Do(t, synth.SmallFile(plain, name, 1))
	file := must.Get(os.Create(path))(t)
	must.Do(t, errors.Join(synth.WithBytes(file, plain), file.Close()))
	return path
}

// Hybrid models drop wrong guesses by going back to an earlier state: their text is the same with
// any drafter as without.
func TestScheduler_Speculate_HybridSameGreedyText(t *testing.T) {
	architectures := []string{"lfm2-dense", "qwen35-dense"}
	if steadytest.Long() {
		architectures = append(architectures, "lfm2moe-moe", "qwen35moe-moe", "qwen4exp-moe", "nemotron_h-dense",
			"nemotron_h_moe-dense", "kimi-k3-moe", "bailingmoe3-moe", "deepseek4-moe")
	}
	for _, architecture := range architectures {
		t.Run(architecture, func(t *testing.T) {
			e := openedFile(t, Options{Path: smallOf(t, architecture), Slots: 4, CacheSequences: 4, DraftRows: 16, Snapshots: 4, ContextSize: 8 * 256})
			if l := e.Backend().Limits(); !l.Drafts || l.MostDrafted != 4 || !l.AlikeDrafts {
				t.Fatalf("%+v", l)
			}
			checkGoesBack(t, e.Backend())
			checkDrafts(t, e, "shared", steadytest.InLongTest(16, 8), 60)
		})
	}
}

// A sequence of a recurrent model goes back once, only as far as its last pass, and not after
// another pass.
func TestBackend_Truncate_RecurrentGoesBackOnce(t *testing.T) {
	e := openedFile(t, Options{Path: smallOf(t, "lfm2-dense"), Slots: 2, CacheSequences: 2, DraftRows: 8, Snapshots: 3, ContextSize: 512})
	b := e.backend
	for name, c := range map[string]struct {
		keep, kept int
		between    func()
	}{
		"none":                   {7, 7, func() {}}, // the model has a window, too, and llama.cpp tells the last position as the first
		"two tokens":             {5, 5, func() {}},
		"as many as are kept":    {4, 4, func() {}},
		"more than are kept":     {2, 0, func() {}},
		"after another's pass":   {5, 0, func() { feed(t, b, 1, 0, 9) }},
		"after it has gone back": {4, 0, func() { b.Truncate(0, 5) }},
	} {
		b.Truncate(0, 0)
		b.Truncate(1, 0)
		feed(t, b, 0, 0, 10, 11, 12)
		feed(t, b, 0, 3, 13, 20, 21, 22)
		c.between()
		if kept := b.Truncate(0, c.keep); kept != c.kept {
			t.Errorf("%s: %d tokens are kept, want %d", name, kept, c.kept)
		}
	}
	b.Truncate(0, 0)
	b.Truncate(1, 0)
	feed(t, b, 0, 0, 10, 11, 12)
	feed(t, b, 0, 3, 20, 21, 22)
	if b.Share(0, 1, 6) != 6 {
		t.Error("a sequence is not shared as a whole")
	}
	if kept := b.Truncate(0, 5); kept != 0 || b.length(1) != 6 {
		t.Errorf("%d tokens are kept after they were shared, and the other sequence has %d", kept, b.length(1))
	}
	b.Truncate(1, 0)
	feed(t, b, 0, 0, 10, 11, 12)
	feed(t, b, 0, 3, 20, 21, 22)
	if b.Truncate(0, 4); b.Share(0, 1, 4) != 0 {
		t.Error("a sequence that has gone back is shared")
	}
}

// A sequence that has gone back, or still may, is shared at a checkpoint before: both go on as if
// nothing had been.
func TestBackend_RestoreCheckpoint_SharesWhatGoesBack(t *testing.T) {
	e := openedFile(t, Options{Path: smallOf(t, "lfm2-dense"), Slots: 2, CacheSequences: 2, DraftRows: 8, Snapshots: 3, ContextSize: 512})
	b := e.backend
	wantShared := feed(t, b, 0, 0, 10, 11, 12, 13)
	b.Truncate(0, 0)
	wantOwn := feed(t, b, 0, 0, 10, 11, 12, 20, 13)
	for name, back := range map[string]bool{"gone back": true, "may go back": false} {
		b.Truncate(0, 0)
		b.Truncate(1, 0)
		feed(t, b, 0, 0, 10, 11, 12)
		checkpoint := must.Get(b.SaveCheckpoint(0, nil))(t)
		feed(t, b, 0, 3, 20, 21, 22)
		if back {
			b.Truncate(0, 4)
		}
		if !b.Cuttable(0, 4) || b.Shareable(0, 4) || b.Share(0, 1, 4) != 0 {
			t.Errorf("%s: cuttable: %v, shareable: %v", name, b.Cuttable(0, 4), b.Shareable(0, 4))
		}
		must.Do(t, b.RestoreCheckpoint(0, 1, checkpoint, 3))
		if got := feed(t, b, 1, 3, 13); distance(got, wantShared) > 5e-3 {
			t.Errorf("%s: the sequence that shares goes on %v from what it should", name, distance(got, wantShared))
		}
		if b.Truncate(0, 4) == 4 {
			if got := feed(t, b, 0, 4, 13); distance(got, wantOwn) > 5e-3 {
				t.Errorf("%s: the sequence goes on %v from what it should", name, distance(got, wantOwn))
			}
		} else if back {
			t.Errorf("%s: it has lost what it went back to", name)
		}
		if err := checkpoint.Close(); err != nil {
			t.Error(err)
		}
	}
}

// checkGoesBack compares the logits after wrong tokens that were dropped with those where there
// were none.
func checkGoesBack(t *testing.T, b scheduler.Backend) {
	t.Helper()
	want := feed(t, b, 0, 0, 10, 11, 12, 13)
	b.Truncate(0, 0)
	feed(t, b, 0, 0, 10, 11)
	feed(t, b, 0, 2, 12, 20, 21)
	if kept := b.Truncate(0, 3); kept != 3 {
		t.Errorf("%d tokens are kept, want 3", kept)
	} else {
		got := feed(t, b, 0, 3, 13)
		for i := range got {
			if d := got[i] - want[i]; d > 5e-3 || d < -5e-3 {
				t.Fatalf("after going back the logit of token %d is %v, want %v", i, got[i], want[i])
			}
		}
	}
	b.Truncate(0, 0)
}
