// SPDX-License-Identifier: MIT

package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// block is a fenced part of a document.
type block struct {
	language string
	file     string // the line before the block ends with this name and a colon: the block is that file
	line     int    // of the fence, from 1
	text     string
}

// first is the first line of a block, without its comment.
func (b block) first() string {
	line, _, _ := strings.Cut(b.text, "\n")
	line, _, _ = strings.Cut(line, "  #")
	return strings.TrimSpace(line)
}

// read returns a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join("..", "..", name)))(t)
	return string(text)
}

// documents are README.md and what lies in docs, by their paths in the repository.
func documents(t *testing.T) []string {
	t.Helper()
	all := []string{"README.md"}
	must.Do(t, fs.WalkDir(os.DirFS(filepath.Join("..", "..")), "docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			all = append(all, path)
		}
		return err
	}))
	if len(all) < 10 {
		t.Fatalf("there are only %q", all)
	}
	return all
}

var namesFile = regexp.MustCompile("`([^`]+)`:$")

func blocks(t *testing.T, doc string) []block {
	t.Helper()
	var all []block
	var open *block
	before := ""
	for i, line := range strings.Split(read(t, doc), "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case open == nil && strings.HasPrefix(trimmed, "```"):
			open = &block{language: strings.TrimPrefix(trimmed, "```"), line: i + 1}
			if found := namesFile.FindStringSubmatch(before); found != nil && open.language != "sh" {
				open.file = found[1]
			}
		case open != nil && trimmed == "```":
			all = append(all, *open)
			open, before = nil, ""
		case open != nil:
			open.text += line + "\n"
		case strings.HasPrefix(line, "    ") && before == "":
			t.Errorf("%s:%d: commands stand in fences, so that they are run", doc, i+1)
		}
		if trimmed != "" && open == nil {
			before = trimmed
		} else if open == nil && !strings.HasSuffix(before, ":") {
			before = ""
		}
	}
	if open != nil {
		t.Errorf("%s:%d: the block does not end", doc, open.line)
	}
	return all
}
