// SPDX-License-Identifier: MIT

package host

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/must"
)

// A host that is about to end says so for as long as it is told to, and still takes what comes, on
// connections that it closes.
func TestHost_Announce(t *testing.T) {
	const delay = 20 * time.Millisecond
	h, ready := open(t, map[string]any{"server.shutdown_delay": delay.String()}), make(chan struct{})
	h.ready = func(string) { close(ready) }
	run(t, h)
	<-ready
	for _, want := range []struct {
		readyz  int
		closing bool
	}{{200, false}, {503, true}} {
		for path, status := range map[string]int{"/readyz": want.readyz, "/livez": 200, "/v1/chat/completions": 200} {
			method, body := http.MethodGet, ""
			if strings.HasPrefix(path, "/v1") {
				method, body = http.MethodPost, `{`+frog+`,"max_tokens":2}`
			}
			r := must.Get(http.NewRequestWithContext(t.Context(), method, h.URL()+path, strings.NewReader(body)))(t)
			a := must.Get(http.DefaultClient.Do(r))(t)
			text, err := io.ReadAll(a.Body)
			_ = a.Body.Close() // it was read
			if err != nil || a.StatusCode != status || a.Close != want.closing {
				t.Errorf("%s: %d %s, closing %v, %v; want %d, closing %v", path, a.StatusCode, text, a.Close, err, status, want.closing)
			}
		}
		begun := time.Now()
		if h.announce(); time.Since(begun) < delay {
			t.Error("it does not wait for proxies")
		}
	}
}
