// SPDX-License-Identifier: MIT

package hub

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/tools/must"
)

// limited lets a handler write so many bytes of the body, and then cuts the connection.
type limited struct {
	http.ResponseWriter
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		_, _ = l.ResponseWriter.Write(p[:l.left])
		_ = http.NewResponseController(l.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	l.left -= len(p)
	return l.ResponseWriter.Write(p)
}

// whole answers with all of the file, whatever was asked for.
func whole(h *testHub, w http.ResponseWriter, r *http.Request) {
	data := h.files[strings.TrimPrefix(r.URL.Path, "/blobs/")]
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data)
}

// badServer is what a server does in place of request n for bytes; true: it has answered.
type badServer func(h *testHub, w http.ResponseWriter, r *http.Request, n int) bool

func isProbe(r *http.Request) bool { return r.Header.Get("Range") == "bytes=0-0" }

// pullFrom pulls a model from a server, with one connection and few attempts.
func (serve badServer) pullFrom(t *testing.T) (h *testHub, folder string, err error) {
	h = newHub(t, map[string][]byte{"m.gguf": tiny(t)})
	h.serve = func(w http.ResponseWriter, r *http.Request, n int) bool { return serve(h, w, r, n) }
	c := h.client(t)
	c.Attempts, c.Connections, c.Stall = 3, 1, 2*time.Second
	folder = t.TempDir()
	_, err = pull(t, c, "owner/name", Options{Folder: folder})
	return h, folder, err
}

// TestPull_FaultyServers: what a pull copes with.
func TestPull_FaultyServers(t *testing.T) {
	for name, serve := range map[string]badServer{
		"cuts every third connection": func(h *testHub, w http.ResponseWriter, r *http.Request, n int) bool {
			if n%3 == 0 {
				w = &limited{w, 10 << 10}
			}
			h.send(w, r)
			return true
		},
		"ignores ranges": func(h *testHub, w http.ResponseWriter, r *http.Request, _ int) bool {
			whole(h, w, r)
			return true
		},
		"ignores ranges and cuts once": func(h *testHub, w http.ResponseWriter, r *http.Request, n int) bool {
			if n == 2 {
				w = &limited{w, 300 << 10}
			}
			whole(h, w, r)
			return true
		},
		"ignores ranges after the first request": func(h *testHub, w http.ResponseWriter, r *http.Request, n int) bool {
			if n == 1 {
				return false
			}
			whole(h, w, r)
			return true
		},
		"does not know the length": func(h *testHub, w http.ResponseWriter, _ *http.Request, _ int) bool {
			_ = http.NewResponseController(w).Flush()
			_, _ = w.Write(h.files["m.gguf"])
			return true
		},
		"stalls once": func(h *testHub, w http.ResponseWriter, r *http.Request, n int) bool {
			if n != 3 {
				return false
			}
			w.Header().Set("Content-Range", strings.Replace(r.Header.Get("Range"), "=", " ", 1)+"/"+strconv.Itoa(len(h.files["m.gguf"])))
			w.WriteHeader(http.StatusPartialContent)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, folder := must.Both(serve.pullFrom(t))(t)
			holds(t, folder, h.files)
		})
	}
}

// TestPull_LyingServers: what a pull ends with, and leaves no model behind.
func TestPull_LyingServers(t *testing.T) {
	for name, tc := range map[string]struct {
		serve badServer
		want  error
		says  string
	}{
		"always cuts": {serve: func(_ *testHub, _ http.ResponseWriter, r *http.Request, _ int) bool {
			if isProbe(r) {
				return false
			}
			panic(http.ErrAbortHandler)
		}, want: ErrServer, says: "after 3 attempts"},
		"sends other bytes of the file": {serve: func(_ *testHub, w http.ResponseWriter, r *http.Request, _ int) bool {
			if !isProbe(r) {
				r.Header.Set("Range", "bytes=7-99")
			}
			return false
		}, want: ErrServer, says: `it sends "bytes 7-99/`},
		"sends wrong bytes": {serve: func(h *testHub, w http.ResponseWriter, r *http.Request, _ int) bool {
			data := slices.Repeat([]byte("x"), len(h.files["m.gguf"]))
			from, to := 0, 0
			if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); err != nil {
				panic(err)
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, len(data)))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(data[from : to+1])
			return true
		}, want: ErrHash, says: "models.hub"},
		"is larger than the list says": {serve: func(h *testHub, w http.ResponseWriter, r *http.Request, _ int) bool {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-0/%d", len(h.files["m.gguf"])+1))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write([]byte("G"))
			return true
		}, want: ErrServer, says: "by the hub's list"},
		"sends more than it says": {serve: func(h *testHub, w http.ResponseWriter, r *http.Request, _ int) bool {
			if isProbe(r) {
				whole(h, w, r)
				return true
			}
			_ = http.NewResponseController(w).Flush()
			_, _ = w.Write(append(slices.Clone(h.files["m.gguf"]), "more"...))
			return true
		}, want: ErrServer, says: "more than the"},
		"compresses": {serve: func(_ *testHub, w http.ResponseWriter, _ *http.Request, _ int) bool {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write([]byte("gzip"))
			return true
		}, want: ErrServer, says: "compresses"},
		"redirects without end": {serve: func(_ *testHub, w http.ResponseWriter, r *http.Request, _ int) bool {
			http.Redirect(w, r, r.URL.String(), http.StatusFound)
			return true
		}, want: ErrServer, says: "redirects"},
		"forgets the file": {serve: func(_ *testHub, w http.ResponseWriter, r *http.Request, _ int) bool {
			if isProbe(r) {
				return false
			}
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			return true
		}, want: ErrServer, says: "has changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, folder, err := tc.serve.pullFrom(t)
			if !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %v with %q", err, tc.want, tc.says)
			}
			if names := library.Stems(folder); len(names) > 0 {
				t.Errorf("the folder has the models %v", names)
			}
		})
	}
}

