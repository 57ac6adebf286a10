// SPDX-License-Identifier: MIT

package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/tools/must"
)

func sortedKeys(m map[string][]byte) []string { return slices.Sorted(maps.Keys(m)) }

// pull pulls a reference into a folder.
func pull(t *testing.T, c Client, reference string, o Options) (Result, error) {
	t.Helper()
	r := must.Get(Parse(reference))(t)
	return c.Pull(t.Context(), r, o)
}

// holds checks what a folder has, the notes of sources apart.
func holds(t *testing.T, folder string, want map[string][]byte) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil && len(want) > 0 {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".source.json") {
			names = append(names, e.Name())
		}
	}
	if diff := cmp.Diff(sortedKeys(want), names); diff != "" {
		t.Fatalf("files (-want +got):\n%s", diff)
	}
	for name, data := range want {
		if have, err := os.ReadFile(filepath.Join(folder, name)); err != nil || !bytes.Equal(have, data) {
			t.Errorf("%s has %d bytes, want %d (%v)", name, len(have), len(data), err)
		}
	}
}

func TestPull_Repository_ChoosesAndNotesTheSource(t *testing.T) {
	data := tiny(t)
	h := newHub(t, map[string][]byte{"README.md": []byte("hello"), "m-Q8_0.gguf": data, "m-Q4_K_M.gguf": data, "mtp-Q4_K_M.gguf": data, "a-F16.gguf": data})
	h.pageSize = 2
	folder := filepath.Join(t.TempDir(), "new", "models")
	result := must.Get(pull(t, h.client(t), "owner/name", Options{Folder: folder}))(t)
	want := Result{Name: "m-Q4_K_M", Path: filepath.Join(folder, "m-Q4_K_M.gguf"), Size: int64(len(data)), Bytes: int64(len(data))}
	if diff := cmp.Diff(want, result); diff != "" {
		t.Error(diff)
	}
	holds(t, folder, map[string][]byte{"m-Q4_K_M.gguf": data})
	m, err := library.Open(folder).Model("m-Q4_K_M")
	if err != nil || m.Source == nil || m.Source.From != "hf://owner/name" || m.Digest != sum(data) || m.Source.Files[0].SHA256 != sum(data) {
		t.Errorf("the model is %+v, its source %+v, %v", m, m.Source, err)
	}
	if len(h.ranges()) < 5 {
		t.Errorf("the store got the ranges %q, want several", h.ranges())
	}
	requests := len(h.ranges())
	again, err := pull(t, h.client(t), "owner/name", Options{Folder: folder, AskHub: true})
	if err != nil || again.Bytes != 0 || len(h.ranges()) != requests+1 {
		t.Errorf("again: %+v, %v, with %d requests", again, err, len(h.ranges())-requests)
	}
}

func TestPull_Split_AllPartsOrNone(t *testing.T) {
	parts := split(t, 3)
	files := map[string][]byte{"Q8_0/m-Q8_0-00001-of-00003.gguf": parts[0], "Q8_0/m-Q8_0-00002-of-00003.gguf": parts[1], "Q8_0/m-Q8_0-00003-of-00003.gguf": parts[2]}
	h := newHub(t, files)
	want := map[string][]byte{}
	for name, data := range files {
		want[filepath.Base(name)] = data
	}
	for _, reference := range []string{"owner/name", "hf://owner/name:q8_0", "hf.co/owner/name/Q8_0/m-Q8_0-00002-of-00003.gguf",
		h.URL + "/owner/name/resolve/main/Q8_0/m-Q8_0-00003-of-00003.gguf"} {
		folder := t.TempDir()
		result, err := pull(t, h.client(t), reference, Options{Folder: folder})
		if err != nil || result.Name != "m-Q8_0" {
			t.Fatalf("%s: %+v, %v", reference, result, err)
		}
		holds(t, folder, want)
	}
	folder := t.TempDir()
	if result, err := pull(t, h.client(t), "owner/name", Options{Folder: folder, Name: "mine"}); err != nil || result.Name != "mine" {
		t.Errorf("%+v, %v", result, err)
	}
	must.Do(t, os.Remove(filepath.Join(folder, "mine-00002-of-00003.gguf")))
	result, err := pull(t, h.client(t), "owner/name", Options{Folder: folder, Name: "mine"})
	if err != nil || result.Bytes != int64(len(parts[1])) {
		t.Errorf("with a part missing: %+v, %v", result, err)
	}

	h.oids["Q8_0/m-Q8_0-00002-of-00003.gguf"] = strings.Repeat("0", 64)
	folder = t.TempDir()
	if _, err := pull(t, h.client(t), "owner/name", Options{Folder: folder}); !errors.Is(err, ErrHash) {
		t.Errorf("with one wrong part: %v", err)
	}
	if names := library.Stems(folder); len(names) > 0 {
		t.Errorf("with one wrong part the folder has %v", names)
	}
	delete(h.files, "Q8_0/m-Q8_0-00002-of-00003.gguf")
	if _, err := pull(t, h.client(t), "owner/name", Options{Folder: t.TempDir()}); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "lacks Q8_0/m-Q8_0-00002") {
		t.Errorf("with a part missing at the hub: %v", err)
	}
}

