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
		"default":              {nil, CodeOn},
		"public":               {map[string]any{"server.listen": ":80"}, CodeOff},
		"public, on":           {map[string]any{"server.listen": ":80", "plugins.scripts": "on"}, CodeOn},
		"public, keys":         {map[string]any{"server.listen": ":80", "server.api_keys": "a"}, CodeOn},
		"public, key file":     {map[string]any{"server.listen": ":80", "server.api_key_file": "f"}, CodeOn},
		"public, admin only":   {map[string]any{"server.listen": ":80", "server.admin_key": "a"}, CodeOff},
		"socket":               {map[string]any{"server.listen": "/run/penstock.sock"}, CodeOn},
		"off":                  {map[string]any{"plugins.scripts": "off"}, CodeOff},
		"locked":               {map[string]any{"plugins.lock": lock, "server.api_keys": "a"}, CodeOff},
		"locked, on":           {map[string]any{"plugins.lock": lock, "plugins.scripts": "on"}, CodeOn},
		"named keys":           {map[string]any{"plugins.script_keys": "a"}, CodeKeys},
		"named keys, by word":  {map[string]any{"plugins.script_keys": "a", "plugins.scripts": "keys"}, CodeKeys},
		"named keys of others": {map[string]any{"plugins.script_keys": "b", "server.api_keys": "a,b"}, CodeKeys},
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
