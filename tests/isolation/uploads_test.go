// SPDX-License-Identifier: MIT

package isolation

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/steadytest"
)

// uploads sends modules all at once, each a version of one of ten plugins, one in ten of them
// broken.
func uploads(t *testing.T, h *host.Host, n int) {
	t.Helper()
	client := &http.Client{}
	defer client.CloseIdleConnections()
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			wasm, want := hosts.Always(fmt.Sprint("up-", i%9), 300+i), "20"
			if i%10 == 9 {
				wasm, want = wasm[:len(wasm)-1-i%40], "400"
			}
			status, body := hosts.AdminBy(t, client, h, http.MethodPost, "/v1/plugins", wasm)
			for status == http.StatusServiceUnavailable { // the others have their turn
				status, body = hosts.AdminBy(t, client, h, http.MethodPost, "/v1/plugins", wasm)
			}
			if !strings.HasPrefix(fmt.Sprint(status), want) {
				t.Errorf("upload %d: %d %s; want %s", i, status, body, want)
			}
		})
	}
	group.Wait()
}

// A thousand in the long test.
func TestPlugins_Upload_ManyAtOnce(t *testing.T) {
	h := hosts.OpenWithPlugins(t, map[string]any{"server.admin_key": "secret", "plugins.scripts": "off"}, nil)
	undisturbed := among(t, h)
	uploads(t, h, steadytest.InLongTest(1000, 50))
	undisturbed()
	for i := range 9 {
		if status, text, _ := hosts.Complete(t, h, fmt.Sprintf(`,"plugins":["up-%d"]`, i)); status != 200 || text == "" {
			t.Errorf("up-%d: %d %q", i, status, text)
		}
	}
	if list := hosts.Get(t, h.URL()+"/v1/plugins"); strings.Count(list, `"state":"ready"`) != 9 || strings.Contains(list, `"failed"`) {
		t.Errorf("the plugins are %s", list)
	}
}
