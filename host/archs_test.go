// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// archs is llama.cpp's program that writes a random model of each architecture; `make llama-archs` builds it.
const archs = "../build/llama.cpp/tools/test-llama-archs"

// TestCore_EveryArchitecture_IsServedOrRefused: whatever llama.cpp can load is served with the same greedy text alone and in a busy
// batch, or refused with a sentence. It prints a table.
func TestCore_EveryArchitecture_IsServedOrRefused(t *testing.T) {
	if os.Getenv("PENSTOCK_TEST_LONG") == "" {
		t.Skip("make test-long tries all architectures")
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), archs, "-s", "1", "-o", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v (make llama-archs builds it)\n%.2000s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.gguf"))
	if err != nil || len(files) < 100 {
		t.Fatalf("%d models were written, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".gguf")
		path := withBytes(t, file)
		t.Run(name, func(t *testing.T) { t.Logf("%-24s %s", name, serveOrRefuse(t, path)) })
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

// A model with a state and one with a window go the same way without llama.cpp's program.
func TestCore_StateAndWindow_AreServed(t *testing.T) {
	for name, want := range map[string]string{"mamba": "served without truncating; 12 of 12", "cohere2": "served; 12 of 12"} {
		t.Run(name, func(t *testing.T) {
			if got := serveOrRefuse(t, smallModel(t, name)); !strings.HasPrefix(got, want) {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// smallModel writes a small random model of a kind and returns its path.
func smallModel(t *testing.T, kind string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), kind+".gguf")
	if err := synth.SmallFile(path, kind, 1); err != nil {
		t.Fatal(err)
	}
	return path
}

// withBytes gives a model a byte-level vocabulary and removes the one without.
func withBytes(t *testing.T, path string) string {
	t.Helper()
	out := strings.TrimSuffix(path, ".gguf") + "-bytes.gguf"
	file, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(synth.WithBytes(file, path), file.Close(), os.Remove(path)); err != nil {
		t.Fatal(err)
	}
	return out
}

// serveOrRefuse opens a model as `penstock serve` does and says how it went.
func serveOrRefuse(t *testing.T, path string) string {
	t.Helper()
	core, err := OpenCore(t.Context(), settings(t, map[string]any{"model.path": path, "plugins.dir": t.TempDir()}), slog.New(slog.DiscardHandler), nil)
	if err != nil {
		if !errors.Is(err, engine.ErrNotGenerating) {
			t.Errorf("of another kind than text models: %v", err)
		}
		return "refused: " + strings.ReplaceAll(err.Error(), path, "FILE")
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- core.Scheduler.Run(ctx) }()
	defer func() {
		stop()
		if err := <-done; err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		if err := core.Close(); err != nil {
			t.Error(err)
		}
	}()
	var without []string
	for _, l := range core.file.Lacks {
		without = append(without, l.What)
	}
	verdict := "served"
	if len(without) > 0 {
		verdict += " without " + strings.Join(without, ", ")
	}
	return verdict + "; " + aloneAndBusy(t, core)
}

// nearTie is how far apart two tokens may be for other sums to decide otherwise between them, in logits. Shared cells are summed in
// the order in which they lie, and a matrix of other rows is multiplied in other steps.
const nearTie = 0.01

// aloneAndBusy compares greedy answers alone with twelve at once in eight slots.
func aloneAndBusy(t *testing.T, core *Core) string {
	t.Helper()
	var prompts []string
	for i := range 6 {
		prompts = append(prompts, strings.Repeat("The frog sat by the pond. ", i)+fmt.Sprintf("Story %d of the frog %c", i, 'a'+i))
	}
	var want [][]step
	for _, p := range prompts {
		want = append(want, collect(t, submit(t, core, p, false)))
	}
	var streams []*scheduler.Stream
	for _, p := range slices.Concat(prompts, prompts) {
		streams = append(streams, submit(t, core, p, true))
	}
	var same, ties, tokens int
	moved := 0.0
	for i, st := range streams {
		got, alone := collect(t, st), want[i%len(want)]
		at := differ(got, alone)
		tokens += at
		for k := range at {
			moved = max(moved, math.Abs(float64(got[k].best-alone[k].best)))
		}
		switch {
		case at == len(alone) && len(got) == len(alone):
			same++
		case at < min(len(got), len(alone)) && alone[at].gap < nearTie:
			ties++
		default:
			t.Errorf("answer %d of %d tokens differs from that alone at token %d: %v, %v", i, len(got), at, got[at:], alone[at:])
		}
	}
	if tokens == 0 {
		t.Error("there is no answer")
	}
	if moved > nearTie {
		t.Errorf("a log-probability moved by %g", moved)
	}
	verdict := fmt.Sprintf("%d of %d answers the same as alone", same, len(streams))
	if ties > 0 {
		verdict += fmt.Sprintf(", %d up to a near tie", ties)
	}
	return verdict + fmt.Sprintf(", log-probabilities to %.0e", moved)
}

// differ is how many tokens two answers have in common.
func differ(a, b []step) int {
	n := 0
	for n < min(len(a), len(b)) && a[n].token == b[n].token {
		n++
	}
	return n
}

// step is one token of a greedy answer, its log-probability, and how much likelier it was than the next best.
type step struct {
	token     int32
	best, gap float32
}

func submit(t *testing.T, core *Core, text string, cache bool) *scheduler.Stream {
	t.Helper()
	tokens, err := core.Engine.Tokenize(text, true, true)
	if err != nil {
		t.Fatal(err)
	}
	p := sampling.Default()
	p.Temperature = 0
	chain, err := core.Engine.NewChain(p)
	if err != nil {
		t.Fatal(err)
	}
	st, err := core.Scheduler.Submit(scheduler.Request{Prompt: []scheduler.Segment{{Tokens: tokens}}, MaxTokens: 24, Chain: chain, Logprobs: 2,
		CachePrompt: cache})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func collect(t *testing.T, st *scheduler.Stream) (steps []step) {
	t.Helper()
	for e := range schedulertest.Events(t.Context(), st) {
		switch {
		case e.Kind == scheduler.KindToken:
			top := e.Logprobs.Top
			steps = append(steps, step{e.Token, top[0].Logprob, top[0].Logprob - top[1].Logprob})
		case e.Kind == scheduler.KindEnd && e.End.Err != nil:
			t.Error(e.End.Err)
		}
	}
	return steps
}
