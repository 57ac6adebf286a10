// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/tools/must"
)

// TestAPI_CacheSalt_OneAKey: a key learns nothing of what another's prompts were.
func TestAPI_CacheSalt_OneAKey(t *testing.T) {
	prompt := strings.Repeat("a secret ", 20)
	for _, share := range []bool{false, true} {
		r := newRig(t, func(s *setup) { s.Keys, s.ShareCache = keys("", nil, "one", "two"), share })
		cached := func(key string) int {
			t.Helper()
			_, _, body := r.call(http.MethodPost, "/v1/completions", fmt.Sprintf(`{"prompt":%q,"max_tokens":1}`, prompt), "Authorization", "Bearer "+key)
			var answer struct{ Usage wire.Usage }
			if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Usage.Prompt != len(prompt) {
				t.Fatal(err, body)
			}
			return answer.Usage.Details.Cached
		}
		if n := cached("one"); n != 0 {
			t.Errorf("the first prompt had %d tokens cached", n)
		}
		if n := cached("two"); (n > 0) != share {
			t.Errorf("shared %v: another key finds %d tokens cached", share, n)
		}
		if n := cached("one"); n == 0 {
			t.Errorf("shared %v: the same key finds nothing", share)
		}
	}
}

func TestSocket_CacheSalt_IsTheKeys(t *testing.T) {
	r := newRig(t, func(s *setup) { s.Keys = keys("", nil, "one", "two") })
	for _, key := range []string{"one", "two"} {
		conn, _ := must.Both(websocket.Dial(context.Background(), r.url+"/v1/ws", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + key}}}))(t)
		p := &peer{t, conn}
		p.send(`{"type":"generate","id":"a","request":{"prompt":%q,"max_tokens":1}}`, strings.Repeat("a secret ", 20))
		if f := p.until("started"); f.Cached != 0 {
			t.Errorf("key %s: %d tokens of another's prompt", key, f.Cached)
		}
		p.until("end")
		conn.CloseNow() //nolint:errcheck // all was read
	}
}
