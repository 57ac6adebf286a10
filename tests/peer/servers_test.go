// SPDX-License-Identifier: MIT

package peer

import (
	"net/http"
	"testing"

	"github.com/penstock/penstock/tests/hosts"
)

func TestMain(m *testing.M) { hosts.Main(m) }

func TestServers_AnswerAlike(t *testing.T) {
	peer, ours := LlamaServer(t, BuiltIn), Penstock(t, BuiltIn, nil)
	body := `{"content":"Once upon a time"}`
	want, got := peer.Call(t, http.MethodPost, "/tokenize", body), ours.Call(t, http.MethodPost, "/tokenize", body)
	if want.Status != http.StatusOK || got.Status != http.StatusOK {
		t.Fatalf("%+v, %+v", want, got)
	}
	for _, d := range (Comparison{}).Differences(t, want.Body, got.Body) {
		t.Error(d)
	}
}
