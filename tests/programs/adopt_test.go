// SPDX-License-Identifier: MIT

package programs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tests/hosts"
)

// adopter is a program that has as many choices as it is asked for go on from a branch with the
// prompt, but for the first, of which it shows a token where show is true.
func adopter(show bool) *asm.Guest {
	g := asm.New(`{"name":"adopter","branches":1}`).On(abi.ExportOpen, asm.I32(0))
	length := [][]byte{asm.Local(0), asm.I32(0), asm.I32(0), asm.I32(0), g.Call(abi.ImportBranchTokens), asm.SetLocal(1)}
	adopt := func(choice int) [][]byte {
		return [][]byte{asm.I32(choice), asm.Local(0), asm.Local(1), g.Call(abi.ImportAdopt), asm.Drop}
	}
	code := append([][]byte{asm.I32(0), asm.I32(0), g.Call(abi.ImportBranchOpen), asm.SetLocal(0)}, length...)
	if show {
		code = append(code, asm.Poke(400, 300), asm.I32(0), asm.I32(400), asm.I32(0), asm.I32(1), g.Call(abi.ImportShow), asm.Drop)
	} else {
		code = append(code, adopt(0)...)
	}
	code = append(code, adopt(1)...)
	return g.On(abi.ExportRun, append(code, asm.I32(0))...)
}

// completed is a text completion.
type completed struct {
	Choices []struct {
		Text         string
		FinishReason string `json:"finish_reason"`
	}
	Usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	}
}

// Choices that go on from a branch with the prompt are what the server answers without a program;
// one that a program has shown ends with it.
func TestPrograms_Adopt_GoesOnAsAnAnswer(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, map[string][]byte{"adopter.wasm": adopter(false).Wasm()})
	shows := hosts.OpenWithPlugins(t, nil, map[string][]byte{"adopter.wasm": adopter(true).Wasm()})
	ask := func(h *host.Host, more string) (c completed) {
		t.Helper()
		status, body := hosts.Post(t, h.URL()+"/v1/completions", `{"prompt":"Once upon a time","max_tokens":24,"temperature":0,"n":2`+more+`}`)
		if err := json.Unmarshal([]byte(body), &c); status != http.StatusOK || err != nil || len(c.Choices) != 2 {
			t.Fatalf("%d %s: %v", status, body, err)
		}
		return c
	}
	const plugins = `,"plugins":[{"name":"adopter"}]`
	want, got := ask(h, ""), ask(h, plugins)
	if fmt.Sprint(got.Choices) != fmt.Sprint(want.Choices) || got.Usage.Completion != want.Usage.Completion || got.Usage.Prompt != want.Usage.Prompt {
		t.Errorf("adopted: %+v, want %+v", got, want)
	}
	got = ask(shows, plugins)
	if got.Choices[1] != want.Choices[1] || got.Choices[0].FinishReason != "stop" || got.Choices[0].Text == "" || len(got.Choices[0].Text) > 20 {
		t.Errorf("shown and adopted: %+v", got)
	}
}
