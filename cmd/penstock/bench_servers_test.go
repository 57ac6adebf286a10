// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock/penstock/host/config"
)

func TestFirstKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("# of the team\none alice\ntwo bob\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, s := range map[string]config.Server{
		"": {}, "flag": {APIKeys: []string{"flag", "other"}, APIKeyFile: file}, "one": {APIKeyFile: file},
	} {
		if got, err := firstKey(s); got != want || err != nil {
			t.Errorf("%+v: %q %v, want %q", s, got, err, want)
		}
	}
	if _, err := firstKey(config.Server{APIKeyFile: file + "x"}); err == nil {
		t.Error("a missing file was read")
	}
}