// TestPull_Refusals: what the hub answers in place of a list, and what the user reads.
func TestPull_Refusals(t *testing.T) {
	for _, tc := range []struct {
		status    int
		header    http.Header
		times     int // until it answers as it should; 0: for ever
		want      error
		says      []string
		reference string
	}{
		{status: 401, header: http.Header{"X-Error-Code": {"RepoNotFound"}, "X-Error-Message": {"Repository not found"}}, want: ErrUnauthorized,
			says: []string{"401", "Repository not found", "HF_TOKEN", "check its name"}},
		{status: 401, header: http.Header{"X-Error-Code": {"GatedRepo"}}, want: ErrUnauthorized, says: []string{"accept its terms", "HF_TOKEN"}},
		{status: 403, want: ErrUnauthorized, says: []string{"403", "accept its terms"}},
		{status: 404, header: http.Header{"X-Error-Code": {"RevisionNotFound"}, "Content-Type": {"text/plain"}}, want: ErrNotFound, says: []string{"404", `\x1b[2J`, "check the names"}},
		{status: 429, header: http.Header{"Retry-After": {"0"}}, want: ErrRateLimited, says: []string{"wait some minutes", "after 3 attempts"}},
		{status: 429, header: http.Header{"Retry-After": {"3000"}}, want: ErrRateLimited, says: []string{"after 1 attempt)"}},
		{status: 429, times: 2},
		{status: 503, times: 2},
		{status: 500, want: ErrServer, says: []string{"500", "another mirror"}},
		{status: 418, want: ErrServer, says: []string{"418"}},
		{status: 200, want: ErrServer, says: []string{"is models.hub a hub?"}},
		{reference: "owner/name:Q2_K", want: ErrNotFound, says: []string{"has no Q2_K", "F16"}},
		{reference: "owner/name/x.gguf", want: ErrNotFound, says: []string{"has no x.gguf", "m-F16.gguf"}},
	} {
		t.Run(fmt.Sprint(tc.status, tc.times, tc.reference), func(t *testing.T) {
			h := newHub(t, map[string][]byte{"m-F16.gguf": tiny(t)})
			var asked atomic.Int32
			h.refuse = func(w http.ResponseWriter, _ *http.Request) bool {
				if n := asked.Add(1); tc.status == 0 || tc.times > 0 && int(n) > tc.times {
					return false
				}
				for key, values := range tc.header {
					w.Header()[key] = values
				}
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte("<html>\x1b[2J"))
				return true
			}
			c := h.client(t)
			c.Attempts = 3
			if tc.reference == "" {
				tc.reference = "owner/name"
			}
			_, err := pull(t, c, tc.reference, Options{Folder: t.TempDir()})
			if tc.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, tc.want) {
				t.Fatalf("got %v, want %v", err, tc.want)
			}
			for _, text := range tc.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q does not say %q", err, text)
				}
			}
			if strings.ContainsRune(err.Error(), 0x1b) {
				t.Errorf("%q writes to the terminal", err)
			}
		})
	}
}

func TestPull_NoRoomOnTheDisk(t *testing.T) {
	h := newHub(t, map[string][]byte{"m.gguf": tiny(t)})
	h.serve = func(w http.ResponseWriter, _ *http.Request, _ int) bool {
		w.Header().Set("Content-Range", "bytes 0-0/1125899906842624")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write([]byte("G"))
		return true
	}
	folder := t.TempDir()
	_, err := pull(t, h.client(t), h.store.URL+"/blobs/m.gguf", Options{Folder: folder})
	if !errors.Is(err, ErrSpace) || !strings.Contains(err.Error(), "make room") {
		t.Errorf("got %v", err)
	}
	holds(t, folder, nil)
}

func TestPull_NoModel(t *testing.T) {
	parts := split(t, 2)
	for name, data := range map[string][]byte{
		"page.gguf":                 []byte("<html>not found</html>"),
		"short.gguf":                tiny(t)[:1<<20],
		"empty.gguf":                {},
		"alone-00001-of-00001.gguf": parts[0],
	} {
		h := newHub(t, map[string][]byte{name: data})
		folder := t.TempDir()
		if _, err := pull(t, h.client(t), h.store.URL+"/blobs/"+name, Options{Folder: folder}); !errors.Is(err, ErrNotModel) {
			t.Errorf("%s: %v", name, err)
		}
		holds(t, folder, nil)
	}
	h := newHub(t, map[string][]byte{"m-00001-of-00002.gguf": parts[0], "m-00002-of-00002.gguf": parts[0]})
	if _, err := pull(t, h.client(t), "owner/name", Options{Folder: t.TempDir()}); !errors.Is(err, ErrNotModel) || !strings.Contains(err.Error(), "not part 2") {
		t.Errorf("the same part twice: %v", err)
	}
}
