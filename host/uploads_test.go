// SPDX-License-Identifier: MIT

package host

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// uploads sends modules all at once, each a version of one of ten plugins, one in ten of them broken.
func uploads(t *testing.T, h *Host, n int) {
	t.Helper()
	client := &http.Client{}
	defer client.CloseIdleConnections()
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			wasm, want := always(fmt.Sprint("up-", i%9), 300+i), "20"
			if i%10 == 9 {
				wasm, want = wasm[:len(wasm)-1-i%40], "400"
			}
			status, body := adminBy(t, client, h, http.MethodPost, "/v1/plugins", wasm)
			for status == http.StatusServiceUnavailable { // the others have their turn
				status, body = adminBy(t, client, h, http.MethodPost, "/v1/plugins", wasm)
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
	h := openWithPlugins(t, map[string]any{"server.admin_key": "secret"}, nil)
	undisturbed := among(t, h)
	uploads(t, h, inLongTest(1000, 300))
	undisturbed()
	for i := range 9 {
		if status, text, _ := complete(t, h, fmt.Sprintf(`,"plugins":["up-%d"]`, i)); status != 200 || text == "" {
			t.Errorf("up-%d: %d %q", i, status, text)
		}
	}
	if list := get(t, h.URL()+"/v1/plugins"); strings.Count(list, `"state":"ready"`) != 9 || strings.Contains(list, `"failed"`) {
		t.Errorf("the plugins are %s", list)
	}
}
