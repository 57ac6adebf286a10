// SPDX-License-Identifier: MIT

package config

import (
	"strings"
	"testing"
)

// Unless the operator says so, strangers send no code, and nobody does where plugins.lock names all
// code that may run.
func TestConfig_Scripts(t *testing.T) {
	lock := "a@sha256:" + strings.Repeat("0", 64)
	for name, tc := range map[string]struct {
		flags map[string]any
		want  string
	}{
		"default":              {nil, ScriptsOn},
		"public":               {map[string]any{"server.listen": ":80"}, ScriptsOff},
		"public, on":           {map[string]any{"server.listen": ":80", "plugins.scripts": "on"}, ScriptsOn},
		"public, keys":         {map[string]any{"server.listen": ":80", "server.api_keys": "a"}, ScriptsOn},
		"public, key file":     {map[string]any{"server.listen": ":80", "server.api_key_file": "f"}, ScriptsOn},
		"public, admin only":   {map[string]any{"server.listen": ":80", "server.admin_key": "a"}, ScriptsOff},
		"socket":               {map[string]any{"server.listen": "/run/penstock.sock"}, ScriptsOn},
		"off":                  {map[string]any{"plugins.scripts": "off"}, ScriptsOff},
		"locked":               {map[string]any{"plugins.lock": lock, "server.api_keys": "a"}, ScriptsOff},
		"locked, on":           {map[string]any{"plugins.lock": lock, "plugins.scripts": "on"}, ScriptsOn},
		"named keys":           {map[string]any{"plugins.script_keys": "a"}, ScriptsKeys},
		"named keys, by word":  {map[string]any{"plugins.script_keys": "a", "plugins.scripts": "keys"}, ScriptsKeys},
		"named keys of others": {map[string]any{"plugins.script_keys": "b", "server.api_keys": "a,b"}, ScriptsKeys},
	} {
		c, err := Load(Sources{Flags: tc.flags})
		if err != nil {
			t.Fatal(name, err)
		}
		if got := c.Scripts(); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
