// SPDX-License-Identifier: MIT

package models

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// startHub serves a repository owner/name with the built-in model.
func startHub(t *testing.T) string {
	t.Helper()
	data := must.Get(os.ReadFile(hosts.BuiltIn))(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/models/owner/name/tree/main":
			fmt.Fprintf(w, `[{"type":"file","path":"new-Q4_K_M.gguf","size":%d,"lfs":{"oid":"%x","size":%d}}]`, len(data), sha256.Sum256(data), len(data))
		case "/owner/name/resolve/main/new-Q4_K_M.gguf":
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestHost_PullAndDelete: what is pulled through the API is served at once, and gone once it is
// deleted.
func TestHost_PullAndDelete(t *testing.T) {
	h := serveSeveral(t, map[string]any{"models.hub": startHub(t)})
	if status, _, _ := sayOf(t, h, "new-Q4_K_M"); status != http.StatusNotFound {
		t.Fatalf("before: %d", status)
	}
	_, _, answer := hosts.Send(t, http.DefaultClient, hosts.NewRequest(t, http.MethodPost, h.URL()+"/api/pull", []byte(`{"model":"owner/name:latest"}`),
		"Content-Type", "application/json", "Authorization", "Bearer secret"))
	var said []string
	for lines := bufio.NewScanner(strings.NewReader(answer)); lines.Scan(); {
		var line struct {
			Status           string
			Total, Completed int64
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("%v in %q", err, lines.Text())
		}
		said = append(said, line.Status)
	}
	if len(said) < 3 || said[0] != "pulling new-Q4_K_M.gguf" || said[len(said)-1] != "success" {
		t.Fatalf("the pull says %q", said)
	}
	if status, by, text := sayOf(t, h, "new-Q4_K_M"); status != http.StatusOK || by != "new-Q4_K_M" {
		t.Errorf("then: %d by %q: %s", status, by, text)
	}
	if status, answer := command(t, h, "/api/pull", `{"model":"owner/name","stream":false}`); status != http.StatusOK || answer["status"] != "success" {
		t.Errorf("again: %d %v", status, answer)
	}
	if status := deleteModel(t, h, "new-Q4_K_M", "secret"); status != http.StatusOK {
		t.Errorf("delete: %d", status)
	}
	if status, _, _ := sayOf(t, h, "new-Q4_K_M"); status != http.StatusNotFound {
		t.Errorf("after: %d", status)
	}
	if status := deleteModel(t, h, "new-Q4_K_M", "secret"); status != http.StatusNotFound {
		t.Errorf("delete again: %d", status)
	}
	if status := deleteModel(t, h, "tale", "wrong"); status != http.StatusUnauthorized {
		t.Errorf("delete without the key: %d", status)
	}
}

func deleteModel(t *testing.T, h *host.Host, name, key string) int {
	t.Helper()
	status, _, _ := hosts.Send(t, http.DefaultClient, hosts.NewRequest(t, http.MethodDelete, h.URL()+"/api/delete", fmt.Appendf(nil, `{"model":%q}`, name),
		"Content-Type", "application/json", "Authorization", "Bearer "+key))
	return status
}

func TestHost_Pull_Refusals(t *testing.T) {
	h := serveSeveral(t, map[string]any{"models.hub": startHub(t)})
	for body, want := range map[string]struct {
		status int
		says   string
	}{
		`{}`:                                   {http.StatusBadRequest, "OWNER/NAME"},
		`{"model":"nonsense"}`:                 {http.StatusBadRequest, "OWNER/NAME"},
		`{"model":"http://127.0.0.1/x.gguf"}`:  {http.StatusBadRequest, "model is a URL"},
		`{"model":"owner/other"}`:              {http.StatusNotFound, "404"},
		`{"model":"owner/name:Q2_K"}`:          {http.StatusNotFound, "Q4_K_M"},
		`{"model":"owner/name","stream":"no"}`: {http.StatusBadRequest, "stream"},
	} {
		status, answer := command(t, h, "/api/pull", body)
		if status != want.status || !strings.Contains(fmt.Sprint(answer["error"]), want.says) {
			t.Errorf("%s: %d %v, want %d and %q", body, status, answer, want.status, want.says)
		}
	}
}

// What can be deleted need not be a model that is served: an adapter, or what a pull has left.
func TestHost_SeveralModels_AdaptersAndPartsAreDeleted(t *testing.T) {
	dir := hosts.ModelFolder(t)
	h := serveSeveral(t, map[string]any{"models.dir": dir})
	lora, part := filepath.Join(dir, "style.gguf"), filepath.Join(dir, "half.gguf.part")
	var adapter bytes.Buffer
	must.Do(t, (synth.Adapter{Model: hosts.BuiltIn, Seed: 1}).Write(&adapter))
	must.Do(t, os.WriteFile(lora, adapter.Bytes(), 0o600))
	must.Do(t, os.WriteFile(part, []byte("GGUF"), 0o600))
	for name, path := range map[string]string{"style": lora, "half:latest": part} {
		if status := deleteModel(t, h, name, "secret"); status != http.StatusOK {
			t.Errorf("%s: %d", name, status)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
