// SPDX-License-Identifier: MIT

package hub

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/tools/must"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testHub is a server that behaves like the hub: it lists the files of a repository, and redirects
// to another server (the store) for their bytes. A test makes it misbehave.
type testHub struct {
	*httptest.Server
	store *httptest.Server
	files map[string][]byte // by path in the repository owner/name

	mu       sync.Mutex
	requests []*http.Request // to the store
	tokens   []string        // Authorization at the hub
	oids     map[string]string
	pageSize int                                                      // of the list; 0: all
	refuse   func(w http.ResponseWriter, r *http.Request) bool        // at the hub; true: it has answered
	serve    func(w http.ResponseWriter, r *http.Request, n int) bool // at the store, request n; true: it has answered
	etag     func(name string, data []byte) string
	noLinked bool
}

func newHub(t *testing.T, files map[string][]byte) *testHub {
	h := &testHub{files: files, oids: map[string]string{}}
	h.etag = func(_ string, data []byte) string { return `"` + sum(data) + `"` }
	h.store = httptest.NewServer(http.HandlerFunc(h.bytes))
	h.Server = httptest.NewServer(http.HandlerFunc(h.hub))
	t.Cleanup(h.store.Close)
	t.Cleanup(h.Server.Close)
	return h
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

func (h *testHub) hub(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.tokens = append(h.tokens, r.Header.Get("Authorization"))
	h.mu.Unlock()
	if h.refuse != nil && h.refuse(w, r) {
		return
	}
	if r.URL.Path == "/api/models/owner/name/tree/main" {
		h.list(w, r)
		return
	}
	file, found := strings.CutPrefix(r.URL.Path, "/owner/name/resolve/main/")
	data, has := h.files[file]
	if !found || !has {
		w.Header().Set("X-Error-Code", "EntryNotFound")
		w.Header().Set("X-Error-Message", "Entry not found")
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if !h.noLinked {
		w.Header().Set("X-Linked-Etag", `"`+sum(data)+`"`)
		w.Header().Set("X-Linked-Size", strconv.Itoa(len(data)))
	}
	http.Redirect(w, r, h.store.URL+"/blobs/"+file+"?Signature=secret", http.StatusFound)
}

// list answers with the files in the order of their paths, in pages.
func (h *testHub) list(w http.ResponseWriter, r *http.Request) {
	entries := []map[string]any{{"type": "directory", "path": "sub", "size": 0, "oid": "d"}}
	for _, name := range sortedKeys(h.files) {
		oid := h.oids[name]
		if oid == "" {
			oid = sum(h.files[name])
		}
		entries = append(entries, map[string]any{"type": "file", "path": name, "size": len(h.files[name]), "oid": "0123",
			"lfs": map[string]any{"oid": oid, "size": len(h.files[name]), "pointerSize": 130}})
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	if to := from + h.pageSize; h.pageSize > 0 && to < len(entries) {
		w.Header().Set("Link", fmt.Sprintf(`<%s%s?recursive=1&cursor=%d>; rel="next"`, h.URL, r.URL.Path, to))
		entries = entries[:to]
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(entries[from:])
}

// bytes is the store. http.ServeContent knows ranges, If-Range and 416.
func (h *testHub) bytes(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.requests = append(h.requests, r)
	n := len(h.requests)
	h.mu.Unlock()
	if h.serve == nil || !h.serve(w, r, n) {
		h.send(w, r)
	}
}

// send answers as a good server does.
func (h *testHub) send(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/blobs/")
	w.Header().Set("ETag", h.etag(name, h.files[name]))
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, path.Base(name), time.Time{}, bytes.NewReader(h.files[name]))
}

// ranges are the Range headers of the store's requests.
func (h *testHub) ranges() (list []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.requests {
		list = append(list, r.Header.Get("Range"))
	}
	return list
}

// client is one for this hub that does not wait long.
func (h *testHub) client(t *testing.T) Client {
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return Client{Endpoint: h.URL, Transport: transport, Delay: time.Millisecond, Stall: 5 * time.Second, leastPiece: 64 << 10}
}

func tiny(t *testing.T) []byte {
	t.Helper()
	return must.Get(os.ReadFile("../model/penstock-tiny.gguf"))(t)
}

// split is a model in n files, the first of which has the metadata and no tensors.
func split(t *testing.T, n int) [][]byte {
	t.Helper()
	data := tiny(t)
	whole := must.Get(gguf.Read(bytes.NewReader(data), int64(len(data))))(t)
	parts := make([][]byte, n)
	for i := range n {
		h := &gguf.Header{}
		if i == 0 {
			for _, key := range whole.Keys {
				h.Set(key, whole.Values[key])
			}
		}
		h.Set("split.no", gguf.NewUint16(uint16(i)))
		h.Set("split.count", gguf.NewUint16(uint16(n)))
		var body bytes.Buffer
		for j, tensor := range whole.Tensors {
			if j%n != i {
				continue
			}
			padded := h.Append(tensor.Name, tensor.Type, tensor.Dims...)
			from := uint64(whole.DataOffset) + tensor.Offset
			body.Write(data[from : from+tensor.Size()])
			body.Write(make([]byte, padded-tensor.Size()))
		}
		var out bytes.Buffer
		must.Do(t, h.Write(&out))
		parts[i] = append(out.Bytes(), body.Bytes()...)
	}
	return parts
}
