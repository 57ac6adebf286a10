// SPDX-License-Identifier: MIT

package hub

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
