// SPDX-License-Identifier: MIT

package isolation

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/plugins/tck"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/steadytest"
)

// keyed sends requests that have no key with one.
type keyed struct{ key string }

// RoundTrip implements http.RoundTripper.
func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") == "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+k.key)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// asClient has the test be a client with a key, wherever it names no other.
func asClient(t *testing.T, key string) {
	before := http.DefaultClient.Transport
	http.DefaultClient.Transport = keyed{key}
	t.Cleanup(func() { http.DefaultClient.Transport = before })
}

// hostileModules are the hostile guests of the conformance kit: some of those that end soon, others
// each day. The long test has all.
func hostileModules(t *testing.T) []tck.Case {
	all := tck.Hostile()
	if steadytest.Long() {
		return all
	}
	return steadytest.Some(t, slices.DeleteFunc(all, func(c tck.Case) bool {
		return slices.Contains(burns, c.Name) || strings.HasPrefix(c.Name, "endless-") || strings.HasPrefix(c.Name, "stride-")
	}), 10)
}

// sendModules has two clients at a time send cases as modules of their own, each with another of
// the keys.
func sendModules(t *testing.T, h *host.Host, cases []tck.Case, key func() string) {
	var group sync.WaitGroup
	for half := range 2 {
		group.Go(func() {
			for i := half; i < len(cases); i += 2 {
				remote := &tck.Remote{URL: h.URL(), Key: key(), Own: true}
				if err := tck.Run(context.Background(), remote, cases[i]); err != nil && !late(cases[i], err) {
					t.Errorf("%s: %s: %v", cases[i].Name, cases[i].Rule, err)
				}
				if err := remote.Clean(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// Hostile guests that clients with ordinary keys bring hold nobody up, as the operator's do not. A
// stream beside them has the text that it has alone, each of them ends with its request, and their
// memory is free at the end.
func TestHost_HostileModules_HoldUpNobody(t *testing.T) {
	asClient(t, "neighbour")
	for cases := range slices.Chunk(hostileModules(t), 100) {
		keys := []string{"neighbour"}
		for i := range trials * len(cases) { // an upload counts, so each has a key of its own
			keys = append(keys, fmt.Sprint("client-", i))
		}
		var taken atomic.Int64
		h := hosts.OpenWithPlugins(t, map[string]any{"plugins.modules": "on", "scheduler.slots": "8", "server.api_keys": strings.Join(keys, ",")}, nil)
		neighbour(t, h) // what is set up once is set up
		alone, _ := neighbour(t, h)
		began := time.Now()
		holdsUpNobody(t, "hostile modules", func() func() time.Duration { return neighbours(t, h, alone) }, func() {
			sendModules(t, h, cases, func() string { return keys[taken.Add(1)] })
		})
		t.Logf("%d modules: %v", len(cases), time.Since(began).Round(time.Millisecond))
		hosts.Await(t, func() bool { running, waiting := hosts.Requests(t, h); return running == 0 && waiting == 0 })
		if text, _ := neighbour(t, h); text != alone {
			t.Errorf("afterwards %q, before %q", text, alone)
		}
		hosts.Await(t, func() bool {
			return strings.Contains(hosts.Get(t, h.URL()+"/metrics"), "\npenstock_plugin_memory_bytes 0\n")
		})
	}
}
