// SPDX-License-Identifier: MIT

package source

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin/index"
	"github.com/penstock/penstock/tools/must"
)

const most = 1 << 20

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

var file = []byte("\x00asm and so on")

// indexOf lists the file under a URL. key may be empty.
func indexOf(t *testing.T, url, key string) []byte {
	t.Helper()
	return must.Get(json.Marshal(map[string]any{"version": 1, "key": key, "plugins": []any{map[string]any{
		"name": "good", "sha256": sumOf(file), "size": len(file), "url": url, "manifest": map[string]any{"name": "good"},
	}}}))(t)
}

// site is a web server with files, of which answers can be changed.
type site struct {
	*httptest.Server
	files  map[string][]byte
	answer map[string]http.HandlerFunc
}

func serve(t *testing.T) *site {
	t.Helper()
	s := &site{files: map[string][]byte{"/index.json": indexOf(t, "good.wasm", ""), "/good.wasm": file}, answer: map[string]http.HandlerFunc{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer := s.answer[r.URL.Path]; answer != nil {
			answer(w, r)
		} else if content, ok := s.files[r.URL.Path]; ok {
			_, _ = w.Write(content)
		} else {
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func open(t *testing.T, name string) *Client {
	t.Helper()
	from := must.Get(Parse(name))(t)
	return Client{Source: from, MaxBytes: most, Agent: "test", Copies: filepath.Join(t.TempDir(), "copies")}.Open()
}

// install gets the index and its only file.
func install(t *testing.T, name string) ([]byte, error) {
	t.Helper()
	c := open(t, name)
	i, err := c.Index(t.Context())
	if err != nil {
		return nil, err
	}
	return c.File(t.Context(), i.Plugins[0])
}

func keys(t *testing.T) (ed25519.PrivateKey, string) {
	t.Helper()
	public, private := must.Both(ed25519.GenerateKey(nil))(t)
	return private, index.FormatKey(public)
}

func TestClient_File_IsWhatTheIndexSays(t *testing.T) {
	s := serve(t)
	folder := t.TempDir()
	for name, content := range map[string][]byte{"index.json": s.files["/index.json"], "good.wasm": file} {
		must.Do(t, os.WriteFile(filepath.Join(folder, name), content, 0o600))
	}
	for _, name := range []string{s.URL + "/index.json", s.URL + "/index.json#sha256:" + sumOf(s.files["/index.json"]), folder, "file://" + folder, filepath.Join(folder, "index.json")} {
		if got, err := install(t, name); err != nil || !bytes.Equal(got, file) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// What was changed on the way, or at its place, is refused.
func TestClient_Tampered(t *testing.T) {
	private, key := keys(t)
	_, other := keys(t)
	long := func(w http.ResponseWriter, n int) {
		for range n / 1024 {
			if _, err := w.Write(make([]byte, 1024)); err != nil {
				return
			}
		}
	}
	for name, tc := range map[string]struct {
		pin    string // behind the index's address
		change func(*site)
		is     error
		says   string
	}{
		"another file":   {"", func(s *site) { s.files["/good.wasm"] = []byte("\x00asm and so oN") }, ErrDigest, sumOf(file)},
		"a shorter file": {"", func(s *site) { s.files["/good.wasm"] = file[:5] }, nil, "it has 5 bytes"},
		"a longer file":  {"", func(s *site) { s.files["/good.wasm"] = append([]byte{}, append(file, 0)...) }, errLarge, ""},
		"an endless file": {"", func(s *site) {
			s.answer["/good.wasm"] = func(w http.ResponseWriter, _ *http.Request) { long(w, 1<<20) }
		}, errLarge, ""},
		"no file": {"", func(s *site) { delete(s.files, "/good.wasm") }, errNotFound, "/good.wasm"},
		"an error": {"", func(s *site) {
			s.answer["/good.wasm"] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }
		}, nil, "status 500"},
		"an endless index": {"", func(s *site) {
			s.answer["/index.json"] = func(w http.ResponseWriter, _ *http.Request) { long(w, index.MaxBytes+2048) }
		}, errLarge, ""},
		"an announced index": {"", func(s *site) { s.answer["/index.json"] = announce(index.MaxBytes + 1) }, errLarge, ""},
		"a cut index":        {"", func(s *site) { s.answer["/index.json"] = announce(1000) }, nil, "unexpected EOF"},
		"a bomb":             {"", func(s *site) { s.answer["/index.json"] = bomb }, nil, `packs it ("gzip")`},
		"no index":           {"", func(s *site) { s.files["/index.json"] = []byte("<html>") }, index.ErrIndex, ""},
		"another index":      {"#sha256:" + sumOf([]byte("x")), func(*site) {}, ErrDigest, sumOf([]byte("x"))},
		"no signature":       {"#" + key, func(*site) {}, index.ErrSignature, "there is no signature"},
		"another's signature": {"#" + other, func(s *site) {
			s.files["/index.json.sig"] = index.Sign(s.files["/index.json"], private)
		}, index.ErrSignature, other},
		"a signature of another index": {"#" + key, func(s *site) { s.files["/index.json.sig"] = index.Sign([]byte("{}"), private) }, index.ErrSignature, key},
		"a long signature":             {"#" + key, func(s *site) { s.files["/index.json.sig"] = make([]byte, 1000) }, errLarge, ""},
		"its own key, unsigned":        {"", func(s *site) { s.files["/index.json"] = indexOf(t, "good.wasm", key) }, index.ErrSignature, "there is no signature"},
		"its own key, which is none":   {"", func(s *site) { s.files["/index.json"] = indexOf(t, "good.wasm", "rsa:x") }, nil, "is no key"},
		"a loop": {"", func(s *site) {
			s.answer["/index.json"] = func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/index.json", http.StatusFound) }
		}, nil, "redirects more than 3 times"},
		"to http elsewhere": {"", func(s *site) {
			s.answer["/good.wasm"] = func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://example.com/", http.StatusFound)
			}
		}, nil, "redirects to http://example.com"},
		"to a file": {"", func(s *site) {
			s.answer["/good.wasm"] = func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
			}
		}, nil, "redirects to file://"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			tc.change(s)
			got, err := install(t, s.URL+"/index.json"+tc.pin)
			if err == nil || got != nil || tc.is != nil && !errors.Is(err, tc.is) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%q, %v; want %v and %q", got, err, tc.is, tc.says)
			}
		})
	}
}

// announce answers with fewer bytes than it says.
func announce(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(n))
		_, _ = w.Write([]byte(`{"version":1}`))
	}
}