func TestPull_Interrupted_GoesOnWhereItEnded(t *testing.T) {
	data := tiny(t)
	h := newHub(t, map[string][]byte{"m.gguf": data})
	folder := t.TempDir()
	for _, reference := range []string{"owner/name", h.URL + "/owner/name/resolve/main/m.gguf"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		interrupted := errors.New("interrupted")
		c := h.client(t)
		c.Notify = func(e Event) {
			if p, ok := e.(Progress); ok && p.Done > int64(len(data))/2 {
				cancel(interrupted)
			}
		}
		r := must.Get(Parse(reference))(t)
		if _, err := c.Pull(ctx, r, Options{Folder: folder}); !errors.Is(err, interrupted) {
			t.Fatal(err)
		}
		holdsPart(t, folder)
		result, err := pull(t, h.client(t), reference, Options{Folder: folder})
		if err != nil || result.Bytes == 0 || result.Bytes > int64(len(data))/2 {
			t.Errorf("%s: the second pull brought %d of %d bytes, %v", reference, result.Bytes, len(data), err)
		}
		holds(t, folder, map[string][]byte{"m.gguf": data})
		files := must.Get(library.Open(folder).Removable("m"))(t)
		must.Do(t, library.Open(folder).Remove(files))
	}
}

func holdsPart(t *testing.T, folder string) {
	t.Helper()
	if names := library.Stems(folder); len(names) > 0 {
		t.Errorf("an unfinished pull is a model: %v", names)
	}
	if _, err := os.Stat(filepath.Join(folder, "m.gguf.part")); err != nil {
		t.Error(err)
	}
}

func TestPull_Resumed_OldBytes_BeginsAnew(t *testing.T) {
	data := tiny(t)
	for name, change := range map[string]func(t *testing.T, folder string, h *testHub){
		"bytes damaged on the disk": func(t *testing.T, folder string, _ *testHub) {
			path := filepath.Join(folder, "m.gguf.part")
			have := must.Get(os.ReadFile(path))(t)
			for i := range have {
				have[i] ^= 0xff
			}
			must.Do(t, os.WriteFile(path, have, 0o600))
		},
		"another file at the hub": func(_ *testing.T, _ string, h *testHub) { h.files["m.gguf"] = split(t, 1)[0] },
		"note damaged": func(t *testing.T, folder string, _ *testHub) {
			must.Do(t, os.WriteFile(filepath.Join(folder, "m.gguf.part.json"), []byte(`{"pieces":[{"from":-1,"to":9,"done":3}]}`), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, map[string][]byte{"m.gguf": data})
			folder := t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			c := h.client(t)
			c.Notify = func(e Event) {
				if p, ok := e.(Progress); ok && p.Done > int64(len(data))/2 {
					cancel()
				}
			}
			if _, err := c.Pull(ctx, Reference{Repository: "owner/name", Revision: "main"}, Options{Folder: folder}); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			change(t, folder, h)
			must.Get(pull(t, h.client(t), "owner/name", Options{Folder: folder}))(t)
			holds(t, folder, map[string][]byte{"m.gguf": h.files["m.gguf"]})
		})
	}
}

func TestPull_NameTaken_ByAnotherFile(t *testing.T) {
	h := newHub(t, map[string][]byte{"m.gguf": tiny(t)})
	folder := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(folder, "m.gguf"), []byte("mine"), 0o600))
	_, err := pull(t, h.client(t), "owner/name", Options{Folder: folder})
	if !errors.Is(err, ErrTaken) || !strings.Contains(err.Error(), "penstock model rm m") || !strings.Contains(err.Error(), "--name") {
		t.Errorf("got %v", err)
	}
	holds(t, folder, map[string][]byte{"m.gguf": []byte("mine")})
	if _, err := pull(t, h.client(t), "owner/name", Options{Folder: folder, Name: "other"}); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"../x", "a/b", ".hidden", "a\x1b[2J", strings.Repeat("n", 300)} {
		if _, err := pull(t, h.client(t), "owner/name", Options{Folder: folder, Name: bad}); !errors.Is(err, ErrReference) {
			t.Errorf("--name %q: %v", bad, err)
		}
	}
}

