// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/tools/must"
)

func TestPage_NamesEveryKeyOnce(t *testing.T) {
	for _, k := range config.Keys() {
		if n := strings.Count(page(), "| `"+k.Name+"` |"); n != 1 {
			t.Errorf("%s stands %d times in the table, want once", k.Name, n)
		}
	}
}

func TestPage_IsCommitted(t *testing.T) {
	committed := must.Get(os.ReadFile("../../docs/configuration.md"))(t)
	if string(committed) != page() {
		t.Error("docs/configuration.md is not what the table gives; run make generate")
	}
}
