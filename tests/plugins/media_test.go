// SPDX-License-Identifier: MIT

package plugins

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// seeing is a host with a model that sees, and plugins.
type seeing struct {
	*testing.T
	h *host.Host
}

// openSeeing opens a host with a small pair of a kind of projector.
func openSeeing(t *testing.T, projector string, modules map[string][]byte) seeing {
	t.Helper()
	at := slices.IndexFunc(synth.MediaPairs, func(p synth.MediaPair) bool { return p.Projector == projector })
	model, file := must.Both(synth.MediaPairs[at].WriteFiles(t.TempDir(), 1))(t)
	flags := map[string]any{"model.path": model, "model.mmproj": file, "scheduler.slots": 4, "programs.branches": 4, "recordings.dir": t.TempDir(), "server.admin_key": "secret"}
	return seeing{t, hosts.OpenWithPlugins(t, flags, modules)}
}

// eachSeeing runs a test with a projector whose pictures are rows of embeddings, and with one
// whose pictures are grids between tokens.
func eachSeeing(t *testing.T, modules map[string][]byte, test func(s seeing)) {
	for _, projector := range []string{"mlp", "qwen2vl_merger"} {
		t.Run(projector, func(t *testing.T) { test(openSeeing(t, projector, modules)) })
	}
}

// hashOf is a file's hash as plugins see it.
func hashOf(file []byte) string {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:])
}

// turn is a message; its parts are texts and files.
func turn(role string, parts ...any) map[string]any {
	var content []any
	for _, p := range parts {
		if file, ok := p.([]byte); ok {
			content = append(content, map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:image/png;base64," + base64.StdEncoding.EncodeToString(file)}})
			continue
		}
		content = append(content, map[string]any{"type": "text", "text": p})
	}
	return map[string]any{"role": role, "content": content}
}

// toldAnswer is an answer, and what it was an answer to.
type toldAnswer struct {
	Choices []struct {
		Message      struct{ Content string }
		FinishReason string `json:"finish_reason"`
		Plugins      []struct {
			Plugin string
			Tokens int
			Value  json.RawMessage
		} `json:"plugin_outputs"`
		Branches []struct {
			Tokens []struct {
				ID    int
				Token string
			}
		}
	}
	Usage struct {
		Prompt  int `json:"prompt_tokens"`
		Details struct {
			Image int `json:"image_tokens"`
		} `json:"prompt_tokens_details"`
	}
	Error struct{ Message string }
}

// text is that of the first choice.
func (a toldAnswer) text() string { return a.Choices[0].Message.Content }

// try asks with more fields of the body.
func (s seeing) try(fields string, messages ...map[string]any) (status int, a toldAnswer) {
	s.Helper()
	list, err := json.Marshal(messages)
	if err != nil {
		s.Fatal(err)
	}
	status, body := hosts.Post(s.T, s.h.URL()+"/v1/chat/completions", `{"max_tokens":12,"temperature":0,"messages":`+string(list)+fields+`}`)
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		s.Fatalf("%v: %s", err, body)
	}
	if status != http.StatusOK && a.Error.Message == "" {
		s.Fatalf("%d: %s", status, body)
	}
	return status, a
}

// ask is try for what must be answered.
func (s seeing) ask(fields string, messages ...map[string]any) toldAnswer {
	s.Helper()
	status, a := s.try(fields, messages...)
	if status != http.StatusOK {
		s.Fatalf("%s: %d %s", fields, status, a.Error.Message)
	}
	return a
}

// same asks with a plugin, and wants what others are answered without.
func (s seeing) same(what, plugins string, got, want []map[string]any) {
	s.Helper()
	a, b := s.ask(`,"plugins":[`+plugins+`]`, got...), s.ask("", want...)
	if a.text() != b.text() || a.Usage != b.Usage {
		s.Errorf("%s: %q with %+v; want %q with %+v", what, a.text(), a.Usage, b.text(), b.Usage)
	}
}

// refused asks for what is not answered.
func (s seeing) refused(plugins, says string, messages ...map[string]any) {
	s.Helper()
	status, a := s.try(`,"plugins":[`+plugins+`]`, messages...)
	if status == http.StatusOK || !strings.Contains(a.Error.Message, says) {
		s.Errorf("%s: %d %s; want %q", plugins, status, a.Error.Message, says)
	}
}

// The places of a guest that looks at pictures.
const (
	atText   = 4096
	atTokens = 8192
	textRoom = 4000
)

