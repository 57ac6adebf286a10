// SPDX-License-Identifier: MIT

package session

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

const (
	atMask   = hosttest.AtBuffer + 1024
	atBias   = hosttest.AtBuffer + 2048
	atSplice = hosttest.AtBuffer + 3072
	atText   = hosttest.AtBuffer + 4096
)

// example has all buffers.
func example() *asm.Guest {
	g := asm.New(`{"name":"guest","hold":4}`)
	return g.On(abi.ExportOpen, g.Bind(abi.BufferCandidates, hosttest.AtBuffer, 8*8), g.Bind(abi.BufferMask, atMask, 8), g.Bind(abi.BufferBias, atBias, 4+8*2),
		g.Bind(abi.BufferSplice, atSplice, 8+4*2), g.Bind(abi.BufferText, atText, 256), asm.I32(0))
}

// declining declines sample.
func declining() *asm.Guest {
	g := asm.New(`{"name":"guest"}`).Put(hosttest.AtScratch, abi.ExportSample)
	g.On(abi.ExportOpen, asm.I32(hosttest.AtScratch), asm.I32(len(abi.ExportSample)), g.Call(abi.ImportDecline))
	return g.On(abi.ExportSample, asm.Unreachable).On(abi.ExportAccept, asm.I32(0))
}

// mustDiffer checks that the text of a difference has some words; "": there is none.
func mustDiffer(t *testing.T, d *Difference, want string) {
	t.Helper()
	if (d == nil) != (want == "") || d != nil && !strings.Contains(d.String(), want) {
		t.Errorf("got %v, want %q", d, want)
	}
}

