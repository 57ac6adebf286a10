// SPDX-License-Identifier: MIT

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheckLinks(t *testing.T) {
	t.Chdir("../..")
	for text, want := range map[string][]string{
		"## A `b` c\n[x](#a-b-c)":                              nil,
		"## Chat: `POST /v1/x`\n[x](#chat-post-v1x)":           nil,
		"## Same\n## Same\n[x](#same-1)":                       nil,
		"## [Link](a.md) here\n[x](#link-here)":                nil,
		"## Why?\n[x](#why) [y](#what)":                        {"README.md:2: README.md has no heading #what"},
		"```sh\n# no heading\n```\n[x](#no-heading)":           {"README.md:4: README.md has no heading #no-heading"},
		"[x](docs/architecture.md#where-is-)":                  nil,
		"[x](docs/architecture.md#gone)":                       {"README.md:1: docs/architecture.md has no heading #gone"},
		"[x](https://example.org/a#b) [y](tools/check/#there)": nil,
		`<img src="docs/images/gaps.svg">`:                     nil,
		`<source srcset="docs/images/gone.png">`:               {"README.md:1: there is no docs/images/gone.png"},
	} {
		got, err := checkLinks(file{"README.md", []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("findings in %q (-want +got):\n%s", text, diff)
		}
	}
}