func TestPull_TwoAtOnce_OneIsRefused(t *testing.T) {
	h := newHub(t, map[string][]byte{"m.gguf": tiny(t)})
	folder := t.TempDir()
	var second error
	c := h.client(t)
	c.Notify = func(e Event) {
		if _, ok := e.(Planned); ok {
			_, second = h.client(t).Pull(t.Context(), Reference{Repository: "owner/name", Revision: "main"}, Options{Folder: folder})
		}
	}
	if _, err := pull(t, c, "owner/name", Options{Folder: folder}); err != nil {
		t.Error(err)
	}
	if !errors.Is(second, ErrBusy) {
		t.Errorf("the second pull: %v", second)
	}
	holds(t, folder, map[string][]byte{"m.gguf": tiny(t)})
}

// A pull that is stopped needs a moment to keep what it has: the next one waits for that.
func TestPull_AfterOneThatIsStopped(t *testing.T) {
	h := newHub(t, map[string][]byte{"m.gguf": tiny(t)})
	folder, reference := t.TempDir(), Reference{Repository: "owner/name", Revision: "main"}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	begun, ended := make(chan struct{}), make(chan error, 1)
	first, second := h.client(t), h.client(t)
	first.Notify = func(e Event) {
		if _, ok := e.(Planned); ok {
			close(begun)
			<-ctx.Done()
		}
	}
	go func() {
		_, err := first.Pull(ctx, reference, Options{Folder: folder})
		ended <- err
	}()
	<-begun
	second.Notify = func(e Event) {
		if r, ok := e.(Retrying); ok && errors.Is(r.Err, ErrBusy) {
			stop()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the first pull: %v", err)
			}
		}
	}
	if _, err := second.Pull(t.Context(), reference, Options{Folder: folder}); err != nil {
		t.Error(err)
	}
}

func TestPull_ExpectedHash(t *testing.T) {
	data := tiny(t)
	h := newHub(t, map[string][]byte{"m.gguf": data})
	h.noLinked, h.etag = true, func(string, []byte) string { return `"abc"` }
	address := h.URL + "/owner/name/resolve/main/m.gguf"
	for _, tc := range []struct {
		reference, sha256 string
		want              error
	}{
		{address, sum(data), nil},
		{address, strings.ToUpper(sum(data)), nil},
		{address, strings.Repeat("0", 64), ErrHash},
		{address, "abc", ErrReference},
		{"owner/name", strings.Repeat("0", 64), ErrHash},
	} {
		folder := t.TempDir()
		_, err := pull(t, h.client(t), tc.reference, Options{Folder: folder, SHA256: tc.sha256})
		if !errors.Is(err, tc.want) || tc.want == nil && err != nil {
			t.Errorf("%s with %s: %v, want %v", tc.reference, tc.sha256, err, tc.want)
		}
		if tc.want != nil {
			holds(t, folder, nil)
		}
	}
}

func TestPull_Token_GoesToTheHubAlone(t *testing.T) {
	data := tiny(t)
	h := newHub(t, map[string][]byte{"m.gguf": data})
	h.refuse = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") == "Bearer hf_secret" {
			return false
		}
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	c := h.client(t)
	if _, err := pull(t, c, "owner/name", Options{Folder: t.TempDir()}); !errors.Is(err, ErrUnauthorized) || !strings.Contains(err.Error(), "HF_TOKEN") {
		t.Errorf("without a token: %v", err)
	}
	c.Token = "hf_secret"
	if _, err := pull(t, c, "owner/name", Options{Folder: t.TempDir()}); err != nil {
		t.Errorf("with the token: %v", err)
	}
	if _, err := pull(t, c, h.store.URL+"/blobs/m.gguf", Options{Folder: t.TempDir()}); err != nil {
		t.Errorf("from another server: %v", err)
	}
	if len(h.requests) == 0 {
		t.Fatal("the store got no request")
	}
	for _, r := range h.requests {
		if got := r.Header.Get("Authorization"); got != "" {
			t.Fatalf("the store got the token: %q", got)
		}
	}
}

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

