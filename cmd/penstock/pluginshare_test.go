// SPDX-License-Identifier: MIT

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestPluginPush_Refusals(t *testing.T) {
	dir := pluginFolder(t)
	good := filepath.Join(dir, "good.wasm")
	for name, tc := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no plugin":    {[]string{filepath.Join(dir, "broken.wasm"), "localhost:1/a"}, exitFailed, "does not begin with"},
		"no file":      {[]string{filepath.Join(dir, "none.wasm"), "localhost:1/a"}, exitFailed, "none.wasm"},
		"no registry":  {[]string{good, "localhost:1/a"}, exitFailed, "localhost:1/a"},
		"under digest": {[]string{good, "localhost:1/a@sha256:" + strings.Repeat("0", 64)}, exitWrongUse, "under a tag"},
		"one argument": {[]string{good}, exitWrongUse, "REFERENCE"},
	} {
		got := penstock(t, "", append([]string{"plugin", "push"}, tc.args...)...)
		if got.code != tc.code || !strings.Contains(got.err, tc.says) {
			t.Errorf("%s: exit %d, %s", name, got.code, got.err)
		}
	}
}
