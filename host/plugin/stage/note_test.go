// SPDX-License-Identifier: MIT

package stage

import (
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler/chain"
)

// noting is a guest that says something of each token: n times in prepare, and once when it is told
// of it. It traps where that is not answered so.
func noting(n int, prepared, accepted string, answer int32) *asm.Guest {
	g := hosttest.Plain()
	g.Put(hosttest.AtScratch, prepared).Put(hosttest.AtScratch+1024, accepted)
	say := func(at, size int, answer int32) []byte {
		return slices.Concat(i32(at), i32(size), g.Call(abi.ImportNote), i32(int(answer)), asm.Equal, asm.EqualZero, asm.When(asm.Unreachable))
	}
	g.On(abi.ExportPrepare, slices.Concat(slices.Repeat(say(hosttest.AtScratch, len(prepared), abi.NoteOk), n)), i32(0))
	g.On(abi.ExportAccept, say(hosttest.AtScratch+1024, len(accepted), answer), i32(0))
	return g.On(abi.ExportOpen, say(hosttest.AtScratch, len(prepared), abi.NoteRefused), i32(0))
}

// A plugin's notes are in the trace of the token that they are about, and are bounded. Where nobody
// traces they are dropped.
func TestStage_Notes_AreInTheTrace(t *testing.T) {
	for name, c := range map[string]struct {
		times    int
		accepted string
		answer   int32
		want     []string
	}{
		"of two calls": {1, "banned", abi.NoteOk, []string{"likely", "banned"}},
		"too many":     {abi.LimitNotes, "banned", abi.NoteRefused, slices.Repeat([]string{"likely"}, abi.LimitNotes)},
		"too long":     {1, strings.Repeat("x", abi.LimitNoteBytes+1), abi.NoteRefused, []string{"likely"}},
		"no UTF-8":     {1, "\xff", abi.NoteRefused, []string{"likely"}},
	} {
		for _, traced := range []bool{true, false} {
			s := use(t, noting(c.times, "likely", c.accepted, c.answer), 1)
			ch := chain.New([]chain.Stage{s}, 100, 1)
			for token := range int32(3) {
				if _, err := s.Prepare(); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				var trace *chain.Trace
				if traced {
					trace = &chain.Trace{}
				}
				if _, err := ch.Accept(0, token+2, trace); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if trace == nil {
					continue
				}
				var got []string
				for _, n := range trace.Notes {
					got = append(got, n.Text)
					if n.By != "plugin:guest" {
						t.Errorf("%s: by %s", name, n.By)
					}
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("%s, token %d: %q, want %q", name, token, got, c.want)
				}
			}
		}
	}
}

// What was said of a token that does not come is said of no other.
func TestStage_Notes_GoWithTheirToken(t *testing.T) {
	s := use(t, noting(1, "likely", "taken", abi.NoteOk), 1)
	c := chain.New([]chain.Stage{s}, 100, 1)
	if _, err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	if err := s.Reset([]chain.Token{1}, 1); err != nil {
		t.Fatal(err)
	}
	var trace chain.Trace
	if _, err := c.Accept(0, 2, &trace); err != nil || len(trace.Notes) != 1 || trace.Notes[0].Text != "taken" {
		t.Errorf("%v, %v", trace.Notes, err)
	}
}

// Lines that a plugin logs of a token are in its trace, too, and take no room from its notes.
func TestStage_Notes_HaveTheLog(t *testing.T) {
	long := strings.Repeat("x", abi.LimitNoteBytes) + "y"
	g := hosttest.Plain()
	g.Put(hosttest.AtScratch, long)
	line := slices.Concat(i32(abi.LogInfo), i32(hosttest.AtScratch), i32(len(long)), g.Call(abi.ImportLog))
	g.On(abi.ExportPrepare, slices.Concat(slices.Repeat(line, abi.LimitNotes+1)), i32(0))
	g.On(abi.ExportAccept, i32(hosttest.AtScratch), i32(3), g.Call(abi.ImportNote), asm.Drop, i32(0))
	s := use(t, g, 1)
	if _, err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	var trace chain.Trace
	if _, err := chain.New([]chain.Stage{s}, 100, 1).Accept(0, 2, &trace); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range trace.Notes {
		got = append(got, n.Text)
	}
	want := append([]string{"xxx"}, slices.Repeat([]string{long[:abi.LimitNoteBytes]}, abi.LimitNotes)...)
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// A plan without notes has none in the trace, also where the plugin's log is.
func TestStage_Notes_ThatAPlanDoesNotNeed(t *testing.T) {
	g := hosttest.Plain().Put(hosttest.AtScratch, "likely").Put(hosttest.AtScratch+1024, `{"needs":[]}`)
	g.On(abi.ExportPlan, i32(hosttest.AtScratch+1024), i32(12), g.Call(abi.ImportEmit), i32(0))
	g.On(abi.ExportPrepare, i32(abi.LogInfo), i32(hosttest.AtScratch), i32(6), g.Call(abi.ImportLog), i32(0))
	g.On(abi.ExportAccept, i32(hosttest.AtScratch), i32(3), g.Call(abi.ImportNote)) // which answers 0, as accept may
	p, err := hosttest.Load(t, hosttest.Open(t, load.New), g).With(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Release)
	s, err := New(p, plugin.RequestInfo{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Reset([]chain.Token{1}, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	var trace chain.Trace
	if _, err := chain.New([]chain.Stage{s}, 100, 1).Accept(0, 2, &trace); err != nil || len(trace.Notes) != 1 || trace.Notes[0].Text != "likely" {
		t.Errorf("%v, %v", trace.Notes, err)
	}
}
