// SPDX-License-Identifier: MIT

package session

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler/chain"
)

// A chain calls a recorder and not the stage within it, also for what a stage's traits say.
func TestRecorder_Chain_WritesDownWhatTheChainCalls(t *testing.T) {
	g := example().On(abi.ExportPrepare, asm.I32(0)).On(abi.ExportSample, asm.I32(6))
	s, err := stage.New(hosttest.Load(t, hosttest.Open(t, load.New), g), plugin.RequestInfo{Skip: true})
	if err != nil {
		t.Fatal(err)
	}
	var calls []string
	r := Record(s, func([]Token) {}, func(c Call) bool {
		calls = append(calls, c.Call)
		return true
	})
	c := chain.New([]chain.Stage{r}, 100, 0)
	defer chain.Close(c.Stages())
	if err := c.Begin([]chain.Token{1}, 1); err != nil {
		t.Fatal(err)
	}
	if err := c.Prepare(); err != nil {
		t.Error(err)
	}
	if err := c.Refuse(0, chain.ActChoose, chain.ErrNotAllowed); err != nil {
		t.Error(err)
	}
	if want := []string{CallOpen, CallPrepare, CallRefuse}; !slices.Equal(calls, want) {
		t.Errorf("%v, want %v", calls, want)
	}
}

// A recording tells what the plugin has declined; the calls that it declined are not in it.
func TestRecorder_Reset_WritesDownWhatIsDeclined(t *testing.T) {
	s, err := stage.New(hosttest.Load(t, hosttest.Open(t, load.New), declining()), plugin.RequestInfo{})
	if err != nil {
		t.Fatal(err)
	}
	var calls []Call
	r := Record(s, func([]Token) {}, func(c Call) bool { calls = append(calls, c); return true })
	defer func() { _ = r.Close() }()
	if err := r.Reset([]chain.Token{1}, 1); err != nil {
		t.Fatal(err)
	}
	if err := r.Apply(&chain.View{N: -1, Chosen: -1}); err != nil {
		t.Error(err)
	}
	if len(calls) != 1 || !slices.Equal(calls[0].Declined, []string{abi.ExportSample}) {
		t.Errorf("%+v", calls)
	}
}

// What one call does is written down up to a bound. A recording then has no room for the call.
func TestNotes_Did_IsBounded(t *testing.T) {
	var taken Call
	n := &notes{vocabulary: 8, take: func(c Call) bool { taken = c; return true }}
	n.begin(Call{Call: CallOpen})
	for range 2 * mostHeld >> 20 {
		n.Did(&plugin.Deed{Import: abi.ImportTokenize, Text: strings.Repeat("x", 1<<20)})
	}
	n.end(true)
	if len(taken.Deeds) >= mostHeld>>20+1 || taken.Size() != math.MaxInt {
		t.Errorf("%d deeds, size %d", len(taken.Deeds), taken.Size())
	}
}
