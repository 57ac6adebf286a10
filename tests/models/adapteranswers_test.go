// SPDX-License-Identifier: MIT

package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tests/peer"
	"github.com/penstock/penstock/tools/must"
)

const builtIn = "../../host/model/penstock-tiny.gguf"

// write writes an adapter for the built-in model.
func write(t *testing.T, folder, name string, a synth.Adapter) string {
	t.Helper()
	a.Model = builtIn
	path := filepath.Join(folder, name+".gguf")
	file := must.Get(os.Create(path))(t)
	must.Do(t, errors.Join(a.Write(file), file.Close()))
	return path
}

// complete is the text of a greedy completion. Cached cells are not used: llama-server does not
// know with which adapters they were computed.
func complete(t *testing.T, s peer.Server, prompt, more string) string {
	t.Helper()
	return completeCached(t, s, prompt, `,"cache_prompt":false`+more)
}

func completeCached(t *testing.T, s peer.Server, prompt, more string) string {
	t.Helper()
	return completeWith(t, s, fmt.Sprintf(`"prompt":%q,"n_predict":32%s`, prompt, more))
}

func completeWith(t *testing.T, s peer.Server, fields string) string {
	t.Helper()
	a := s.Call(t, http.MethodPost, "/completion", `{"temperature":0,"ignore_eos":true,`+fields+`}`)
	var body struct{ Content string }
	if err := json.Unmarshal([]byte(a.Body), &body); a.Status != http.StatusOK || err != nil {
		t.Errorf("%s: %d %s", fields, a.Status, a.Body)
	}
	return body.Content
}

// tokensOf is what a text is in the middle of a prompt.
func tokensOf(t *testing.T, s peer.Server, text string) (tokens []uint32) {
	t.Helper()
	var body struct{ Tokens []uint32 }
	must.Do(t, json.Unmarshal([]byte(s.Call(t, http.MethodPost, "/tokenize", fmt.Sprintf(`{"content":%q}`, text)).Body), &body))
	return body.Tokens
}

// loras has a body say with which adapters its prompt is computed.
var loras = []string{``, `,"lora":[]`, `,"lora":[{"id":0,"scale":1}]`, `,"lora":[{"id":1,"scale":1}]`, `,"lora":[{"id":1,"scale":-0.5}]`,
	`,"lora":[{"id":0,"scale":1},{"id":1,"scale":0.5}]`, `,"lora":[{"id":0,"scale":0}]`, `,"lora":[{"id":2,"scale":1}]`,
	`,"lora":[{"id":2,"scale":1},{"id":0,"scale":1}]`}

// The answers with one adapter, another, several, none, and one that counts from some words on are
// llama-server's.
func TestAdapters_Answers_AreLlamaServers(t *testing.T) {
	folder := t.TempDir()
	exact := peer.Exact(t)
	plain := peer.Penstock(t, exact, nil)
	a, b := write(t, folder, "a", synth.Adapter{Seed: 1, TaskName: "tales"}), write(t, folder, "b", synth.Adapter{Seed: 2, Rank: 8, Alpha: 16})
	activated := write(t, folder, "activated", synth.Adapter{Seed: 3, Invocation: tokensOf(t, plain, " a little girl")})
	for _, apply := range []bool{true, false} {
		t.Run(fmt.Sprintf("apply %v", apply), func(t *testing.T) {
			flags := []string{"--lora", a, "--lora-scaled", b + ":0.5", "--lora-scaled", activated + ":0"}
			keys := map[string]any{"model.lora": []string{a}, "model.lora_scaled": []string{b + ":0.5", activated + ":0"}}
			if !apply {
				flags, keys["model.lora_init_without_apply"] = append(flags, "--lora-init-without-apply"), true
			}
			theirs, ours := peer.LlamaServer(t, exact, flags...), peer.Penstock(t, exact, keys)
			compare := func(method, path, body string) {
				t.Helper()
				want, got := theirs.Call(t, method, path, body), ours.Call(t, method, path, body)
				if want.Status != got.Status {
					t.Fatalf("llama-server answers %d %s, we %d %s", want.Status, want.Body, got.Status, got.Body)
				}
				for _, d := range (peer.Comparison{}).Differences(t, want.Body, got.Body) {
					t.Error(d)
				}
			}
			choices := loras
			if apply {
				compare(http.MethodGet, "/lora-adapters", "")
			} else {
				choices = choices[2:] // llama-server applies them all the same
			}
			var said []string
			for _, prompt := range []string{"Once upon a time there was a little girl who", "One day the dog"} {
				for _, lora := range choices {
					want, got := complete(t, theirs, prompt, lora), complete(t, ours, prompt, lora)
					if got != want {
						t.Errorf("after %q with %s llama-server says %q, we %q", prompt, lora, want, got)
					}
					said = append(said, got)
				}
			}
			slices.Sort(said)
			if n := len(slices.Compact(said)); n < 8 {
				t.Errorf("there are %d different answers, so little is tested", n)
			}
			compare(http.MethodPost, "/lora-adapters", `[{"id":1,"scale":0.25},{"id":0,"scale":-1}]`)
			compare(http.MethodGet, "/lora-adapters", "")
			if want, got := complete(t, theirs, "One day", ""), complete(t, ours, "One day", ""); got != want {
				t.Errorf("after a change of scales for all llama-server says %q, we %q", want, got)
			}
		})
	}
}
