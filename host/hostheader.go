// SPDX-License-Identifier: MIT

package host

import (
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// checksHosts reports whether requests must name a host of this machine in their Host header. If
// no key is asked for and only this machine can connect, a page of the web could still get in: by
// a host name of its own that it lets point to 127.0.0.1 (DNS rebinding). To the browser that is
// the page's own origin.
func (h *Host) checksHosts() bool {
	address, ok := h.listener.Addr().(*net.TCPAddr)
	return ok && address.IP.IsLoopback() && !h.config.Server.NeedsKey()
}

// allowsHost reports whether a request's Host is a name of this machine, or of an origin that is
// configured, as that of a proxy.
func (h *Host) allowsHost(host string) bool {
	name := hostname(host)
	if name == "localhost" || strings.HasSuffix(name, ".localhost") || net.ParseIP(name).IsLoopback() {
		return true
	}
	for _, origin := range h.config.Server.CORSOrigins {
		if u, err := url.Parse(origin); origin == "*" || err == nil && u.Host != "" && hostname(u.Host) == name {
			return true
		}
	}
	return false
}

// hostname is a Host header without its port, in lower case.
func hostname(host string) string {
	return strings.ToLower((&url.URL{Host: host}).Hostname())
}

func refuseHost(w http.ResponseWriter, host string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{ // a client that has gone needs no answer
		"code": "host_not_allowed", "type": "permission_error", "param": nil,
		"message": "this server is for its own machine and does not know the host " + host +
			"; --cors-origins http://" + host + " would let it in, and so would asking for keys (--api-key)",
	}})
}
