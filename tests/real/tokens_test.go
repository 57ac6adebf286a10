// SPDX-License-Identifier: MIT

package real

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// pythonEnv names a Python that has the package tokenizers: each line is compared with what that
// makes of it, and the hashes of blocks are stored. Without it, they are compared.
const pythonEnv = "PENSTOCK_TEST_PYTHON"

// Ten thousand lines, of which a block has so many.
const (
	lineCount  = 10000
	blockLines = 100
)

// SmolLM2's and MiniLM's tokens of mixed text are those of transformers.
func TestTokens_AreThoseOfTransformers(t *testing.T) {
	for name, path := range map[string]string{"smollm2": smolLM2, "minilm": miniLM} {
		t.Run(name, func(t *testing.T) { compareTokens(t, path, "testdata/tokens-"+name+".txt") })
	}
}

func compareTokens(t *testing.T, path, golden string) {
	model, err := native.LoadModel(t.Context(), path, native.ModelOptions{VocabOnly: true})
	if err != nil {
		t.Fatalf("%v: `make models` fetches it", err)
	}
	must.Close(t, model)
	tokensOf := func(line string) []int32 {
		tokens, err := model.Tokenize(t.Context(), line, native.TokenizeOptions{AddSpecial: true, ParseSpecial: true})
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		return tokens
	}
	blocks := slices.Collect(slices.Chunk(lines(lineCount), blockLines))
	if python := os.Getenv(pythonEnv); python != "" {
		record(t, python, path, golden, blocks, tokensOf)
		return
	}
	stored := must.Get(os.ReadFile(golden))(t)
	hashes := strings.Fields(string(stored))
	if len(hashes) != len(blocks) {
		t.Fatalf("%s has %d hashes of %d blocks", golden, len(hashes), len(blocks))
	}
	all := make([]int, len(blocks))
	for i := range all {
		all[i] = i
	}
	for _, i := range steadytest.Some(t, all, 10) {
		var made [][]int32
		for _, line := range blocks[i] {
			made = append(made, tokensOf(line))
		}
		if hashOf(made) != hashes[i] {
			t.Errorf("of block %d some tokens are others; with a Python that has tokenizers, %s=python3 tells which", i, pythonEnv)
		}
	}
}

// record compares with the tokens that the package tokenizers makes, and stores their hashes.
func record(t *testing.T, python, path, golden string, blocks [][]string, tokensOf func(string) []int32) {
	t.Helper()
	var out strings.Builder
	different, want := 0, transformersTokens(t, python, path, slices.Concat(blocks...))
	for i, block := range blocks {
		of := want[i*blockLines : (i+1)*blockLines]
		for j, line := range block {
			if got := tokensOf(line); !slices.Equal(got, of[j]) {
				if different++; different <= 20 {
					t.Errorf("%q\ngives %d\nwith transformers %d", line, got, of[j])
				}
			}
		}
		out.WriteString(hashOf(of) + "\n")
	}
	if different > 0 {
		t.Errorf("%d of %d lines have other tokens", different, lineCount)
	}
	if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil { //nolint:gosec // a file of the repository
		t.Fatal(err)
	}
}

// transformersTokens has Python tokenise lines.
func transformersTokens(t *testing.T, python, path string, lines []string) (tokens [][]int32) {
	t.Helper()
	file := must.Get(os.Open(path))(t)
	defer file.Close()
	info := must.Get(file.Stat())(t)
	header := must.Get(gguf.Read(file, info.Size()))(t)
	of := func(key string) gguf.Value { return header.Values["tokenizer.ggml."+key] }
	all, special := of("tokens").Strings(), []string{}
	for i, token := range all {
		if of("token_type").Int(i) == controlToken {
			special = append(special, token)
		}
	}
	in := must.Get(json.Marshal(map[string]any{"model": of("model").Text(), "tokens": all, "special": special, "merges": of("merges").Strings(), "lines": lines}))(t)
	command := exec.CommandContext(t.Context(), python, "testdata/tokens.py")
	command.Stdin, command.Stderr = bytes.NewReader(in), os.Stderr
	out := must.Get(command.Output())(t)
	if err := json.Unmarshal(out, &tokens); err != nil || len(tokens) != len(lines) {
		t.Fatalf("%d lines: %v", len(tokens), err)
	}
	return tokens
}

// controlToken is the type of such tokens in a model file.
const controlToken = 3

// hashOf is that of the tokens of some lines.
func hashOf(lines [][]int32) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, lines)))[:16]
}
