// SPDX-License-Identifier: MIT

package stage

import (
	"slices"
	"sync"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// declining is a plugin with all calls of a token, which wants log-probabilities and hidden states,
// and declines some calls.
func declining(declined ...string) *asm.Guest {
	g := asm.New(`{"name":"guest","optional":["penstock_draft"]}`)
	var code [][]byte
	for n, export := range declined {
		at := hosttest.AtScratch + 64*n
		g.Put(at, export)
		code = append(code, i32(at), i32(len(export)), g.Call(abi.ImportDecline), drop)
	}
	g.On(abi.ExportOpen, append(code, g.Bind(abi.BufferCandidates, hosttest.AtBuffer, 8*8), g.Bind(abi.BufferText, hosttest.AtBuffer+1024, 256), i32(0))...)
	g.On(abi.ExportPrepare, i32(0)).On(abi.ExportSample, i32(-1)).On(abi.ExportStop, i32(0)).On(abi.ExportDraft, i32(0))
	return g.On(abi.ExportAccept, g.Call(abi.ImportLogprob), drop, i32(0), i32(0), g.Call(abi.ImportState), drop, i32(0))
}

// What a plugin has declined is neither called nor computed for it, in its request alone.
func TestStage_Decline_NeedsNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		declined                             []string
		prepares, foresees, logprobs, states bool
		rows                                 int // that candidates are found in
		calls                                []string
	}{
		"nothing":  {nil, true, true, true, true, 1, []string{abi.ExportPrepare, abi.ExportSample, abi.ExportAccept, abi.ExportDraft, abi.ExportStop}},
		"sample":   {[]string{abi.ExportSample}, true, true, true, true, 0, []string{abi.ExportPrepare, abi.ExportAccept, abi.ExportDraft, abi.ExportStop}},
		"accept":   {[]string{abi.ExportAccept, abi.ExportPrepare}, false, true, false, true, 1, []string{abi.ExportSample, abi.ExportDraft, abi.ExportStop}},
		"all":      {[]string{abi.ExportSample, abi.ExportAccept, abi.ExportPrepare, abi.ExportStop, abi.ExportDraft}, false, false, false, false, 0, nil},
		"required": {[]string{abi.ExportOpen, abi.ExportRun, "penstock_sampel"}, true, true, true, true, 1, []string{abi.ExportPrepare, abi.ExportSample, abi.ExportAccept, abi.ExportDraft, abi.ExportStop}},
	} {
		rows := 0
		l := hosttest.Open(t, load.New, func(o *plugin.HostOptions) {
			o.TopK = func(_ []float32, k int, ids []int32, logits []float32) int {
				rows++
				ids[0], logits[0] = 5, 1
				return 1
			}
		})
		s, err := New(hosttest.Load(t, l, declining(tc.declined...)), plugin.RequestInfo{MaxTokens: 50, ContextSize: 1000})
		if err != nil {
			t.Fatal(err)
		}
		calls := &called{}
		c := chain.New([]chain.Stage{s, &picks{}}, 100, 0)
		if err := c.Begin([]chain.Token{1}, 1); err != nil {
			t.Fatal(err)
		}
		s.Watch(calls)
		if c.Prepares() != tc.prepares || c.Foresees() != tc.foresees || c.WantsLogprobs() != tc.logprobs || len(c.StateLayers()) > 0 != tc.states {
			t.Errorf("%s: prepares %v, foresees %v, log-probabilities %v, states %v", name, c.Prepares(), c.Foresees(), c.WantsLogprobs(), len(c.StateLayers()) > 0)
		}
		if err := c.Prepare(); err != nil {
			t.Error(err)
		}
		token := draw(t, c)
		if _, err := c.Accept(0, token, nil); err != nil {
			t.Error(err)
		}
		if _, err := s.Rule().Check(token, "x"); err != nil {
			t.Error(err)
		}
		if rows != tc.rows || !slices.Equal(calls.names, tc.calls) {
			t.Errorf("%s: candidates of %d rows, calls %v; want %d and %v", name, rows, calls.names, tc.rows, tc.calls)
		}
		chain.Close(c.Stages())
	}
}

func draw(t *testing.T, c *chain.Chain) scheduler.Token {
	t.Helper()
	var row chain.Row
	row.Lend([][]float32{make([]float32, 100)}, &sync.WaitGroup{})
	defer row.Return()
	token, _, err := c.Draw(&row)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// picks is a stage that takes token 5.
type picks struct{}

func (*picks) Traits() chain.Traits                     { return chain.Traits{} }
func (*picks) Native() bool                             { return false }
func (*picks) Apply(v *chain.View) error                { v.Chosen = 5; return nil }
func (*picks) Accept(chain.Token) (chain.Effect, error) { return chain.Effect{}, nil }
func (*picks) Reset([]chain.Token, int) error           { return nil }
func (*picks) Close() error                             { return nil }

// called notes which exports are called.
type called struct{ names []string }

func (c *called) Calling(e guest.Export, _, _ int32, _ *guest.Buffers) {
	c.names = append(c.names, e.String())
}
func (*called) Answered(guest.Export, int32, *guest.Buffers) {}
func (*called) Failed(*plugin.Fault)                         {}
func (*called) Did(*plugin.Deed)                             {}
