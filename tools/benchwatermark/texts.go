// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// The windows of unmarked text that are tested.
const (
	windowTokens = 200
	mostWindows  = 5000 // of a kind
)

// textKind is a kind of unmarked text, and its windows.
type textKind struct {
	name    string
	windows [][]int32
}

// unmarkedTexts reads texts of several kinds from this repository, its modules and Go's own files.
func unmarkedTexts(c *client, answers []string) ([]textKind, error) {
	goroot, err := output(c.ctx, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	module, err := output(c.ctx, "go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/text")
	if err != nil {
		return nil, err
	}
	languages := filepath.Join(module, "encoding", "testdata")
	var kinds []textKind
	for _, k := range []struct {
		name     string
		patterns []string
	}{
		{"English prose", []string{filepath.Join(goroot, "src/testdata/Isaac.Newton-Opticks.txt"), "docs/*.md", "docs/plugins/*.md"}},
		{"code in Go and C++", []string{"host/*/*.go", "scheduler/*.go", "build/llama.cpp/source-*/src/*.cpp"}},
		{"French", []string{filepath.Join(languages, "candide-utf-8.txt")}},
		{"Chinese, Japanese, Korean", []string{filepath.Join(languages, "sunzi-*-utf-8.txt"), filepath.Join(languages, "rashomon-utf-8.txt"), filepath.Join(languages, "unsu-*-utf-8.txt")}},
		{"JSON, YAML and tables", []string{"docs/openapi.yaml", "docs/configuration.md", "tests/toolsinuse/package-lock.json", "host/jinja/testdata/*.json", "docs/observability/*.json", "plugins/abi/testdata/*.json"}},
	} {
		tokens, err := tokensOf(c, k.patterns)
		if err != nil {
			return nil, err
		}
		windows := slices.Collect(slices.Chunk(tokens, windowTokens))
		kinds = append(kinds, textKind{k.name, windows[:min(len(windows), mostWindows)]})
	}
	repeated := textKind{name: "a passage of 50 tokens four times"}
	for _, w := range kinds[0].windows {
		if len(w) == windowTokens {
			repeated.windows = append(repeated.windows, slices.Repeat(w[:windowTokens/4], 4))
		}
	}
	own := textKind{name: "the model's own answers, not marked"}
	for _, text := range answers {
		tokens, err := c.tokenize(text)
		if err != nil {
			return nil, err
		}
		own.windows = append(own.windows, slices.Collect(slices.Chunk(tokens, windowTokens))...)
	}
	return append(kinds, repeated, own), nil
}

// tokensOf reads files.
func tokensOf(c *client, patterns []string) (tokens []int32, err error) {
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err == nil && len(files) == 0 {
			err = fs.ErrNotExist
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", pattern, err)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			more, err := c.tokenize(string(raw))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			if tokens = append(tokens, more...); len(tokens) > mostWindows*windowTokens {
				return tokens, nil
			}
		}
	}
	return tokens, nil
}

func output(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	return strings.TrimSpace(string(out)), err
}
