// SPDX-License-Identifier: MIT

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheckMentions(t *testing.T) {
	t.Chdir("../..")
	for text, want := range map[string][]string{
		"the row is drawn in `native/sample.gone`":  {"README.md:1: there is no native/sample.gone"},
		"a\n`scheduler/` and `no/such/folder/`":     {"README.md:2: there is no no/such/folder"},
		"`file.isText` in `tools/check/file.go`":    nil,
		"`file.isGone` in `tools/check/file.go`":    {"README.md:1: there is no file.isGone in tools/check/file.go"},
		"see [a](docs/api.md#b) and [c](docs/c.md)": {"README.md:1: there is no docs/c.md"},
		"see `tools/check/main.go`, `tools`":        nil,
		"`build/llama.cpp/out`, `bin/penstock`":     nil,
		"`github.com/x/y`, `/v1/chat`, `a/b -c`":    nil,
		"`scheduler/...` and `scheduler/*.go`":      nil,
	} {
		got, err := checkMentions(file{"README.md", []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("findings in %q (-want +got):\n%s", text, diff)
		}
	}
}
