// SPDX-License-Identifier: MIT

package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/tests/hosts"
)

// callAs sends a request with a Host header of its own, and the Origin of a page there.
func callAs(t *testing.T, h *host.Host, host string) (int, string) {
	t.Helper()
	r := hosts.NewRequest(t, http.MethodGet, h.URL()+"/livez", nil, "Origin", "http://"+host)
	r.Host = host
	status, _, body := hosts.Send(t, http.DefaultClient, r)
	return status, body
}

func TestHost_Answer_OtherHosts(t *testing.T) {
	h := hosts.Open(t, map[string]any{"server.cors_origins": "https://friend.example,http://proxy.example:81"})
	hosts.Run(t, h)
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:8080": 200, "page.localhost": 200, "127.0.0.1:1": 200, "127.9.9.9": 200, "[::1]:8080": 200,
		"friend.example": 200, "proxy.example": 200,
		"foe.example": 403, "foe.example:8080": 403, "localhost.foe.example": 403, "127.0.0.1.foe.example": 403, "192.168.1.5": 403,
		"notlocalhost": 403, "friend.example.foe.example": 403,
	} {
		status, body := callAs(t, h, host)
		if status != want {
			t.Errorf("%s: %d, want %d", host, status, want)
		}
		if want == 403 && (!json.Valid([]byte(body)) || !strings.Contains(body, "host_not_allowed") || !strings.Contains(body, host)) {
			t.Errorf("%s: %s", host, body)
		}
	}
}

// Who asks for keys, or lets everybody connect, is not checked: names are theirs to choose.
func TestHost_Answer_OtherHosts_NotChecked(t *testing.T) {
	for name, change := range map[string]map[string]any{
		"keys":      {"server.api_keys": "one"},
		"all hosts": {"server.listen": "0.0.0.0:0"},
		"all pages": {"server.cors_origins": "*"},
	} {
		h := hosts.Open(t, change)
		if status, body := callAs(t, h, "foe.example"); status != 200 {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}
