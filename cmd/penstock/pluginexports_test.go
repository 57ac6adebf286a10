// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/author/exports"
)

func TestPluginExports(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, exports.File)
	for i, tc := range []struct {
		method, out, err string
		code             int
	}{
		{"Stop", file + "\n", "", exitDone},
		{"Stop", file + "\n", "it is up to date\n", exitDone},
		{"Sotp", "", filepath.Join(dir, "main.go") + ":5: coin has a method Sotp, which nothing calls; Stop is the extension point", exitFailed},
	} {
		text := "package main\n\nimport \"" + exports.SDK + "/penstock\"\ntype coin struct{}\nfunc (coin) " + tc.method + "() {}\n" +
			"var _ = penstock.Register[coin](penstock.Manifest{Name: \"coin\"})\n"
		if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := penstock(t, "", "plugin", "exports", dir); got.code != tc.code || got.out != tc.out || !strings.Contains(got.err, tc.err) {
			t.Errorf("time %d: exit %d, %q, %q; want %d, %q, %q", i+1, got.code, got.out, got.err, tc.code, tc.out, tc.err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "penstock.Stopper = (*coin)(nil)") {
		t.Errorf("%s, %v", text, err)
	}
}
