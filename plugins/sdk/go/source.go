// SPDX-License-Identifier: MIT

// Package sdk embeds the sources of the Go SDK, so that a program can write them where there is no
// network to fetch them from.
package sdk

import (
	"embed"
	"io/fs"
	"iter"
	"strings"
)

//go:embed go.mod target.json target-debug.json
//go:embed grammar/*.go internal/abi/*.go internal/guest/*.go internal/heap/*.go json/*.go math32/*.go penstock/*.go plugintest/*.go
var files embed.FS

// Files are the SDK's files, by their paths with slashes: go.mod, the target of TinyGo and the
// packages, without their tests.
func Files() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		// Neither walking nor reading the embedded files can fail.
		_ = fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := files.ReadFile(path)
			if err == nil && !yield(path, text) {
				return fs.SkipAll
			}
			return err
		})
	}
}
