// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/must"
)

func TestMissingElsewhere(t *testing.T) {
	const user, here = "package a\n\nimport \"x/y-go/v4\"\n\nfunc use() { flush(y.Now()) }\n", "package a\n\nfunc flush(int) {}\n"
	for name, tc := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"everywhere":  {map[string]string{"a.go": user, "b.go": here}, nil},
		"each its":    {map[string]string{"a.go": user, "b_linux.go": here, "b_other.go": "//go:build !linux\n\n" + here}, nil},
		"one alone":   {map[string]string{"a.go": user, "b_linux.go": here, "b_darwin.go": here, "b_windows.go": here}, []string{"flush, which is not declared on freebsd/amd64"}},
		"processors":  {map[string]string{"a.go": user, "b_amd64.go": here, "b_arm64.go": "package a\n"}, []string{"flush, which is not declared on linux/arm64", "flush, which is not declared on darwin/arm64"}},
		"Linux alone": {map[string]string{"a_linux.go": user, "b_linux.go": here}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range tc.files {
				must.Do(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
			}
			got, err := missingElsewhere(dir)
			if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}
