// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/plugins/abi/table"
	"github.com/penstock/penstock/tools/must"
)

func TestOutputs_Regenerate_NoDifference(t *testing.T) {
	for name, render := range outputs {
		t.Run(filepath.Base(name), func(t *testing.T) {
			want := must.Get(render(table.V1()))(t)
			got := must.Get(os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(name))))(t)
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s is stale, run go generate ./plugins/abi (- table, + file):\n%s", name, diff)
			}
		})
	}
}

func TestCamel(t *testing.T) {
	for in, want := range map[string]string{"token_attr": "TokenAttr", "special_eos": "SpecialEOS", "": ""} {
		if got := camelCase(in); got != want {
			t.Errorf("camel(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestExportName(t *testing.T) {
	for in, want := range map[string]string{
		"penstock_abi_v1": "ExportABIV1", "penstock_sample": "ExportSample", "_initialize": "ExportInitialize",
	} {
		if got := exportName(in); got != want {
			t.Errorf("exportName(%q) = %s, want %s", in, got, want)
		}
	}
}
