// SPDX-License-Identifier: MIT

package session

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

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
	if err := r.Reset([]Token{1}, 1); err != nil {
		t.Fatal(err)
	}
	_, _ = r.Prepare() // what it answers is a fault, which is recorded
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	var did []string
	for _, d := range f.Sessions[0].Calls[1].Deeds {
		did = append(did, d.Do)
	}
	if got := strings.Join(did, " "); got != "tokenize grammar_open grammar_reason grammar_mask grammar_accept part state" {
		t.Errorf("%s", got)
	}
	var b bytes.Buffer
	if err := f.Stream(&b); err != nil {
		t.Fatal(err)
	}
	if f, err = Read(&b); err != nil {
		t.Fatal(err)
	}
	if d := play(t, f, asks(3).Wasm()); d != nil {
		t.Error(d)
	}
}
