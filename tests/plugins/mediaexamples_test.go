// SPDX-License-Identifier: MIT

package plugins

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/plugin/session"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// forExamples is what the examples cannot do without.
var forExamples = map[string]string{
	"answer-length": `{"tokens":8}`, "reasoning-budget": `{"tokens":8}`, "banned-phrases": `{"phrases":["a","e","ab"]}`, "regex-stop": `{"pattern":"never ever"}`,
	"multiple-choice": `{"choices":["green frog","not very old"]}`, "watermark": `{"key":"5f1d7a84db00d2fce00b31a7fc73224f5f1d7a84db00d2fce00b31a7fc73224f","scheme":"green"}`, "grammar": `{"grammar":"root ::= [a-z]+"}`,
	"choice": `{"choices":["green frog","not very old"]}`, "form": `{"template":"Who: {who}\nWhere: {where}\n"}`, "smc": `{"without":"e","particles":2}`, "shorten": `{"bytes":100000}`,
	"json-schema": `{"schema":{"type":"object","properties":{"name":{"type":"string","maxLength":3}},"required":["name"],"additionalProperties":false}}`,
	"alphabet":    `{"scripts":["Latin"]}`, "phrases": `{"trigger_phrase":{"phrase":" the","trigger_tokens":3}}`, "more-samplers": `{"top_a":0.2,"tfs":0.9}`,
	"grammar-aligned": `{"grammar":"root ::= [a-z ]+","samples":4,"parallel":2}`,
	"beam":            `{"width":2}`, "best-of": `{"n":2}`, "sql": `{"tables":{"frogs":["name"]}}`,
}

// Every example does in answers about pictures what it is for: it faults nowhere. What was
// recorded of it has the rows of pictures as one number, and plays again without a model.
func TestPluginMedia_Examples_AreRecordedAndReplayed(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "build", "plugins", "*.wasm"))
	if err != nil || len(files) == 0 {
		t.Skipf("no plugins are built: run `make plugins` first (%v)", err)
	}
	modules := map[string][]byte{}
	for _, f := range steadytest.Some(t, files, 10) {
		modules[filepath.Base(f)] = hosts.Example(t, strings.TrimSuffix(filepath.Base(f), ".wasm"))
	}
	one, other := hosts.StripedPNG(t, 1), hosts.StripedPNG(t, 2)
	talk := must.Get(json.Marshal([]map[string]any{turn("user", "Look: ", one, "and again", one, "what?"), turn("assistant", "Look: "), turn("user", other, "And this? Look: ")}))(t)
	s := openSeeing(t, "qwen2vl_merger", modules)
	for file, wasm := range modules {
		name := strings.TrimSuffix(file, ".wasm")
		if name == "probe" {
			continue // it is trained for one model
		}
		t.Run(name, func(t *testing.T) {
			config := forExamples[strings.TrimSuffix(name, "-rust")]
			if config == "" {
				config = "{}"
			}
			body := fmt.Sprintf(`{"max_tokens":12,"temperature":0.7,"seed":7,"record":true,"messages":%s,"plugins":[{"name":%q,"config":%s}]}`, talk, name, config)
			checkRecorded(t, recorded(t, s.h, "/v1/chat/completions", body), name, wasm, []string{hashOf(one), hashOf(other)})
		})
	}
}

// checkRecorded looks for pictures in the recording of a plugin, and plays it.
func checkRecorded(t *testing.T, f *session.File, name string, wasm []byte, hashes []string) {
	t.Helper()
	found := false
	for _, s := range f.Sessions {
		if s.Plugin.Name != name {
			continue
		}
		found = true
		var told []media.Told
		if err := json.Unmarshal(s.Request.Media, &told); err != nil {
			t.Errorf("it was told %s: %v", s.Request.Media, err)
		}
		for _, p := range told {
			if !slices.Contains(hashes, p.Hash) {
				t.Errorf("it was told of %+v", p)
			}
			if len(s.Request.Prompt) > 0 && (p.At == nil || s.Request.Prompt[*p.At+p.Tokens/2] != abi.TokenMedia) {
				t.Errorf("no picture stands at %v in %v", p.At, s.Request.Prompt)
			}
		}
		if i := slices.IndexFunc(s.Request.Prompt, func(t session.Token) bool { return t < abi.TokenMedia }); i >= 0 || len(told) == 0 {
			t.Errorf("its prompt is %v, and it was told of %d pictures", s.Request.Prompt, len(told))
		}
	}
	if !found {
		t.Fatal("it was not recorded")
	}
	if d := replay(t, f, wasm, 2); d != nil {
		t.Error(d)
	}
}

