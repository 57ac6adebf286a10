// SPDX-License-Identifier: MIT

package models

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tests/hosts"
)

// loadTold is what a router reads of GET /v1/load.
type loadTold struct {
	State  string
	Models []struct {
		Slots    struct{ All, Busy int }
		Queue    struct{ Length int }
		Tokens   struct{ Prompt, Generated int }
		KVCache  struct{ Cells, Used, Cached int } `json:"kv_cache"`
		Adapters []struct {
			Name             string
			Running, Waiting int
		}
		Prefixes struct {
			BlockTokens int `json:"block_tokens"`
			Sets        []struct {
				Adapters []struct{ Name string }
				Digests  []string
			}
		}
	}
}

func loadOf(t *testing.T, h *host.Host) (l loadTold) {
	t.Helper()
	text := hosts.Get(t, h.URL()+"/v1/load")
	if err := json.Unmarshal([]byte(text), &l); err != nil || len(l.Models) != 2 { // the built-in ones, of which the second is not loaded
		t.Fatal(err, text)
	}
	return l
}

// Adapters are told with the requests that have them, and what they have computed is a set of its
// own.
func TestHost_Load_Adapters(t *testing.T) {
	path := write(t, t.TempDir(), "tales", synth.Adapter{Seed: 1})
	h := hosts.Open(t, map[string]any{"model.lora_scaled": []string{path + ":0.5"}, "model.lora_init_without_apply": true, "scheduler.slots": 1})
	hosts.Run(t, h)
	lora := func(running, waiting string) float64 {
		return hosts.Metric(t, h, "vllm:lora_requests_info", fmt.Sprintf(`max_lora="1",model_name="penstock-tiny",running_lora_adapters="%s",waiting_lora_adapters="%s"`, running, waiting))
	}
	if lora("", "") < 1e9 {
		t.Error("no adapters at work are told of")
	}
	leave := occupy(t, h, "/completion", fmt.Sprintf(`{"prompt":%q,"n_predict":1500,"stream":true,"ignore_eos":true,"lora":[{"name":"tales","scale":1}]}`,
		strings.Repeat("Once upon a time. ", 30)), 2)
	hosts.Await(t, func() bool {
		a := loadOf(t, h).Models[0].Adapters
		return len(a) == 1 && a[0].Name == "tales" && a[0].Running == 1 && a[0].Waiting == 1
	})
	if lora("tales", "tales") < 1e9 {
		t.Error(hosts.Get(t, h.URL()+"/metrics"))
	}
	leave()
	hosts.Await(t, func() bool {
		m := loadOf(t, h).Models[0]
		return m.Slots.Busy == 0 && len(m.Prefixes.Sets) == 1 && len(m.Prefixes.Sets[0].Adapters) == 1 && m.Prefixes.Sets[0].Adapters[0].Name == "tales"
	})
}

// occupy has some clients ask for long answers until they leave, which waits until they are gone.
func occupy(t *testing.T, h *host.Host, path, body string, clients int) (leave func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range clients {
		r := hosts.NewRequest(t, http.MethodPost, h.URL()+path, []byte(body)).WithContext(ctx)
		all.Go(func() {
			if a, err := http.DefaultClient.Do(r); err == nil { // else it has left before the answer began
				_, _ = io.Copy(io.Discard, a.Body)
				_ = a.Body.Close()
			}
		})
	}
	leave = func() { stop(); all.Wait() }
	t.Cleanup(leave)
	return leave
}
