// SPDX-License-Identifier: MIT

package api

import (
	"strings"
	"testing"
)

// What asks for no WebSocket, or for one that there is not, is refused like any other request.
func TestSocket_NoHandshake(t *testing.T) {
	r := newRig(t, nil)
	for _, c := range []struct {
		header []string
		status int
	}{
		{nil, 426}, {[]string{"Connection", "Upgrade", "Upgrade", "h2c"}, 426},
		{[]string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "8"}, 400}, {[]string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13"}, 400},
	} {
		status, header, body := r.call("GET", "/v1/ws", "", c.header...)
		if status != c.status || !strings.HasPrefix(header.Get("Content-Type"), "application/json") || !strings.Contains(body, `"code":"no_websocket"`) {
			t.Errorf("%v: %d %s %s", c.header, status, header, body)
		}
		if status == 426 && header.Get("Upgrade") != "websocket" {
			t.Errorf("%v: it is not said what to ask for: %v", c.header, header)
		}
	}
}
