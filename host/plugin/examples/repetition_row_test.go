// SPDX-License-Identifier: MIT

package examples

import (
	"errors"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/loadtest"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// A call that was shown the whole row is repeated with the whole row, and what it left is compared. The examples have none such.
func TestRepetition_Sample_WholeRow(t *testing.T) {
	size := hosttest.Words{}.Size()
	g := asm.New(`{"name":"guest","view":"logits"}`)
	g.On(abi.ExportOpen, g.Bind(abi.BufferLogits, hosttest.AtBuffer, 4*size), asm.I32(0))
	g.On(abi.ExportSample, asm.Poke(hosttest.AtBuffer+4, 0), asm.I32(abi.SampleEdited))
	s, err := stage.New(loadtest.Load(t, loadtest.New(t), g), plugin.Request{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }() // tested elsewhere
	r := repetition{stage: s, history: []int32{1}, prompt: 1}
	if err := r.call(call{Export: abi.ExportOpen}); err != nil {
		t.Fatal(err)
	}
	c := call{Export: abi.ExportSample, Answer: abi.SampleEdited, Logits: make([]float32, size), LeftLogits: make([]float32, size)}
	c.Logits[1] = 5
	if err := r.call(c); err != nil {
		t.Error(err)
	}
	c.LeftLogits[1] = 5 // as if nothing had been edited
	if err := r.call(c); !errors.Is(err, errDiffers) {
		t.Errorf("got %v", err)
	}
}
