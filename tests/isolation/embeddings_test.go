// SPDX-License-Identifier: MIT

package isolation

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/tests/hosts"
)

// Clients of embeddings hold up nobody: what three streams notice of four clients, with the model
// that chats and with one of its own.
func TestHost_Embeddings_HoldUpNobody(t *testing.T) {
	for name, tc := range map[string]struct {
		change map[string]any
		frogs  int // in the texts of a client more than in those of the one before; an encoder takes 512 tokens
	}{
		"the model that chats": {nil, 100}, "an encoder": {map[string]any{"embedding.model": hosts.SmallModel(t, "bert")}, 20},
	} {
		t.Run(name, func(t *testing.T) {
			h := hosts.OpenWithPlugins(t, tc.change, nil)
			if status, answer := hosts.Post(t, h.URL()+"/v1/embeddings", `{"input":"x"}`); status != http.StatusOK { // its model is loaded then
				t.Fatal(status, answer)
			}
			holdsUpNobody(t, "embeddings by "+name, func() func() time.Duration { return gaps(t, h) }, func() { embed(t, h, tc.frogs, time.Second) })
		})
	}
}

// embed has four clients ask for embeddings of eight texts each, short and long, again and again
// for so long.
func embed(t *testing.T, h *host.Host, frogs int, d time.Duration) {
	var group sync.WaitGroup
	until := time.Now().Add(d)
	for client := range 4 {
		group.Go(func() {
			text := strings.Repeat("a frog ", 1+frogs*client)
			body := fmt.Sprintf(`{"input":[%s%q]}`, strings.Repeat(fmt.Sprintf("%q,", text), 7), text)
			for going := true; going; going = time.Now().Before(until) {
				if status, answer := hosts.Post(t, h.URL()+"/v1/embeddings", body); status != http.StatusOK {
					t.Error(status, answer)
					return
				}
			}
		})
	}
	group.Wait()
}
