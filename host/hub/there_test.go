// SPDX-License-Identifier: MIT

package hub

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// silent has both servers fail the test when they are asked.
func (h *testHub) silent(t *testing.T) {
	fail := func(w http.ResponseWriter, r *http.Request) bool {
		t.Errorf("asked for %s", r.URL)
		w.WriteHeader(http.StatusInternalServerError)
		return true
	}
	h.refuse = fail
	h.serve = func(w http.ResponseWriter, r *http.Request, _ int) bool { return fail(w, r) }
}

// What an earlier pull brought and is whole needs no hub, by whatever form of a reference it came,
// in whatever name.
func TestPull_ThereAndWhole_AsksNobody(t *testing.T) {
	data, parts := tiny(t), split(t, 2)
	files := map[string][]byte{"m-Q4_K_M.gguf": data, "sub/s-00001-of-00002.gguf": parts[0], "sub/s-00002-of-00002.gguf": parts[1]}
	for name, tc := range map[string]struct {
		reference string
		options   Options
	}{
		"a repository":   {"owner/name", Options{}},
		"a quantisation": {"owner/name:Q4_K_M", Options{}},
		"a file":         {"hf://owner/name/m-Q4_K_M.gguf", Options{}},
		"several files":  {"hf://owner/name/sub/s-00001-of-00002.gguf", Options{}},
		"a URL":          {"/owner/name/resolve/main/m-Q4_K_M.gguf", Options{}},
		"a name":         {"owner/name", Options{Name: "mine"}},
		"a hash":         {"owner/name", Options{SHA256: strings.ToUpper(sum(data))}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, files)
			if strings.HasPrefix(tc.reference, "/") {
				tc.reference = h.URL + tc.reference
			}
			tc.options.Folder = t.TempDir()
			first := must.Get(pull(t, h.client(t), tc.reference, tc.options))(t)
			h.silent(t)
			again, err := pull(t, h.client(t), tc.reference, tc.options)
			if first.Bytes = 0; err != nil || again != first {
				t.Errorf("again: %+v, %v, want %+v", again, err, first)
			}
		})
	}
}

// The hub is asked where it is to be, and where what is there is not what is meant or not what was
// pulled.
func TestPull_NotThereOrNotWhole_AsksTheHub(t *testing.T) {
	data := tiny(t)
	for name, tc := range map[string]struct {
		options Options
		change  func(path string) error
		is      error
	}{
		"asked again":      {Options{AskHub: true}, nil, nil},
		"of its own name":  {Options{Name: "other"}, nil, nil},
		"of another hash":  {Options{SHA256: strings.Repeat("0", 64)}, nil, ErrHash},
		"cut short":        {Options{}, func(path string) error { return os.Truncate(path, 1000) }, ErrTaken},
		"with other bytes": {Options{}, func(path string) error { return os.WriteFile(path, make([]byte, len(data)), 0o600) }, ErrTaken},
		"removed":          {Options{}, os.Remove, nil},
		"without a note":   {Options{}, func(path string) error { return os.Remove(strings.TrimSuffix(path, ".gguf") + ".source.json") }, nil},
		"with a broken note": {Options{}, func(path string) error {
			return os.WriteFile(strings.TrimSuffix(path, ".gguf")+".source.json", []byte("{"), 0o600)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, map[string][]byte{"m.gguf": data})
			folder := t.TempDir()
			must.Get(pull(t, h.client(t), "owner/name", Options{Folder: folder}))(t)
			asked := len(h.tokens)
			if tc.change != nil {
				must.Do(t, tc.change(filepath.Join(folder, "m.gguf")))
			}
			tc.options.Folder = folder
			if _, err := pull(t, h.client(t), "owner/name", tc.options); !errors.Is(err, tc.is) || tc.is == nil && err != nil {
				t.Errorf("got %v, want %v", err, tc.is)
			}
			if len(h.tokens) == asked {
				t.Error("the hub was not asked")
			}
		})
	}
}
