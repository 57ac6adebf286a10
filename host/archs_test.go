// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/scheduler"
)

// archs is llama.cpp's program that writes a random model of each architecture; `make test-long` builds it.
const archs = "../build/llama.cpp/tools/test-llama-archs"

// TestCore_EveryArchitecture_IsServedOrRefused: whatever llama.cpp can load is served with the same greedy text alone and in a busy
// batch, up to steps at which two tokens are as good as equal, or refused with a sentence. It prints a table.
func TestCore_EveryArchitecture_IsServedOrRefused(t *testing.T) {
	if os.Getenv("PENSTOCK_TEST_LONG") == "" {
		t.Skip("make test-long tries all architectures")
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), archs, "-s", "1", "-o", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v (native/llama.cpp/build.sh build/llama.cpp archs builds it)\n%.2000s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.gguf"))
	if err != nil || len(files) < 100 {
		t.Fatalf("%d models were written, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".gguf")
		path := withBytes(t, file)
		t.Logf("%-24s %s", name, serveOrRefuse(t, path))
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

// withBytes gives a model a byte-level vocabulary and removes the one without.
func withBytes(t *testing.T, path string) string {
	t.Helper()
	out := strings.TrimSuffix(path, ".gguf") + "-bytes.gguf"
	file, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := synth.WithBytes(file, path); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	return out
}

// serveOrRefuse opens a model as `penstock serve` does and says how it went.
func serveOrRefuse(t *testing.T, path string) string {
	t.Helper()
	core, err := OpenCore(t.Context(), settings(t, map[string]any{"model.path": path, "plugins.dir": t.TempDir()}), slog.New(slog.DiscardHandler), nil)
	if err != nil {
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

// aloneAndBusy compares greedy answers alone and twelve at once in eight slots.
func aloneAndBusy(t *testing.T, core *Core) string {
	t.Helper()
	var prompts []string
	for i := range 6 {
		prompts = append(prompts, strings.Repeat("The frog sat by the pond. ", i)+fmt.Sprintf("Tell me story %d about a %s", i, []string{"frog", "fox", "duck"}[i%3]))
	}
	var want [][]step
	for _, p := range prompts {
		want = append(want, collect(t, submit(t, core, p, false)))
	}
	var streams []*scheduler.Stream
	for _, p := range append(prompts, prompts...) {
		streams = append(streams, submit(t, core, p, true))
	}
	var notes []string
	for i, st := range streams {
		got, alone := collect(t, st), want[i%len(want)]
		for k := range alone {
			if k >= len(got) || got[k].token != alone[k].token {
				notes = append(notes, fmt.Sprintf("prompt %d differs at token %d, where the best two are %.4f apart", i, k, alone[k].gap))
				break
			}
		}
	}
	if len(notes) > 0 {
		return strings.Join(notes, "; ")
	}
	return "same text alone and busy"
}

// step is one token of a greedy answer, and how much likelier it was than the next best (in logits).
type step struct {
	token int32
	gap   float32
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
	for e := range st.All(t.Context()) {
		switch {
		case e.Kind == scheduler.KindToken:
			steps = append(steps, step{e.Token, e.Logprobs.Top[0].Logprob - e.Logprobs.Top[1].Logprob})
		case e.Kind == scheduler.KindEnd && e.End.Err != nil:
			t.Error(e.End.Err)
		}
	}
	return steps
}
