// SPDX-License-Identifier: MIT

package stage_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/plugins/tck"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/steadytest"
)

// busy is a guest that has something of everything: it fills a mask, edits the row, and looks at
// tokens and text.
func busy() []byte {
	const atMask, atText, atRow = 8192, 8448, 16384
	g := asm.New(`{"name":"busy","view":"logits"}`)
	g.Globals, g.Table = 1, 1
	g.On(abi.ExportOpen, g.Bind(abi.BufferMask, atMask, vocabulary/8), g.Bind(abi.BufferText, atText, 256),
		g.Bind(abi.BufferLogits, atRow, 4*vocabulary), asm.I32(atMask), asm.I32(-1), asm.I32(vocabulary/8), asm.Fill, asm.I32(0))
	g.On(abi.ExportPrepare, asm.Poke(atMask, -2), asm.I32(abi.PrepareMask))
	g.On(abi.ExportSample, asm.Each(1, asm.Local(0),
		asm.I32(atRow), asm.Global(0), asm.I32(vocabulary), asm.Remainder, asm.I32(4), asm.Multiply, asm.Add, asm.F32(3), asm.StoreF32),
		asm.I32(abi.SampleEdited))
	g.On(abi.ExportAccept, asm.Global(0), asm.Local(0), asm.Add, asm.SetGlobal(0), asm.I32(0))
	return g.On(abi.ExportStop, asm.I32(abi.StopShow)).Wasm()
}

// Whatever bit of a module is flipped, the host and its other streams go on.
func TestStage_FlippedBits_NeighboursNoticeNothing(t *testing.T) {
	b := newBench(t)
	undisturbed := among(t, b)
	wasm := busy()
	step := steadytest.InLongTest(1, 23) // which meets each of a byte's bits
	loaded := 0
	for bit := 8*8 + int(steadytest.Seed(t)%uint64(step)); bit < 8*len(wasm); bit += step {
		damaged := bytes.Clone(wasm)
		damaged[bit/8] ^= 1 << (bit % 8)
		name, err := b.load(context.Background(), damaged)
		if err != nil {
			continue
		}
		loaded++
		// Answers and failures are the guest's own.
		if _, err := b.Complete(context.Background(), tck.Request{}, []string{name}); err != nil {
			var failure *tck.Failure
			if !errors.As(err, &failure) {
				t.Errorf("bit %d: %v", bit, err)
			}
		}
	}
	undisturbed()
	if loaded == 0 {
		t.Error("no damaged module was loaded")
	}
}

// The mask and the row that the scheduler works on are the guest's own memory, and so are its
// buffers. Requests that are cancelled at any time must not leave a view of memory that is given
// back.
func TestStage_Close_NoViewOfMemoryIsLeft(t *testing.T) {
	b := newBench(t)
	name, err := b.load(context.Background(), busy())
	if err != nil {
		t.Fatal(err)
	}
	undisturbed := among(t, b)
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		request, err := b.request(context.Background(), tck.Request{}, []string{name})
		if err != nil {
			t.Fatal(err)
		}
		request.MaxTokens = 50
		stream, err := b.scheduler.Submit(request)
		if err != nil {
			t.Fatal(err)
		}
		stop := r.IntN(20)
		for e := range schedulertest.Events(context.Background(), stream) {
			if stop--; stop == 0 {
				stream.Cancel()
			}
			if e.Kind == scheduler.KindEnd && e.End.Err != nil {
				t.Fatal(e.End.Err)
			}
		}
	}
	undisturbed()
}