// bomb answers with few bytes that become many.
func bomb(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	_, _ = z.Write(make([]byte, 64<<20))
	_ = z.Close()
}

func TestClient_Index_Signed(t *testing.T) {
	private, key := keys(t)
	_, other := keys(t)
	s := serve(t)
	s.files["/index.json"] = indexOf(t, "good.wasm", key)
	s.files["/index.json.sig"] = index.Sign(s.files["/index.json"], private)
	for _, pin := range []string{"", "#" + key} {
		if _, err := install(t, s.URL+"/index.json"+pin); err != nil {
			t.Errorf("%q: %v", pin, err)
		}
	}
	if _, err := install(t, s.URL+"/index.json#"+other); !errors.Is(err, index.ErrSignature) { // whatever the index says
		t.Errorf("with another key: %v", err)
	}
}

// An index that its key has signed is not taken back to an older one.
func TestClient_Index_Older(t *testing.T) {
	private, key := keys(t)
	other, otherKey := keys(t)
	s := serve(t)
	index1 := func(key string, created int64) []byte {
		return []byte(`{"version":1,"key":"` + key + `","created":` + strconv.FormatInt(created, 10) + `,"plugins":[]}`)
	}
	old := index1(key, 100)
	copies := t.TempDir()
	for i, tc := range []struct {
		text   []byte
		by     ed25519.PrivateKey
		pin    string
		is     error
		reason string
	}{
		{old, private, "", nil, "the first"},
		{index1(key, 200), private, "", nil, "a newer one"},
		{index1(key, 200), private, "", nil, "the same"},
		{old, private, "", ErrOlder, "an older one"},
		{index1(key, 0), private, "", ErrOlder, "one without a time"},
		{index1(otherKey, 50), other, "", nil, "another's, which nobody has pinned"},
		{index1(key, 200), private, "#" + key, nil, "pinned"},
		{old, private, "#" + key, ErrOlder, "an older one, pinned by key"},
		{old, private, "#sha256:" + sumOf(old), nil, "an older one, pinned by digest"},
		{index1("", 0), nil, "", nil, "unsigned"},
	} {
		s.files["/index.json"] = tc.text
		delete(s.files, "/index.json.sig")
		if tc.by != nil {
			s.files["/index.json.sig"] = index.Sign(tc.text, tc.by)
		}
		c := open(t, s.URL+"/index.json"+tc.pin)
		c.Copies = copies
		if _, err := c.Index(t.Context()); !errors.Is(err, tc.is) || tc.is != nil && !strings.Contains(err.Error(), c.path()) {
			t.Errorf("%d, %s: %v", i, tc.reason, err)
		}
	}
}