func TestPlayer_Play_FirstDifference(t *testing.T) {
	// The second of the candidates is banned: its logit lies after 8 ids and one logit.
	ban := slices.Concat(asm.PokeF(hosttest.AtBuffer+36, float32(notFinite["-inf"])), asm.I32(-1))
	shown := `{"call":"open"},{"call":"sample","ids":[5,6,7],"logits":[3,2,1]`
	for name, tc := range map[string]struct {
		guest *asm.Guest
		calls string
		want  string // part of the difference; empty: none
	}{
		"a choice":             {example().On(abi.ExportSample, asm.I32(6)), shown + `,"answer":6}`, ""},
		"another choice":       {example().On(abi.ExportSample, asm.I32(6)), shown + `,"answer":7}`, `call 2, sample, at answer token 1 (position 2): answer: recorded token 7 "x", came token 6 "x"`},
		"declined":             {declining(), `{"call":"open","declined":["penstock_sample"]},{"call":"accept","token":5,"answer":0}`, ""},
		"not declined":         {declining(), `{"call":"open","declined":[]}`, "declined: recorded none, came penstock_sample"},
		"no more declined":     {example().On(abi.ExportSample, asm.I32(6)), `{"call":"open","declined":["penstock_sample"]}`, "declined: recorded penstock_sample, came none"},
		"a declined answer":    {declining(), shown + `,"answer":6}`, "none: the plugin has no such export, or declined it"},
		"edited":               {example().On(abi.ExportSample, ban), shown + `,"answer":-1,"left":{"ids":[5,6,7],"logits":[3,"-inf",1]}}`, ""},
		"one more is left":     {example().On(abi.ExportSample, ban), shown + `,"answer":-1,"left":{"ids":[5,6,7],"logits":[3,2,1]}}`, `candidate 2 of those left: recorded token 6 "x" with logit 2, came token 7 "x" with logit 1`},
		"one less is left":     {example().On(abi.ExportSample, ban), shown + `,"answer":-1,"left":{"ids":[5],"logits":[3]}}`, `recorded none, 1 are left, came token 7 "x" with logit 1`},
		"kept, not edited":     {example().On(abi.ExportSample, asm.I32(-3)), shown + `,"answer":-1,"left":{"ids":[5,6,7],"logits":[3,2,"-inf"]}}`, ""},
		"edited, not kept":     {example().On(abi.ExportSample, ban), shown + `,"answer":-3}`, "candidate 2"},
		"only the answer":      {example().On(abi.ExportSample, ban), shown + `,"answer":-1}`, ""},
		"not compared":         {example().On(abi.ExportSample, ban), shown + `}`, ""},
		"no such export":       {example(), shown + `,"answer":6}`, "the plugin has no such export"},
		"a fault that is new":  {example().On(abi.ExportSample, asm.Unreachable), shown + `,"answer":6}`, "fault: recorded none, came trap in penstock_sample"},
		"the fault":            {example().On(abi.ExportSample, asm.Unreachable), shown + `,"fault":{"export":"penstock_sample","kind":"trap"}}`, ""},
		"no fault any more":    {example().On(abi.ExportSample, asm.I32(6)), shown + `,"fault":{"export":"penstock_sample","kind":"trap"}}`, "recorded trap in penstock_sample, came none"},
		"a fault of a machine": {example().On(abi.ExportSample, asm.I32(6)), shown + `,"fault":{"export":"penstock_sample","kind":"time"}}`, ""},
		"a wrong answer":       {example().On(abi.ExportSample, asm.I32(99)), shown + `,"answer":99,"fault":{"export":"penstock_sample","kind":"answer"}}`, ""},
		"a mask": {example().On(abi.ExportPrepare, asm.Poke(atMask, 0x60), asm.I32(abi.PrepareMask)),
			`{"call":"open"},{"call":"prepare","answer":1,"mask":{"allow":[5,6]}}`, ""},
		"another mask": {example().On(abi.ExportPrepare, asm.Poke(atMask, 0x60), asm.I32(abi.PrepareMask)),
			`{"call":"open"},{"call":"accept","token":3},{"call":"prepare","answer":1,"mask":{"allow":[5,7]}}`,
			`at answer token 2 (position 3): mask: recorded token 6 "x" may not come, came token 6 "x" may come`},
		"a bias": {example().On(abi.ExportPrepare, asm.Poke(atBias, 1), asm.Poke(atBias+4, 9), asm.PokeF(atBias+8, 1.5), asm.I32(abi.PrepareBias)),
			`{"call":"open"},{"call":"prepare","answer":2,"bias":[[9,1.5]]}`, ""},
		"another bias": {example().On(abi.ExportPrepare, asm.Poke(atBias, 1), asm.Poke(atBias+4, 9), asm.PokeF(atBias+8, 1.5), asm.I32(abi.PrepareBias)),
			`{"call":"open"},{"call":"prepare","answer":2,"bias":[[9,"-inf"]]}`, `bias: recorded token 9 "x" "-inf", came token 9 "x" 1.5`},
		"a forced token": {example().On(abi.ExportPrepare, asm.Poke(atSplice, 0), asm.Poke(atSplice+4, 1), asm.Poke(atSplice+8, 4), asm.I32(abi.PrepareForce)),
			`{"call":"open"},{"call":"prepare","answer":4,"force":[3]}`, `force: recorded token 3 "x", came token 4 "x"`},
		"nothing prepared": {example().On(abi.ExportPrepare, asm.I32(0)), `{"call":"open"},{"call":"prepare","answer":1}`, "answer: recorded 1 mask, came 0"},
		"a splice": {example().On(abi.ExportAccept, asm.Local(0), asm.I32(9), asm.Equal, asm.When(asm.Poke(atSplice, 1), asm.Poke(atSplice+4, 1), asm.Poke(atSplice+8, 4), asm.I32(2), asm.Return), asm.I32(0)),
			`{"call":"open"},{"call":"accept","token":9,"answer":2,"splice":{"backtrack":1,"tokens":[4]}},{"call":"accept","token":4,"answer":0},{"call":"accept","token":5,"answer":1}`,
			"call 4, accept, at answer token 2 (position 3): answer: recorded 1, stop, came 0, go on"},
		"another splice": {example().On(abi.ExportAccept, asm.Poke(atSplice, 1), asm.Poke(atSplice+4, 1), asm.Poke(atSplice+8, 4), asm.I32(2)),
			`{"call":"open"},{"call":"accept","token":9,"answer":2,"splice":{"backtrack":0,"tokens":[4]}}`, `splice: recorded 0 back, then token 4 "x", came 1 back`},
		"stop":         {example().On(abi.ExportStop, asm.I32(-3)), `{"call":"open"},{"call":"stop","token":3,"text":"abc","answer":1}`, "answer: recorded 1, end, came -3, end after 2 bytes"},
		"text is back": {example().On(abi.ExportStop, asm.I32(3)), `{"call":"open"},{"call":"stop","token":3,"text":"abc","answer":3},{"call":"stop_rewind","bytes":2},{"call":"stop","token":3,"text":"d","answer":3}`, ""},
		"time passes":  {inTime(), `{"call":"open"},{"call":"accept","token":3,"answer":0,"deeds":[{"do":"elapsed","answer":1000}]},{"call":"accept","token":3,"answer":1,"deeds":[{"do":"elapsed","answer":1001}]}`, ""},
		"it goes on":   {inTime(), `{"call":"open"},{"call":"accept","token":3,"answer":1,"deeds":[{"do":"elapsed","answer":2000}]},{"call":"accept","token":3,"answer":1}`, ""},
		"it does not":  {inTime(), `{"call":"open"},{"call":"accept","token":3,"answer":0},{"call":"accept","token":3,"answer":1}`, "answer: recorded 1, stop, came 0, go on"},
		"a refusal":    {asm.New(`{"name":"guest","view":"none"}`).On(abi.ExportOpen, asm.I32(1)), `{"call":"open","answer":null}`, `refusal: recorded none, came ""`},
		"rewound": {example().On(abi.ExportRewind, asm.Local(0), asm.I32(3), asm.Equal, asm.When(asm.I32(0), asm.Return), asm.Unreachable),
			`{"call":"open"},{"call":"accept","token":3},{"call":"accept","token":4},{"call":"rewind","keep":3},{"call":"rewind","keep":2}`, "call 5, rewind, at answer token 2 (position 3): fault"},
		"refused by the request": {example().On(abi.ExportSample, asm.I32(6)), shown + `,"answer":6},{"call":"refuse","fault":{"export":"penstock_sample","kind":"conflict"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := play(t, file(t, `"request":{"prompt":[1,2]},"calls":[`+tc.calls+`]`), tc.guest.Wasm())
			mustDiffer(t, d, tc.want)
		})
	}
}

// inTime ends the answer once more than a second has passed.
func inTime() *asm.Guest {
	g := example()
	return g.On(abi.ExportAccept, asm.I32(1000), g.Call(abi.ImportElapsed), asm.Less)
}

// A call that was shown the whole row is repeated with the whole row, and what it left is compared.
func TestPlayer_Play_WholeRow(t *testing.T) {
	g := asm.New(`{"name":"guest","view":"logits"}`)
	g.On(abi.ExportOpen, g.Bind(abi.BufferLogits, hosttest.AtBuffer, 4*40), asm.I32(0))
	g.On(abi.ExportSample, asm.Poke(hosttest.AtBuffer+4, 0), asm.I32(abi.SampleEdited))
	row := "[0,5" + strings.Repeat(",0", 38) + "]"
	for left, want := range map[string]string{
		"[" + strings.TrimPrefix(strings.Repeat(",0", 40), ",") + "]": "",
		row: `candidate 2 of those left: recorded token 1 "x" with logit 5, came token 1 "x" with logit 0`,
	} {
		d := play(t, file(t, `"calls":[{"call":"open"},{"call":"sample","logits":`+row+`,"answer":-1,"left":{"logits":`+left+`}}]`), g.Wasm())
		if (d == nil) != (want == "") || d != nil && !strings.Contains(d.String(), want) {
			t.Errorf("got %v, want %q", d, want)
		}
	}
}

// A digest stands for a row that is too long to read.
func TestPlayer_Play_DigestOfARow(t *testing.T) {
	row := make(Logits, readable+1)
	row[7] = 9
	left := leftRow(row)
	row[7] = 8
	other := leftRow(row)
	edited := int32(abi.SampleEdited)
	was := &Call{Answer: &edited, Left: left}
	if d := (&Player{file: &File{}}).differLeft(was, was); d != nil {
		t.Errorf("got %v", d)
	}
	d := (&Player{file: &File{}}).differLeft(was, &Call{Answer: &edited, Left: other})
	if d == nil || !strings.Contains(d.String(), "candidate 1 of those left of the row, by logit: recorded token 7 with logit 9, came token 7 with logit 8") {
		t.Errorf("got %v", d)
	}
}

func TestPlayer_Play_HostsAnswers(t *testing.T) {
	g := example()
	g.Put(4096, "hello")
	g.On(abi.ExportStop, asm.I32(4096), asm.I32(5), asm.I32(0), asm.I32(4200), asm.I32(8), g.Call(abi.ImportTokenize), asm.Drop, asm.I32(4200), asm.Load, asm.I32(11), asm.Equal)
	g.On(abi.ExportPrepare, asm.I32(0), asm.I32(4096), asm.I32(5), g.Call(abi.ImportGrammarOpen), g.Call(abi.ImportGrammarMask), asm.Drop, asm.I32(abi.PrepareMask))
	grammar := `"asked":[{"import":"grammar_open","text":"hello"},{"import":"grammar_mask","mask":{"allow":[7]}}]`
	for name, tc := range map[string]struct{ calls, want string }{
		"tokens":           {`{"call":"stop","token":3,"text":"","answer":1,"asked":[{"import":"tokenize","text":"hello","tokens":[11]}]}`, ""},
		"no answer":        {`{"call":"stop","token":3,"text":"","answer":1}`, `it has "hello" tokenized with flags 0, which the session does not tell`},
		"a grammar's mask": {`{"call":"prepare","answer":1,"mask":{"allow":[7]},` + grammar + `}`, ""},
		"another mask":     {`{"call":"prepare","answer":1,"mask":{"allow":[8]},` + grammar + `}`, "mask: recorded token 7 \"x\" may not come"},
		"no such grammar":  {`{"call":"prepare","answer":1}`, `it asks for the grammar "hello"; in the session it does not`},
		"another grammar":  {`{"call":"prepare","answer":1,"asked":[{"import":"grammar_open","text":"bye"}]}`, `in the session it asks for the grammar "bye"`},
	} {
		t.Run(name, func(t *testing.T) {
			d := play(t, file(t, `"calls":[{"call":"open"},`+tc.calls+`]`), g.Wasm())
			mustDiffer(t, d, tc.want)
		})
	}
}

// What a plugin asked about how a text can be completed is answered again.
func TestPlayer_Play_Completion(t *testing.T) {
	g := example()
	g.Put(4096, "hello")
	g.On(abi.ExportPrepare, asm.I32(0), asm.I32(4096), asm.I32(5), g.Call(abi.ImportGrammarOpen), asm.I32(9), g.Call(abi.ImportGrammarMaskWithin), asm.Drop,
		asm.I32(0), g.Call(abi.ImportGrammarRest), asm.I32(12), asm.Equal)
	const opened, within, rest = `{"import":"grammar_open","text":"hello"}`, `{"import":"grammar_mask_within","count":9,"ok":true,"mask":{"allow":[7]}}`, `{"import":"grammar_rest","count":12}`
	for name, tc := range map[string]struct{ asked, want string }{
		"as it was":         {opened + "," + within + "," + rest, ""},
		"of another number": {opened + "," + strings.Replace(within, "9", "8", 1) + "," + rest, "grammar_mask_within(0, 9)"},
		"another mask":      {opened + "," + strings.Replace(within, "[7]", "[8]", 1) + "," + rest, "may not come"},
		"another rest":      {opened + "," + within + "," + strings.Replace(rest, "12", "11", 1), "answer"},
		"not asked":         {opened + "," + within, "grammar_rest(0)"},
	} {
		t.Run(name, func(t *testing.T) {
			d := play(t, file(t, `"calls":[{"call":"open"},{"call":"prepare","answer":1,"mask":{"allow":[7]},"asked":[`+tc.asked+`]}]`), g.Wasm())
			mustDiffer(t, d, tc.want)
		})
	}
}

func TestPlayer_Play_Template(t *testing.T) {
	g := asm.New(`{"name":"guest"}`)
	g.Put(4096, "hello world")
	g.On(abi.ExportTemplate, asm.I32(4096), asm.I32(11), g.Call(abi.ImportEmit), asm.I32(0))
	if d := play(t, file(t, `"request":{"messages":[]},"calls":[{"call":"render","prompt":"hello world"}]`), g.Wasm()); d != nil {
		t.Error(d)
	}
	d := play(t, file(t, `"calls":[{"call":"render","prompt":"hello frog"}]`), g.Wasm())
	if d == nil || d.Field != "prompt, byte 6" {
		t.Errorf("got %v", d)
	}
}

func TestPlayer_Play_WhatCannotBe(t *testing.T) {
	g := asm.New(`{"name":"guest","config_schema":{"required":["x"]}}`)
	f := file(t, `"calls":[{"call":"open"}]`)
	p := must.Get(NewPlayer(context.Background(), load.File{Content: g.Wasm()}, f, plugin.HostOptions{}))(t)
	defer func() { _ = p.Close() }() // tested elsewhere
	if _, err := p.Play(context.Background(), &f.Sessions[0]); err == nil || !strings.Contains(err.Error(), "request.config") {
		t.Errorf("got %v", err)
	}
	if _, err := NewPlayer(context.Background(), load.File{Content: []byte("no module")}, f, plugin.HostOptions{}); err == nil {
		t.Error("what is no module was loaded")
	}
}

// Where a long step of a program ends is a part of the format.
func TestPlayer_Play_LongSteps(t *testing.T) {
	g := asm.New(`{"name":"guest","branches":1}`)
	var run [][]byte
	for range 300 {
		run = append(run, asm.I32(0), g.Call(abi.ImportBranchClose), asm.Drop)
	}
	g.On(abi.ExportRun, append(run, asm.I32(0))...)
	deeds := func(n int) string {
		return `"deeds":[` + strings.Repeat(`{"do":"branch_close","args":[0],"answer":-1},`, n-1) + `{"do":"branch_close","args":[0],"answer":-1}]`
	}
	for last, want := range map[int]string{47: "", 46: "recorded none, came branch_close"} {
		d := play(t, file(t, `"calls":[{"call":"open"},{"call":"step",`+deeds(253)+`},{"call":"run",`+deeds(last)+`,"answer":0}]`), g.Wasm())
		if (d == nil) != (want == "") || d != nil && !strings.Contains(d.String(), want) {
			t.Errorf("with %d deeds after the step: %v, want %q", last, d, want)
		}
	}
}

// A text that is longer than the plugin's buffer comes in several calls of the guest.
func TestPlayer_Play_LongText(t *testing.T) {
	g := example().On(abi.ExportStop, asm.I32(abi.StopShow))
	if d := play(t, file(t, `"calls":[{"call":"open"},{"call":"stop","token":3,"text":"`+strings.Repeat("x", 300)+`","answer":0}]`), g.Wasm()); d != nil {
		t.Error(d)
	}
}

// What is left is compared also where the file does not say that the sampler has edited.
func TestPlayer_Play_LeftAlone(t *testing.T) {
	g := example().On(abi.ExportSample, asm.I32(abi.SampleEdited))
	d := play(t, file(t, `"calls":[{"call":"open"},{"call":"sample","ids":[1,2],"logits":[2,1],"left":{"ids":[5],"logits":[9]}}]`), g.Wasm())
	if d == nil || !strings.Contains(d.String(), "candidate 1 of those left") {
		t.Error(d)
	}
}

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
			p := must.Get(NewPlayer(context.Background(), load.File{Content: tc.guest.Wasm()}, f, plugin.HostOptions{}))(t)
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