// hostile are guests that pass the number of rows of pictures back to the host, or reach for the
// prompt, each with what is said of it. hook is what they do at the first token, or before it.
func hostile() map[string]struct {
	says string
	wasm []byte
} {
	const atSplice, atBias = 4096, 4608
	binds := func(g *asm.Guest) *asm.Guest {
		return g.On(abi.ExportOpen, g.Bind(abi.BufferSplice, atSplice, 64), g.Bind(abi.BufferBias, atBias, 64), asm.I32(0))
	}
	splice := func(backtrack, token int) []byte {
		g := asm.New(`{"name":"hostile","view":"none","hold":256}`)
		return binds(g).On(abi.ExportAccept, asm.Poke(atSplice, backtrack), asm.Poke(atSplice+4, 1), asm.Poke(atSplice+8, token), asm.I32(abi.AcceptSplice)).Wasm()
	}
	prepares := func(bits int, code ...[]byte) []byte {
		g := asm.New(`{"name":"hostile","view":"none"}`)
		return binds(g).On(abi.ExportPrepare, append(code, asm.I32(bits))...).Wasm()
	}
	drafts := func() []byte {
		g := asm.New(`{"name":"hostile","view":"none","optional":["penstock_draft"]}`)
		return binds(g).On(abi.ExportDraft, asm.Poke(atSplice+8, abi.TokenMedia), asm.I32(1)).Wasm()
	}
	return map[string]struct {
		says string
		wasm []byte
	}{
		"a splice into the prompt": {"2 tokens are taken back; hold is 256 and 1 were generated", splice(2, 'a')},
		"a splice of the whole":    {"4294967295 tokens are taken back", splice(-1, 'a')},
		"a row in a splice":        {"token 4294967295 in the splice buffer", splice(1, abi.TokenMedia)},
		"another row in a splice":  {"token 2147483648 in the splice buffer", splice(0, math.MinInt32)},
		"a row is forced":          {"4294967295", prepares(abi.PrepareForce, asm.Poke(atSplice, 0), asm.Poke(atSplice+4, 1), asm.Poke(atSplice+8, abi.TokenMedia))},
		"a row has a bias":         {"4294967295", prepares(abi.PrepareBias, asm.Poke(atBias, 1), asm.Poke(atBias+4, abi.TokenMedia), asm.PokeF(atBias+8, 1))},
		"a row is guessed to come": {"4294967295", drafts()},
	}
}

// Guests that pass the number of rows of pictures back are at fault, and no splice reaches a
// picture: the answer goes on without them as it would have without them.
func TestPluginMedia_HostileGuests(t *testing.T) {
	one := hosts.StripedPNG(t, 1)
	talk := []map[string]any{turn("user", "Look: ", one)}
	s := openSeeing(t, "mlp", nil)
	plain := s.ask("", talk...)
	for name, c := range hostile() {
		s.uploads(c.wasm)
		status, a := s.try(`,"plugins":["hostile"]`, talk...)
		if status != http.StatusFailedDependency || !strings.Contains(a.Error.Message, c.says) {
			t.Errorf("%s: %d %s; want %q", name, status, a.Error.Message, c.says)
		}
		if a := s.ask(`,"plugins":[{"name":"hostile","on_error":"skip"}]`, talk...); a.text() != plain.text() {
			t.Errorf("%s, left out: %q, not %q", name, a.text(), plain.text())
		}
		if status, body := hosts.Admin(t, s.h, http.MethodPost, "/v1/plugins/hostile/reset", nil); status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
	}
}

// Splices and masks work in answers about pictures: the answer is what they make of it.
func TestPluginMedia_SplicesAndMasks(t *testing.T) {
	one, other := hosts.StripedPNG(t, 1), hosts.StripedPNG(t, 2)
	talk := []map[string]any{turn("user", "Look: ", one, "and", other, "what?")}
	const atSplice = 4096
	splices := asm.New(`{"name":"splices","view":"none","hold":4}`) // three tokens become "xy" each time
	splices.Globals = 1
	splices.On(abi.ExportOpen, splices.Bind(abi.BufferSplice, atSplice, 64), asm.I32(0)).On(abi.ExportAccept,
		asm.Global(0), asm.I32(1), asm.Add, asm.SetGlobal(0), asm.Global(0), asm.I32(3), asm.Equal, asm.When(
			asm.Poke(atSplice, 3), asm.Poke(atSplice+4, 2), asm.Poke(atSplice+8, 'x'), asm.Poke(atSplice+12, 'y'), asm.I32(abi.AcceptSplice), asm.Return),
		asm.Global(0), asm.I32(5), asm.Equal, asm.When(asm.I32(0), asm.SetGlobal(0)), asm.I32(0)).
		On(abi.ExportRewind, asm.I32(0))
	masks := asm.New(`{"name":"masks","view":"none"}`)
	masks.On(abi.ExportOpen, masks.Bind(abi.BufferMask, atSplice, 64), asm.I32(0)).On(abi.ExportPrepare,
		asm.Poke(atSplice+4*('q'/32), 1<<('q'%32)), asm.I32(abi.PrepareMask))
	eachSeeing(t, map[string][]byte{"splices.wasm": splices.Wasm(), "masks.wasm": masks.Wasm(), "banned-phrases.wasm": hosts.Example(t, "banned-phrases")}, func(s seeing) {
		if got := s.ask(`,"plugins":["splices"]`, talk...).text(); !strings.HasPrefix(got, strings.Repeat("xy", 5)) || len(got) != 12 { // at the limit no third comes
			s.Errorf("spliced: %q", got)
		}
		if got := s.ask(`,"plugins":["masks"]`, talk...).text(); got != strings.Repeat("q", 12) {
			s.Errorf("masked: %q", got)
		}
		plain := s.ask("", talk...).text()
		phrase := plain[3:5]
		banned, err := json.Marshal(phrase)
		if err != nil {
			s.Fatal(err)
		}
		got := s.ask(`,"plugins":[{"name":"banned-phrases","config":{"phrases":[`+string(banned)+`]}}]`, talk...).text()
		if strings.Contains(got, phrase) || !strings.HasPrefix(got, plain[:3]) || len(got) != len(plain) {
			s.Errorf("without %q: %q, not %q", phrase, got, plain)
		}
	})
}
