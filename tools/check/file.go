// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// file is one file of the repository, with its path relative to the root.
type file struct {
	path string
	text []byte
}

// languages maps the extensions of source files to how their functions are found; nil: the length
// of functions is not checked here.
var languages = map[string]func(file) ([]function, error){
	".go": nil, // golangci-lint checks it (funlen)
	".ts": braceFunctions, ".tsx": braceFunctions, ".mts": braceFunctions, ".js": braceFunctions, ".mjs": braceFunctions,
	".rs": braceFunctions,
	".c":  braceFunctions, ".cc": braceFunctions, ".cpp": braceFunctions, ".h": braceFunctions, ".hpp": braceFunctions,
	".sh": nil, ".py": nil, ".css": nil,
}

// isSource reports whether a file was written by hand in one of our languages.
func (f file) isSource() bool {
	if _, known := languages[filepath.Ext(f.path)]; !known {
		return false
	}
	return !isGenerated(f.path) && !bytes.HasPrefix(f.text, []byte("// Code generated "))
}

// isGenerated tells by its name whether a program wrote a file.
func isGenerated(path string) bool {
	base := filepath.Base(path)
	return strings.HasPrefix(base, "zz_") || strings.Contains(base, ".gen.")
}

// isText is false for images, models and Wasm modules.
func (f file) isText() bool { return !slices.Contains(f.text[:min(len(f.text), 8192)], 0) }

// overFiles turns a check of one file into a check of all files that git tracks or would track.
func overFiles(check func(file) ([]string, error)) func() ([]string, error) {
	return func() ([]string, error) {
		listing, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
		if err != nil {
			return nil, fmt.Errorf("list files: %w", err)
		}
		var findings []string
		for path := range strings.SplitSeq(strings.TrimSuffix(string(listing), "\x00"), "\x00") {
			text, err := os.ReadFile(path)
			if os.IsNotExist(err) {
				continue // removed, and not yet committed
			}
			if err != nil {
				return nil, err
			}
			more, err := check(file{path, text})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			findings = append(findings, more...)
		}
		return findings, nil
	}
}
