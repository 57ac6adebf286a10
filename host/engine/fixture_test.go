// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

const builtIn = "../model/penstock-tiny.gguf"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// opened opens the built-in model and checks at the end that everything is freed.
func opened(t testing.TB, o Options) *Engine {
	t.Helper()
	o.Path = builtIn
	return openedFile(t, o)
}

// openedSmall is opened with a small model of a kind, which no GPU computes; the built-in one
// where that is "".
func openedSmall(t testing.TB, kind string, o Options) *Engine {
	t.Helper()
	if kind == "" {
		return opened(t, o)
	}
	o.Path = filepath.Join(t.TempDir(), kind+".gguf")
	must.Do(t, synth.SmallFile(o.Path, kind, 7))
	return openedHere(t, o)
}

// openedFile is opened with the model of o.
func openedFile(t testing.TB, o Options) *Engine {
	t.Helper()
	onDevice(t, &o)
	return openedHere(t, o)
}

func openedHere(t testing.TB, o Options) *Engine {
	t.Helper()
	before := native.LiveObjects()
	o.Threads = 1
	e := must.Get(Open(t.Context(), o))(t)
	t.Cleanup(func() {
		e.grammars.checkReleased(t)
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if after := native.LiveObjects(); after != before {
			t.Errorf("%+v before, %+v after", before, after)
		}
	})
	return e
}

// onDevice has a GPU compute as many layers as PENSTOCK_TEST_GPU_LAYERS says (scripts/gpu.sh).
func onDevice(t testing.TB, o *Options) {
	t.Helper()
	if layers := os.Getenv("PENSTOCK_TEST_GPU_LAYERS"); layers != "" && o.GPULayers == 0 {
		n := must.Get(strconv.Atoi(layers))(t)
		o.GPULayers = n
	}
}

// scheduled runs a scheduler over an engine until stop is called.
func scheduled(t testing.TB, e *Engine, slots int) (_ *scheduler.Scheduler, stop func()) {
	t.Helper()
	return scheduledWith(t, e, scheduler.Config{Slots: slots, ArchiveBytes: 1 << 26})
}

func scheduledWith(t testing.TB, e *Engine, o scheduler.Config) (_ *scheduler.Scheduler, stop func()) {
	t.Helper()
	s := must.Get(scheduler.New(e.Backend(), o))(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Run(ctx) }()
	return s, func() { cancel(); <-done }
}

func tokens(t testing.TB, e *Engine, text string) []int32 {
	t.Helper()
	return must.Get(e.Tokenize(t.Context(), text, true, true))(t)
}

// pass runs one forward pass.
func pass(t testing.TB, b scheduler.Backend, batch *scheduler.Batch) {
	t.Helper()
	must.Do(t, b.Start(batch))
	must.Do(t, b.Wait())
}

// feed puts tokens into a sequence from a position on and returns the logits after the last.
func feed(t testing.TB, b scheduler.Backend, seq int32, from int, tokens ...int32) []float32 {
	t.Helper()
	var batch scheduler.Batch
	for i, token := range tokens {
		batch.Add(token, int32(from+i), seq, i == len(tokens)-1)
	}
	pass(t, b, &batch)
	return append([]float32(nil), b.Row(0)...)
}

func draw(t testing.TB, b scheduler.Backend, stage chain.Stage) int32 {
	t.Helper()
	draws := []scheduler.Draw{{Row: 0, Stage: stage}}
	b.SampleRows(draws)
	if draws[0].Err != nil {
		t.Fatal(draws[0].Err)
	}
	must.Get(stage.Accept(draws[0].Token))(t)
	return draws[0].Token
}
