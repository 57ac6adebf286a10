// SPDX-License-Identifier: MIT

package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHealth(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("it asks for %s", r.URL.Path)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"status":"said"}`))
	}))
	if got := penstock(t, "", "health", server.URL+"/"); got.code != exitDone || !strings.Contains(got.out, "said") {
		t.Errorf("a ready server: %+v", got)
	}
	status = http.StatusServiceUnavailable
	if got := penstock(t, "", "health", server.URL); got.code != exitFailed || !strings.Contains(got.err, "is not ready: 503") || !strings.Contains(got.err, "said") {
		t.Errorf("one that is not ready: %+v", got)
	}
	server.Close()
	if got := penstock(t, "", "health", server.URL); got.code != exitFailed || !strings.Contains(got.err, "no server answers") {
		t.Errorf("none: %+v", got)
	}
	if got := penstock(t, "", "health", "http://[nowhere"); got.code != exitWrongUse {
		t.Errorf("no URL: %+v", got)
	}
}
