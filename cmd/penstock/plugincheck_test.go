// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/author/check"
	"github.com/penstock/penstock/plugins/asm"
)

func TestPluginCheck_FindsWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	strict := asm.New(`{"name":"strict","config_schema":{"required":["p"]}}`).On("penstock_accept", asm.I32(0))
	for name, g := range map[string]*asm.Guest{
		"well.wasm":   asm.New(`{"name":"well"}`).On("penstock_accept", asm.I32(0)),
		"traps.wasm":  asm.New(`{"name":"traps"}`).On("penstock_accept", asm.Unreachable),
		"strict.wasm": strict,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), g.Wasm(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		args     []string
		code     int
		out, err string
	}{
		"well":             {[]string{"well.wasm"}, exitDone, "nothing wrong was found", ""},
		"traps":            {[]string{"well.wasm", "traps.wasm"}, exitFailed, "penstock_accept: trap", "traps.wasm: something is wrong"},
		"no configuration": {[]string{"strict.wasm"}, exitFailed, "", "strict.wasm: the configuration: "},
		"a configuration":  {[]string{"strict.wasm", "--plugin-config", `{"p":1}`}, exitDone, "nothing wrong", ""},
		"no file":          {[]string{"none.wasm"}, exitFailed, "", "none.wasm"},
		"nothing":          {nil, exitWrongUse, "", "FILE..."},
	} {
		args := []string{"plugin", "check", "--conversations", "2", "--tokens", "8"}
		for _, a := range tc.args {
			if filepath.Ext(a) == ".wasm" {
				a = filepath.Join(dir, a)
			}
			args = append(args, a)
		}
		got := penstock(t, "", args...)
		if got.code != tc.code || !strings.Contains(got.out, tc.out) || !strings.Contains(got.err, tc.err) {
			t.Errorf("%s: exit %d\n%s%s", name, got.code, got.out, got.err)
		}
	}
	got := penstock(t, "", "plugin", "check", "--json", "--conversations", "2", "--tokens", "8", filepath.Join(dir, "well.wasm"))
	var reports []check.Report
	if err := json.Unmarshal([]byte(got.out), &reports); err != nil || len(reports) != 1 || reports[0].Plugin != "well" {
		t.Errorf("%s: %v", got.out, err)
	}
}
