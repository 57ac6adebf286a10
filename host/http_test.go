// SPDX-License-Identifier: MIT

package host

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// newRequest makes a request with headers, which are names and values in turn.
func newRequest(t *testing.T, method, url string, body []byte, headers ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		t.Error(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// send sends a request and reads the answer; it may be called from any goroutine.
func send(t *testing.T, client *http.Client, r *http.Request) (status int, header http.Header, body string) {
	t.Helper()
	a, err := client.Do(r)
	if err != nil {
		t.Error(err)
		return 0, nil, ""
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Error(err)
	}
	return a.StatusCode, a.Header, string(text)
}

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	status, _, text := send(t, http.DefaultClient, newRequest(t, http.MethodPost, url, []byte(body), "Content-Type", "application/json"))
	return status, text
}

func get(t *testing.T, url string) string {
	t.Helper()
	_, _, text := send(t, http.DefaultClient, newRequest(t, http.MethodGet, url, nil))
	return text
}

// address is the host's network address.
func address(h *Host) string {
	_, address, _ := strings.Cut(h.URL(), "://")
	return address
}

// admin sends a request with the key "secret".
func admin(t *testing.T, h *Host, method, path string, wasm []byte) (int, string) {
	t.Helper()
	return adminBy(t, http.DefaultClient, h, method, path, wasm)
}

func adminBy(t *testing.T, client *http.Client, h *Host, method, path string, wasm []byte) (int, string) {
	t.Helper()
	status, _, text := send(t, client, newRequest(t, method, h.URL()+path, wasm, "Authorization", "Bearer secret", "Content-Type", "application/wasm"))
	return status, text
}
