// SPDX-License-Identifier: MIT

package isolation

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// TestHost_Body_NobodyReads: a client that announces a body and sends none does not hold its
// connection for ever, whatever the route does with it.
func TestHost_Body_NobodyReads(t *testing.T) {
	h := hosts.Open(t, map[string]any{"server.api_keys": []string{"key"}, "plugins.dir": t.TempDir(), "server.body_timeout": "50ms"})
	hosts.Run(t, h)
	for request, want := range map[string]int{
		"POST /livez": 404, "GET /livez": 200, "POST /v1/plugins": 403, "POST /v1/chat/completions": 401,
	} {
		conn := must.Get(net.Dial("tcp", hosts.Address(h)))(t)
		must.Get(fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{", request))(t)
		must.Do(t, conn.SetReadDeadline(time.Now().Add(2*time.Minute)))
		from := bufio.NewReader(conn)
		answer, err := http.ReadResponse(from, nil)
		if err != nil {
			t.Fatalf("%s: %v", request, err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != want {
			t.Errorf("%s: %d, %v; want %d", request, answer.StatusCode, err, want)
		}
		if _, err := from.ReadByte(); err != io.EOF {
			t.Errorf("%s: the connection is still open (%v)", request, err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}
