// SPDX-License-Identifier: MIT

package host

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
)

// forExamples is what the examples cannot do without.
var forExamples = map[string]string{
	"answer-length": `{"tokens":8}`, "reasoning-budget": `{"tokens":8}`, "banned-phrases": `{"phrases":["a","e","ab"]}`, "regex-stop": `{"pattern":"never ever"}`,
	"multiple-choice": `{"choices":["green frog","not very old"]}`, "watermark": `{"key":42}`, "grammar": `{"grammar":"root ::= [a-z]+"}`,
	"choice": `{"choices":["green frog","not very old"]}`, "form": `{"template":"Who: {who}\nWhere: {where}\n"}`, "smc": `{"without":"e","particles":2}`, "shorten": `{"bytes":100000}`,
	"json-schema": `{"schema":{"type":"object","properties":{"name":{"type":"string","maxLength":3}},"required":["name"],"additionalProperties":false}}`,
	"beam":        `{"width":2}`, "best-of": `{"n":2}`,
}

// Every example does in answers about pictures what it is for: it faults nowhere. What was recorded of it has the rows of pictures as one
// number, and plays again without a model.
func TestPluginMedia_Examples_AreRecordedAndReplayed(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "build", "plugins", "*.wasm"))
	if err != nil || len(files) == 0 {
		t.Skipf("no plugins are built: run `make plugins` first (%v)", err)
	}
	modules := map[string][]byte{}
	for _, f := range files {
		modules[filepath.Base(f)] = example(t, strings.TrimSuffix(filepath.Base(f), ".wasm"))
	}
	one, other := stripedPNG(t, 1), stripedPNG(t, 2)
	talk, err := json.Marshal([]map[string]any{turn("user", "Look: ", one, "and again", one, "what?"), turn("assistant", "Look: "), turn("user", other, "And this? Look: ")})
	if err != nil {
		t.Fatal(err)
	}
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

var _ = []any{math.MinInt32, http.StatusOK, asm.I32}
