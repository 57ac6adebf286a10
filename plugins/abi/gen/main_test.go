// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/plugins/abi/table"
)

func TestOutputs_Regenerate_NoDifference(t *testing.T) {
	for name, render := range outputs {
		t.Run(filepath.Base(name), func(t *testing.T) {
			want, err := render(table.V1())
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(name)))
			if err != nil {
				t.Fatal(err)
			}
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