// blockedPull is a pull of a model that ends where a name in the folder is taken by a folder,
// which comes when all bytes have come. So it leaves what a pull leaves that is killed there.
func blockedPull(t *testing.T, h *testHub, reference, folder, name string) {
	t.Helper()
	path := filepath.Join(folder, name)
	c := h.client(t)
	c.Notify = func(e Event) {
		if _, ok := e.(Verifying); ok {
			_ = os.Mkdir(path, 0o700)
		}
	}
	if _, err := pull(t, c, reference, Options{Folder: folder}); err == nil {
		t.Fatalf("%s did not stop the pull", name)
	}
	if names := library.Stems(folder); len(names) > 0 {
		t.Errorf("what is not whole is a model: %v", names)
	}
	must.Do(t, os.Remove(path))
}

// A server that names no hashes: what is there already is known by the note alone.
func TestPull_KilledAtTheEnd_GoesOn(t *testing.T) {
	parts := split(t, 3)
	names := []string{"m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"}
	for _, at := range append(names, "m.source.json") {
		t.Run(at, func(t *testing.T) {
			files := map[string][]byte{names[0]: parts[0], names[1]: parts[1], names[2]: parts[2]}
			h := newHub(t, files)
			h.etag = func(name string, _ []byte) string { return `"` + name + `"` }
			folder, reference := t.TempDir(), h.store.URL+"/blobs/"+names[0]
			blockedPull(t, h, reference, folder, at)
			result, err := pull(t, h.client(t), reference, Options{Folder: folder})
			if err != nil || result.Bytes != 0 {
				t.Errorf("the next pull brought %d bytes, %v", result.Bytes, err)
			}
			holds(t, folder, files)
			if m, err := library.Open(folder).Model("m"); err != nil || m.Source == nil || m.Source.Files[2].SHA256 != sum(parts[2]) {
				t.Errorf("its source is %+v, %v", m.Source, err)
			}
		})
	}
}

// A file of the same name and length that somebody else put there is not taken for the one that
// the note tells of.
func TestPull_KilledAtTheEnd_AnotherFileThere(t *testing.T) {
	h := newHub(t, map[string][]byte{"m.gguf": tiny(t)})
	h.etag = func(name string, _ []byte) string { return `"` + name + `"` }
	folder, reference := t.TempDir(), h.store.URL+"/blobs/m.gguf"
	blockedPull(t, h, reference, folder, "m.gguf")
	other := tiny(t)
	other[len(other)-1] ^= 1
	must.Do(t, os.WriteFile(filepath.Join(folder, "m.gguf"), other, 0o600))
	if _, err := pull(t, h.client(t), reference, Options{Folder: folder}); !errors.Is(err, ErrTaken) {
		t.Errorf("got %v", err)
	}
}

// halfPart is a part half of whose bytes have come, locked.
func halfPart(t *testing.T, folder string) *part {
	t.Helper()
	p := must.Get(openPart(folder, File{Name: "m.gguf", URL: "http://x", ETag: `"a"`, Size: 100, ranges: true}, 0, 10))(t)
	if p.pieces == nil {
		must.Do(t, errors.Join(p.begin(), p.write(1, make([]byte, 10)), p.save()))
	}
	return p
}

// A note tells of bytes that are there: it is gone before they are.
func TestPart_Begin_NoteGoesFirst(t *testing.T) {
	folder := t.TempDir()
	p := halfPart(t, folder)
	if p.readNote() == nil {
		t.Fatal("there is no note")
	}
	whole := p.file
	defer whole.Close()
	var err error
	if p.file, err = os.Open(whole.Name()); err != nil { // which cannot be emptied
		t.Fatal(err)
	}
	defer p.file.Close()
	if err := p.begin(); err == nil {
		t.Fatal("it was emptied")
	}
	if pieces := p.readNote(); pieces != nil {
		t.Errorf("the note still tells of %v", pieces)
	}
}

// Another process has finished the file after this one saw that it was missing.
func TestOpenPart_FileIsThereByNow(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "m.gguf")
	must.Do(t, os.WriteFile(path, []byte("theirs"), 0o600))
	if _, err := openPart(folder, File{Name: "m.gguf"}, 0, 10); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v", err)
	}
	if all, err := os.ReadDir(folder); err != nil || len(all) != 1 {
		t.Errorf("the folder has %v, %v", all, err)
	}
}

func TestRemoveLeftovers_KeepsWhatIsOfUse(t *testing.T) {
	folder := t.TempDir()
	p := halfPart(t, folder)
	orphan := filepath.Join(folder, "whole.gguf.part.json")
	must.Do(t, os.WriteFile(orphan, []byte("{}"), 0o600))
	if err := RemoveLeftovers(folder); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(orphan); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the note of a file that is whole: %v", err)
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
	if again := halfPart(t, folder); again.done() != 10 {
		t.Errorf("%d bytes are left of 10", again.done())
	} else if err := again.close(); err != nil {
		t.Error(err)
	}
}
