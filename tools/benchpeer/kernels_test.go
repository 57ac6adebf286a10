// SPDX-License-Identifier: MIT

package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestKernelsOf(t *testing.T) {
	body := `{"kernels":{"attention":"penstock","weights":[{"type":"q4_0","kernels":"penstock","bytes":3}],"off":[]}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
	defer server.Close()
	got, err := kernelsOf(t.Context(), server.URL)
	l := lab{model: "m.gguf"}
	l.report.Kernels = got
	if err != nil || !strings.HasSuffix(l.setting(), " Penstock's kernels: attention: penstock; q4_0: penstock 100%.") {
		t.Errorf("%q, %v", l.setting(), err)
	}
	body = `{}`
	if got, err := kernelsOf(t.Context(), server.URL); err == nil {
		t.Errorf("%q of a server that says nothing", got)
	}
}