// looker gives its client what media tells, in open and with the first token, and traps where
// history has not as many rows, from this index on.
func looker(first, rows int) []byte {
	g := asm.New(`{"name":"looker","view":"none"}`)
	tells := slices.Concat(asm.I32(atText), asm.I32(atText), asm.I32(textRoom), g.Call(abi.ImportMedia), g.Call(abi.ImportOutput), asm.When(asm.Unreachable))
	const i, n, at = 1, 2, 3 // locals
	length := slices.Concat(asm.I32(0), asm.I32(atTokens), asm.I32(16384), g.Call(abi.ImportHistory))
	token := slices.Concat(asm.I32(atTokens), asm.Local(i), asm.I32(4), asm.Multiply, asm.Add, asm.Load)
	counts := slices.Concat(asm.I32(0), asm.SetLocal(n), asm.I32(-1), asm.SetLocal(at), asm.Each(i, length, token, asm.I32(abi.TokenMedia), asm.Equal, asm.When(
		asm.Local(n), asm.EqualZero, asm.When(asm.Local(i), asm.SetLocal(at)),
		asm.Local(n), asm.I32(1), asm.Add, asm.SetLocal(n),
	)), asm.Local(n), asm.I32(rows), asm.Equal, asm.EqualZero, asm.When(asm.Unreachable), asm.Local(at), asm.I32(first), asm.Equal, asm.EqualZero, asm.When(asm.Unreachable))
	once := slices.Concat(asm.Global(0), asm.EqualZero, asm.When(asm.I32(1), asm.SetGlobal(0), tells))
	g.Globals, g.Pages = 1, 8
	return g.On(abi.ExportOpen, tells, asm.I32(0)).On(abi.ExportAccept, counts, once, asm.I32(0)).Wasm()
}

// What plugins see of a picture in a prompt: as many rows as it has, all with the reserved token,
// and what it is.
func TestPluginMedia_HistoryAndMedia(t *testing.T) {
	one, other := hosts.StripedPNG(t, 1), hosts.StripedPNG(t, 2)
	talk := []map[string]any{turn("user", "Look: ", one, "beside ", other, "what?")}
	for projector, around := range map[string]int{"mlp": 0, "qwen2vl_merger": 2} { // tokens that the model expects around a picture
		t.Run(projector, func(t *testing.T) {
			s := openSeeing(t, projector, nil)
			plain := s.ask("", talk...)
			tokens := plain.Usage.Details.Image / 2
			before := len("<|im_start|>user\nLook: ") - len("<|im_start|>") + 1
			s.uploads(looker(before+around/2, 2*(tokens-around)))
			a := s.ask(`,"plugins":["looker"]`, talk...)
			if a.text() != plain.text() {
				t.Errorf("watched, the answer is %q, not %q", a.text(), plain.text())
			}
			want := []media.Told{
				{Type: "image", Hash: hashOf(one), Width: 90, Height: 60, Bytes: len(one), Tokens: tokens, At: new(int)},
				{Type: "image", Hash: hashOf(other), Width: 90, Height: 60, Bytes: len(other), Tokens: tokens, At: new(int)},
			}
			*want[0].At, *want[1].At = before, before+tokens+len("beside ")
			if len(a.Choices[0].Plugins) != 2 {
				t.Fatalf("the outputs are %+v", a.Choices[0])
			}
			for _, o := range a.Choices[0].Plugins {
				var got []media.Told
				must.Do(t, json.Unmarshal(o.Value, &got))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("after %d tokens: %s", o.Tokens, diff)
				}
			}
		})
	}
}

// rewriting is a plugin that hands a text to emit.
func rewriting(name, text string) []byte {
	g := asm.New(`{"name":"`+name+`","optional":["penstock_messages"]}`).Put(atText, text)
	return g.On(abi.ExportMessages, asm.I32(atText), asm.I32(len(text)), g.Call(abi.ImportEmit), asm.I32(0)).Wasm()
}