func TestClient_Offline(t *testing.T) {
	private, key := keys(t)
	s := serve(t)
	s.files["/index.json.sig"] = index.Sign(s.files["/index.json"], private)
	c := open(t, s.URL+"/index.json#"+key)
	if _, _, err := c.Offline(); err == nil || !strings.Contains(err.Error(), "no copy of it yet") {
		t.Errorf("before the first time: %v", err)
	}
	must.Get(c.Index(t.Context()))(t)
	s.Close()
	if i, made, err := c.Offline(); err != nil || len(i.Plugins) != 1 || made.IsZero() {
		t.Errorf("%+v, %v, %v", i, made, err)
	}
	text := must.Get(os.ReadFile(c.path()))(t)
	_, key = keys(t)
	wrong := open(t, s.URL+"/index.json#"+key)
	wrong.Copies = c.Copies
	if _, _, err := wrong.Offline(); !errors.Is(err, index.ErrSignature) {
		t.Errorf("another key was pinned since: %v", err)
	}
	for at := range text {
		changed := bytes.Clone(text)
		changed[at] ^= 1
		must.Do(t, os.WriteFile(c.path(), changed, 0o600))
		if _, _, err := c.Offline(); err == nil {
			t.Fatalf("byte %d of the copy was changed, and it is read", at)
		}
	}
}

// A folder's index and the links in it lead to no file outside.
func TestClient_Folder_StaysWithin(t *testing.T) {
	folder, outside := t.TempDir(), filepath.Join(t.TempDir(), "good.wasm")
	for path, content := range map[string][]byte{filepath.Join(folder, "index.json"): indexOf(t, "good.wasm", ""), outside: file} {
		must.Do(t, os.WriteFile(path, content, 0o600))
	}
	must.Do(t, os.Symlink(outside, filepath.Join(folder, "good.wasm")))
	if got, err := install(t, folder); err == nil {
		t.Errorf("it gives %q", got)
	}
}

// Once a public address was reached, no other is; a network's own index may name its own machines.
func TestWeb_Allow(t *testing.T) {
	for name, tc := range map[string]struct {
		dialled []string
		refused bool
	}{
		"public":           {[]string{"93.184.215.14:443", "1.1.1.1:443"}, false},
		"public to own":    {[]string{"93.184.215.14:443", "10.0.0.1:443"}, true},
		"public to itself": {[]string{"[2606:4700::1111]:443", "[::1]:443"}, true},
		"public to cloud":  {[]string{"93.184.215.14:443", "169.254.169.254:80"}, true},
		"own to own":       {[]string{"10.0.0.1:443", "10.0.0.2:443", "127.0.0.1:80"}, false},
		"own to public":    {[]string{"10.0.0.1:443", "93.184.215.14:443"}, false},
		"no address":       {[]string{"example.com:443"}, true},
	} {
		w := newWeb("test")
		var err error
		for _, address := range tc.dialled {
			err = w.allow("tcp", address, nil)
		}
		if (err != nil) != tc.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestClient_Index_EndsWithItsContext(t *testing.T) {
	s := serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.answer["/index.json"] = func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() }
	if _, err := open(t, s.URL+"/index.json").Index(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestParse_Refusals(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "empty",
		"http://example.com/index.json":    "http: is for this machine alone",
		"https:///index.json":              "no host",
		"https://a:b@example.com/":         "user or a password",
		"oci://example.com":                "REGISTRY/REPOSITORY",
		"no/such/folder":                   "no such file",
		"https://example.com/i#sha256:12":  "64 hexadecimal digits",
		"https://example.com/i#ed25519:12": "is no key",
		"https://example.com/i#":           "is no key",
	} {
		if s, err := Parse(text); !errors.Is(err, ErrSource) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want %q", text, s, err, want)
		}
	}
}
