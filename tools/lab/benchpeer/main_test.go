// SPDX-License-Identifier: MIT

package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/lab/bench"
)

func TestKernelsOf(t *testing.T) {
	body := `{"kernels":{"attention":"penstock","weights":[{"type":"q4_0","kernels":"penstock","bytes":3}],"off":[]}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
	defer server.Close()
	h := bench.NewHTTP(server.URL)
	defer h.Close()
	got, err := kernelsOf(t.Context(), h)
	l := lab{model: "m.gguf"}
	l.report.Kernels = got
	if err != nil || !strings.HasSuffix(l.setting(), " Penstock's kernels: attention: penstock; q4_0: penstock 100%.") {
		t.Errorf("%q, %v", l.setting(), err)
	}
	body = `{}`
	if got, err := kernelsOf(t.Context(), h); err == nil {
		t.Errorf("%q of a server that says nothing", got)
	}
}