// Plugins that rewrite conversations move, drop and repeat pictures by their hashes, and cannot
// add any.
func TestPluginMedia_Messages(t *testing.T) {
	one, other := hosts.StripedPNG(t, 1), hosts.StripedPNG(t, 2)
	part := func(file []byte) string { return `{"type":"image","hash":"` + hashOf(file) + `"}` }
	eachSeeing(t, map[string][]byte{
		"moved.wasm":  rewriting("moved", `[{"role":"user","content":[`+part(other)+`,{"type":"text","text":"Now: "},`+part(one)+`,`+part(other)+`]}]`),
		"blind.wasm":  rewriting("blind", `[{"role":"user","content":"Say something."}]`),
		"hash.wasm":   rewriting("hash", `[{"role":"user","content":[{"type":"image","hash":"`+strings.Repeat("0", 64)+`"}]}]`),
		"own.wasm":    rewriting("own", `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}]`),
		"many.wasm":   rewriting("many", `[{"role":"user","content":[`+strings.Repeat(part(one)+",", 128)+part(one)+`]}]`),
		"marker.wasm": rewriting("marker", `[{"role":"user","content":"`+media.Marker+`"}]`),
		"last.wasm":   hosts.Example(t, "last-pictures"), "redact.wasm": hosts.Example(t, "redact"), "shorten.wasm": hosts.Example(t, "shorten"),
	}, func(s seeing) {
		talk := []map[string]any{turn("user", "Look: ", one, "and Ann?"), turn("assistant", "Stripes."), turn("user", other, "And this?", one)}
		s.same("moved", `"moved"`, talk, []map[string]any{turn("user", other, "Now: ", one, other)})
		s.same("dropped", `"blind"`, talk, []map[string]any{turn("user", "Say something.")})
		s.same("the last", `"last-pictures"`, talk, []map[string]any{
			turn("user", "Look: [a picture that was shown before]and Ann?"), turn("assistant", "Stripes."), turn("user", "[a picture that was shown before]And this?", one)})
		s.same("redacted", `{"name":"redact","config":{"words":["Ann"],"with":"Bea"}}`, talk,
			[]map[string]any{turn("user", "Look: ", one, "and Bea?"), talk[1], talk[2]})
		s.same("one after the other", `"last-pictures",{"name":"redact","config":{"words":["a picture that was shown before"],"with":""}}`, talk,
			[]map[string]any{turn("user", "Look: []and Ann?"), turn("assistant", "Stripes."), turn("user", "[]And this?", one)})
		s.same("shorter by the template's text", `{"name":"shorten","config":{"bytes":180}}`, talk, talk[2:])
		s.refused(`"hash"`, "messages[0].content[0].hash is \"00000", talk...)
		s.refused(`"hash"`, "the request has no part of type image with this hash", turn("user", "no picture"))
		s.refused(`"own"`, "messages[0].content[0] is a picture or a sound that a plugin cannot add", talk...)
		s.refused(`"many"`, "places for 129 pictures and sounds; a request may have 128", talk...)
		s.refused(`"marker"`, "the server's marker", talk...)
		s.refused(`"redact"`, "have places for 2 pictures and sounds, and there are 1", turn("user", one, media.Marker))
	})
}

// A plugin that writes the prompt places the pictures, or leaves them out.
func TestPluginMedia_Template(t *testing.T) {
	eachSeeing(t, map[string][]byte{"chatml.wasm": hosts.Example(t, "chatml"), "story.wasm": storyteller(), "wrong.wasm": forging(media.Marker), "transcript.wasm": hosts.Example(t, "transcript"),
		"last.wasm": hosts.Example(t, "last-pictures")}, func(s seeing) {
		one, other := hosts.StripedPNG(t, 1), hosts.StripedPNG(t, 2)
		talk := []map[string]any{turn("user", "Look: ", one, "beside ", other, one), turn("assistant", "Stripes."), turn("user", "And?")}
		s.same("as the model's own", `"chatml"`, talk, talk)
		s.same("after another", `"chatml","last-pictures"`, talk, []map[string]any{
			turn("user", "Look: [a picture that was shown before]beside [a picture that was shown before]", one), talk[1], talk[2]})
		if a := s.ask(`,"plugins":["storyteller"]`, talk...); a.Usage.Details.Image != 0 {
			t.Errorf("a prompt without pictures has %+v", a.Usage)
		}
		whole, plain := s.ask(`,"plugins":["transcript"]`, talk...), s.ask("", talk...)
		if whole.Usage.Details != plain.Usage.Details {
			t.Errorf("a transcript has %+v, the model's own prompt %+v", whole.Usage, plain.Usage)
		}
		s.refused(`"forging"`, "plugin forging has written a prompt that cannot be used: a text has the server's marker", talk...)
	})
}

// forging is a template whose prompt has a text.
func forging(text string) []byte {
	g := asm.New(`{"name":"forging"}`).Put(atText, text+"x")
	return g.On(abi.ExportTemplate, asm.I32(atText), asm.I32(len(text)+1), g.Call(abi.ImportEmit), asm.I32(0)).Wasm()
}
