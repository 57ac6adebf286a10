// SPDX-License-Identifier: MIT

package config

import (
	"strings"
	"testing"
)

func TestConfig_Risks(t *testing.T) {
	const key = "0123456789abcdef"
	for name, tc := range map[string]struct {
		flags map[string]any
		want  []string
	}{
		"default":          {nil, nil},
		"loopback, no key": {map[string]any{"server.listen": "[::1]:80"}, nil},
		"localhost":        {map[string]any{"server.listen": "localhost:80"}, nil},
		"socket":           {map[string]any{"server.listen": "/run/penstock.sock"}, nil},
		"public":           {map[string]any{"server.listen": "0.0.0.0:80"}, []string{"everybody who can reach 0.0.0.0:80"}},
		"all addresses":    {map[string]any{"server.listen": ":80"}, []string{"everybody"}},
		"public, modules":  {map[string]any{"server.listen": ":80", "plugins.modules": "on"}, []string{"everybody", "may upload code"}},
		"public, key":      {map[string]any{"server.listen": ":80", "server.api_keys": key}, []string{"unencrypted"}},
		"public, file":     {map[string]any{"server.listen": ":80", "server.api_key_file": "f"}, []string{"unencrypted"}},
		"public, TLS":      {map[string]any{"server.listen": ":80", "server.api_keys": key, "server.ssl_cert_file": "c", "server.ssl_key_file": "k"}, nil},
		"all origins":      {map[string]any{"server.cors_origins": "*"}, []string{"every page"}},
		"short keys":       {map[string]any{"server.api_keys": "abc"}, []string{"fewer than 16"}},
		"same key":         {map[string]any{"server.api_keys": key, "server.admin_key": key}, []string{"is the admin key"}},
		"all networks":     {map[string]any{"media.urls": "https", "media.url_networks": "10.0.0.0/8,0.0.0.0/0"}, []string{"fetch from its own machine"}},
		"networks, no URL": {map[string]any{"media.url_networks": "0.0.0.0/0"}, nil},
		"all proxies":      {map[string]any{"server.trusted_proxies": "0.0.0.0/0"}, []string{"any address"}},
	} {
		c, err := Load(Sources{Flags: tc.flags})
		if err != nil {
			t.Fatal(name, err)
		}
		risks := c.Risks()
		if len(risks) != len(tc.want) {
			t.Errorf("%s: %v, want %d", name, risks, len(tc.want))
			continue
		}
		for i, r := range risks {
			if !strings.Contains(r.What, tc.want[i]) || r.Remedy == "" || strings.Contains(r.What+r.Remedy, key) {
				t.Errorf("%s: %v, want %s", name, r, tc.want[i])
			}
		}
	}
}
