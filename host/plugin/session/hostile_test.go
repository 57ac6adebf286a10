// SPDX-License-Identifier: MIT

package session

import (
	"context"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// What a plugin does may not fit what a file goes on with: the player says so, or ends there.
func TestPlayer_Play_OddSessions(t *testing.T) {
	tooFar := example().On(abi.ExportAccept, asm.Poke(atSplice, 9), asm.Poke(atSplice+4, 0), asm.I32(abi.AcceptSplice))
	back := example().On(abi.ExportAccept, asm.Poke(atSplice, 1), asm.Poke(atSplice+4, 0), asm.I32(abi.AcceptSplice))
	for name, tc := range map[string]struct {
		guest *asm.Guest
		calls string
		want  string // part of the difference or error; empty: neither
	}{
		"a splice that goes too far": {tooFar, `{"call":"accept","token":3,"answer":2,"splice":{"backtrack":9},"fault":{"export":"penstock_accept","kind":"answer"}}`, ""},
		"a splice before a rewind":   {back, `{"call":"accept","token":3},{"call":"accept","token":3},{"call":"rewind","keep":4}`, "keep"},
		"an answer and a fault": {example().On(abi.ExportPrepare, asm.Unreachable),
			`{"call":"prepare","answer":0,"fault":{"export":"penstock_prepare","kind":"trap"}}`, "answer: recorded 0, came none"},
		"a verdict and a fault": {example().On(abi.ExportStop, asm.Unreachable),
			`{"call":"stop","token":3,"text":"a","answer":0,"fault":{"export":"penstock_stop","kind":"trap"}}`, "answer: recorded 0, came none"},
		"a choice and a fault": {example().On(abi.ExportSample, asm.Unreachable),
			`{"call":"sample","ids":[1],"logits":[1],"answer":0,"fault":{"export":"penstock_sample","kind":"trap"}}`, "answer: recorded 0, came none"},
		"nothing shown":             {example().On(abi.ExportSample, asm.I32(-1)), `{"call":"sample"}`, "no token is left"},
		"no candidates":             {example().On(abi.ExportSample, asm.I32(-1)), `{"call":"sample","ids":[],"logits":[]}`, "no token is left"},
		"more text back than shown": {example().On(abi.ExportStop, asm.I32(abi.StopHold)), `{"call":"stop","token":3,"text":"a"},{"call":"stop_rewind","bytes":9},{"call":"stop","token":3,"text":"a"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := file(t, `"request":{"prompt":[1,2]},"calls":[{"call":"open"},`+tc.calls+`]`)
			p, err := NewPlayer(context.Background(), load.File{Content: tc.guest.Wasm()}, f, plugin.HostOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = p.Close() }() // tested elsewhere
			d, err := p.Play(context.Background(), &f.Sessions[0])
			got := ""
			switch {
			case err != nil:
				got = err.Error()
			case d != nil:
				got = d.String()
			}
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
