// SPDX-License-Identifier: MIT

package server

import (
	"net/http"
	"testing"
	"time"

	"github.com/penstock/penstock/tests/hosts"
)

// A host that is about to end says so to proxies, and takes requests until they have noticed. Where
// the machine is too busy to ask within the delay, it is tried with a longer one.
func TestHost_ShutdownDelay_TakesRequests(t *testing.T) {
	for delay := 250 * time.Millisecond; !takenInDelay(t, delay); delay *= 2 {
		if delay > 10*time.Second {
			t.Fatal("a host that ends after a delay takes no requests until then")
		}
	}
}

// takenInDelay reports whether a request was answered while the host said that it is not ready.
func takenInDelay(t *testing.T, delay time.Duration) bool {
	t.Helper()
	h := hosts.Open(t, map[string]any{"server.shutdown_delay": delay.String()})
	stop := hosts.Run(t, h)
	ended := make(chan struct{})
	go func() { stop(); close(ended) }()
	defer func() { <-ended }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // each on a connection of its own
	status := func(path string) int {
		answer, err := client.Get(h.URL() + path)
		if err != nil {
			return 0 // it has ended
		}
		defer answer.Body.Close()
		return answer.StatusCode
	}
	for {
		switch status("/readyz") {
		case 0:
			return false
		case http.StatusServiceUnavailable:
			body := hosts.NewRequest(t, http.MethodPost, h.URL()+"/v1/completions", []byte(`{"prompt":"Once","max_tokens":1}`), "Content-Type", "application/json")
			answer, err := client.Do(body)
			if err != nil {
				return false
			}
			defer answer.Body.Close()
			return answer.StatusCode == http.StatusOK
		}
	}
}
