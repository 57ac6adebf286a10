// SPDX-License-Identifier: MIT

package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

// A chain calls a recorder and not the stage within it, also for what a stage's traits say.
func TestRecorder_Chain_WritesDownWhatTheChainCalls(t *testing.T) {
	g := example().On(abi.ExportPrepare, asm.I32(0)).On(abi.ExportSample, asm.I32(6))
	s := must.Get(stage.New(hosttest.Load(t, hosttest.Open(t, load.New), g), plugin.RequestInfo{Skip: true}))(t)
	var calls []string
	r := Record(s, func([]Token) {}, func(c Call) bool {
		calls = append(calls, c.Call)
		return true
	})
	c := chain.New([]chain.Stage{r}, 100, 0)
	defer chain.Close(c.Stages())
	must.Do(t, c.Begin([]chain.Token{1}, 1))
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
	s := must.Get(stage.New(hosttest.Load(t, hosttest.Open(t, load.New), declining()), plugin.RequestInfo{}))(t)
	var calls []Call
	r := Record(s, func([]Token) {}, func(c Call) bool { calls = append(calls, c); return true })
	defer func() { _ = r.Close() }()
	must.Do(t, r.Reset([]chain.Token{1}, 1))
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

// planning is a guest whose plan leaves out sample, asks for tokens, opens a grammar and leaves the
// first token in memory, by which prepare answers. A configuration that is not {} is refused.
func planning(text string) *asm.Guest {
	const at, tokens = 4096, 4300
	g := asm.New(`{"name":"guest"}`).Put(at, text).Put(at+64, `{"implements":["penstock_prepare"]}`).Put(at+128, "no such rule")
	g.On(abi.ExportPlan, asm.I32(0), asm.I32(0), g.Call(abi.ImportConfig), asm.I32(2), asm.Subtract,
		asm.When(asm.I32(at+128), asm.I32(12), g.Call(abi.ImportFail), asm.I32(1), asm.Return),
		asm.I32(at), asm.I32(len(text)), asm.I32(0), asm.I32(tokens), asm.I32(8), g.Call(abi.ImportTokenize), asm.Drop,
		asm.I32(0), asm.I32(at), asm.I32(len(text)), g.Call(abi.ImportGrammarOpen), asm.Drop,
		asm.I32(at+64), asm.I32(35), g.Call(abi.ImportEmit), asm.I32(0))
	return g.On(abi.ExportSample, asm.Unreachable).On(abi.ExportPrepare, asm.I32(tokens), asm.Load, asm.I32(0), asm.Multiply)
}

func TestRecorder_Plan_IsReplayed(t *testing.T) {
	p := hosttest.Load(t, hosttest.Open(t, load.New), planning("hello"))
	planned, err := p.With(t.Context(), "me", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer planned.Release()
	s := must.Get(stage.New(planned, plugin.RequestInfo{}))(t)
	f := file(t, `"request":{"prompt":[1]},"calls":[]`)
	f.Sessions[0].Plan = New(planned, plugin.RequestInfo{}).Plan
	r := Record(s, func([]Token) {}, func(c Call) bool {
		f.Sessions[0].Calls = append(f.Sessions[0].Calls, c)
		return true
	})
	must.Do(t, r.Reset([]Token{1}, 1))
	must.Get(r.Prepare())(t)
	must.Do(t, r.Close())
	var did []string
	for _, d := range f.Sessions[0].Plan {
		did = append(did, d.Do)
	}
	if got := strings.Join(did, " "); got != "tokenize grammar_open" {
		t.Errorf("the plan did %s", got)
	}
	var b bytes.Buffer
	must.Do(t, f.Stream(&b))
	text := b.String()
	if f, err = Read(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if d := play(t, f, planning("hello").Wasm()); d != nil {
		t.Error(d)
	}
	player := must.Get(NewPlayer(t.Context(), load.File{Content: planning("another").Wasm()}, f, plugin.HostOptions{}))(t)
	defer func() { _ = player.Close() }()
	if _, err := player.Play(t.Context(), &f.Sessions[0]); err == nil || !strings.Contains(err.Error(), `the plan for request.config: it has "another" tokenized`) {
		t.Errorf("a plan that asks for something else: %v", err)
	}
	if _, err := Read(strings.NewReader(strings.Replace(text, `"do":"tokenize"`, `"do":"telepathy"`, 1))); err == nil || !strings.Contains(err.Error(), "plan[0]") {
		t.Errorf("a file with an unknown deed: %v", err)
	}
}

// What a plan refuses is how the session's first call comes out.
func TestPlayer_Play_RefusedPlan(t *testing.T) {
	for calls, want := range map[string]string{
		`{"call":"open","refusal":"no such rule"}`: "",
		`{"call":"open"},{"call":"prepare"}`:       `call 1, open, at answer token 1 (position 0): refusal: recorded none, came "no such rule"`,
	} {
		d := play(t, file(t, `"request":{"config":{"a":1}},"calls":[`+calls+`]`), planning("x").Wasm())
		if (d == nil) != (want == "") || d != nil && d.String() != want {
			t.Errorf("%s: %v, want %q", calls, d, want)
		}
	}
	faulty := hosttest.Plain().Put(4096, "x is null")
	faulty.On(abi.ExportPlan, asm.I32(4096), asm.I32(9), faulty.Call(abi.ImportFail), asm.Unreachable)
	if d := play(t, file(t, `"calls":[{"call":"open","fault":{"export":"penstock_plan","kind":"error"}}]`), faulty.Wasm()); d != nil {
		t.Error(d)
	}
	f := file(t, `"calls":[{"call":"open"}]`)
	p := must.Get(NewPlayer(t.Context(), load.File{Content: faulty.Wasm()}, f, plugin.HostOptions{}))(t)
	defer func() { _ = p.Close() }()
	if changed, err := p.Update(t.Context(), &f.Sessions[0]); err != nil || changed != 1 {
		t.Errorf("%d changed, %v", changed, err)
	}
	if text, err := json.Marshal(f.Sessions[0].Calls); err != nil || string(text) != `[{"call":"open","fault":{"export":"penstock_plan","kind":"error","detail":"x is null"}}]` {
		t.Errorf("%s, %v", text, err)
	}
}

// A request that went on without a plugin, since its plan had a fault, is replayed so.
func TestRecorder_Skipped_IsReplayed(t *testing.T) {
	faulty := hosttest.Plain().On(abi.ExportPlan, asm.Unreachable).On(abi.ExportAccept, asm.I32(0))
	p := hosttest.Load(t, hosttest.Open(t, load.New), faulty)
	_, err := p.With(t.Context(), "me", nil)
	var fault *plugin.Fault
	if !errors.As(err, &fault) {
		t.Fatal(err)
	}
	skipped := must.Get(p.Skipped(fault))(t)
	defer skipped.Release()
	s := must.Get(stage.New(skipped, plugin.RequestInfo{Skip: true}))(t)
	f := file(t, `"request":{"prompt":[1]},"calls":[]`)
	r := Record(s, func([]Token) {}, func(c Call) bool {
		f.Sessions[0].Calls = append(f.Sessions[0].Calls, c)
		return true
	})
	must.Do(t, r.Reset([]Token{1}, 1))
	must.Get(r.Accept(2))(t)
	must.Do(t, r.Close())
	if calls := f.Sessions[0].Calls; len(calls) != 1 || calls[0].Call != CallOpen || calls[0].Fault == nil || calls[0].Fault.Export != abi.ExportPlan {
		t.Errorf("%+v", calls)
	}
	if d := play(t, f, faulty.Wasm()); d != nil {
		t.Error(d)
	}
}

// Questions of earlier files are read as the deeds that a recorder would write now, but for the
// fuel and how much room there was.
func TestRead_Questions_AreDeeds(t *testing.T) {
	for question, deed := range map[string]string{
		`{"import":"tokenize","text":"hi","flags":2,"tokens":[3,4]}`:                `{"do":"tokenize","args":[2,2,0],"text":"hi","answer":2,"got":{"tokens":[3,4]}}`,
		`{"import":"tokenize","text":"hi","error":"no"}`:                            `{"do":"tokenize","args":[2,0,0],"text":"hi","answer":-1,"error":"no"}`,
		`{"import":"grammar_open","kind":1,"text":"{}"}`:                            `{"do":"grammar_open","args":[1,2],"text":"{}","answer":-2147483648}`,
		`{"import":"grammar_open","text":"x","error":"no"}`:                         `{"do":"grammar_open","args":[0,1],"text":"x","answer":-1,"error":"no"}`,
		`{"import":"grammar_mask","handle":1,"mask":{"allow":[7]}}`:                 `{"do":"grammar_mask","args":[-2147483648],"got":{"mask":{"allow":[7]}}}`,
		`{"import":"grammar_mask_within","handle":1,"count":9,"ok":true,"mask":{}}`: `{"do":"grammar_mask_within","args":[-2147483648,9],"got":{"mask":{}}}`,
		`{"import":"grammar_mask_within","count":1,"mask":{"allow":[]}}`:            `{"do":"grammar_mask_within","args":[-2147483648,1],"answer":-2,"got":{"mask":{"allow":[]}}}`,
		`{"import":"grammar_rest","count":12}`:                                      `{"do":"grammar_rest","args":[-2147483648],"answer":12}`,
		`{"import":"grammar_rest","ok":true}`:                                       `{"do":"grammar_rest","args":[-2147483648],"answer":-1}`,
		`{"import":"grammar_rest","error":"no"}`:                                    `{"do":"grammar_rest","args":[-2147483648],"answer":-2,"error":"no"}`,
		`{"import":"grammar_accept","token":5,"ok":true}`:                           `{"do":"grammar_accept","args":[-2147483648,5]}`,
		`{"import":"grammar_accept","token":5}`:                                     `{"do":"grammar_accept","args":[-2147483648,5],"answer":-1}`,
		`{"import":"part","count":1}`:                                               `{"do":"part","answer":1}`,
		`{"import":"prompt","text":"<s>"}`:                                          `{"do":"prompt","answer":3,"got":{"text":"<s>"}}`,
		`{"import":"prompt","error":"no"}`:                                          `{"do":"prompt","answer":-1,"error":"no"}`,
		`{"import":"state","count":2,"state":[0.5,3]}`:                              `{"do":"state","args":[0],"answer":2,"got":{"numbers":[0.5,3]}}`,
		`{"import":"request","sampling":{"top_k":4}}`:                               `{"do":"request","got":{"text":"{\"sampling\":{\"top_k\":4}}"}}`,
	} {
		was, is := file(t, `"warm":[`+question+`],"calls":[{"call":"open","asked":[`+question+`]}]`), file(t, `"warm":[`+deed+`],"calls":[{"call":"open","deeds":[`+deed+`]}]`)
		if d := cmp.Diff(is, was); d != "" {
			t.Errorf("%s:\n%s", question, d)
		}
	}
}

// Earlier files count handles of grammars anew after a rewind, whether or not the plugin's instance
// did. The plugin gets handles of its own.
func TestPlayer_Play_Questions_GrammarsAfterARewind(t *testing.T) {
	g := example()
	g.Put(4096, "x")
	g.On(abi.ExportPrepare, asm.I32(0), asm.I32(4096), asm.I32(1), g.Call(abi.ImportGrammarOpen), g.Call(abi.ImportGrammarMask), asm.Drop, asm.I32(abi.PrepareMask))
	g.On(abi.ExportRewind, asm.I32(0))
	const asked = `{"call":"prepare","answer":1,"mask":{"allow":[7]},"asked":[{"import":"grammar_open","text":"x"},{"import":"grammar_mask","handle":0,"mask":{"allow":[7]}}]}`
	for _, second := range []string{"0", "1"} {
		f := file(t, `"calls":[{"call":"open"},`+asked+`,{"call":"rewind","keep":0},`+strings.Replace(asked, `"handle":0`, `"handle":`+second, 1)+`]`)
		if d := play(t, f, g.Wasm()); d != nil {
			t.Errorf("handle %s: %v", second, d)
		}
	}
}

// A call of a host function that has ended the plugin's call ends it again, also of one that the
// player answers by itself.
func TestPlayer_Play_FailedDeeds(t *testing.T) {
	g := example()
	g.On(abi.ExportPrepare, asm.I32(4300), asm.I32(8), g.Call(abi.ImportRequest), asm.Drop, asm.I32(0))
	d := play(t, file(t, `"calls":[{"call":"open"},{"call":"prepare","deeds":[{"do":"request","args":[8],"failed":true}],"fault":{"export":"penstock_prepare","kind":"fuel"}}]`), g.Wasm())
	if d != nil {
		t.Error(d)
	}
}

// What is recorded of host functions is replayed, also from a file, and a plugin that asks for
// something else differs.
func TestRecorder_Deeds_AreReplayed(t *testing.T) {
	asks := func(token int) *asm.Guest {
		g := example()
		g.Put(4096, "hel\xc3o") // which is no UTF-8
		g.On(abi.ExportPrepare,
			asm.I32(4096), asm.I32(5), asm.I32(0), asm.I32(4200), asm.I32(0), g.Call(abi.ImportTokenize), asm.Drop,
			asm.I32(0), asm.I32(4096), asm.I32(5), g.Call(abi.ImportGrammarOpen), asm.Drop,
			asm.I32(4300), asm.I32(64), g.Call(abi.ImportGrammarReason), asm.Drop,
			asm.I32(0), g.Call(abi.ImportGrammarMask), asm.Drop,
			asm.I32(0), asm.I32(token), g.Call(abi.ImportGrammarAccept), asm.Drop,
			g.Call(abi.ImportPart), asm.Drop, asm.I32(4400), asm.I32(8), g.Call(abi.ImportState), asm.Drop,
			asm.I32(4300), asm.LoadByte) // the answer depends on the reason
		return g
	}
	s, err := stage.New(hosttest.Load(t, hosttest.Open(t, load.New), asks(3)), plugin.RequestInfo{})
	if err != nil {
		t.Fatal(err)
	}
	f := file(t, `"request":{"prompt":[1]},"calls":[]`)
	r := Record(s, func([]Token) {}, func(c Call) bool {
		f.Sessions[0].Calls = append(f.Sessions[0].Calls, c)
		return true
	})
	must.Do(t, r.Reset([]Token{1}, 1))
	_, _ = r.Prepare() // what it answers is a fault, which is recorded
	must.Do(t, r.Close())
	var did []string
	for _, d := range f.Sessions[0].Calls[1].Deeds {
		did = append(did, d.Do)
	}
	if got := strings.Join(did, " "); got != "tokenize grammar_open grammar_reason grammar_mask grammar_accept part state" {
		t.Errorf("%s", got)
	}
	var b bytes.Buffer
	must.Do(t, f.Stream(&b))
	if f, err = Read(&b); err != nil {
		t.Fatal(err)
	}
	if d := play(t, f, asks(3).Wasm()); d != nil {
		t.Error(d)
	}
}
