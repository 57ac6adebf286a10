// SPDX-License-Identifier: MIT

package hub

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
)

// projectorFile is a small projector.
func projectorFile(t *testing.T) []byte {
	t.Helper()
	_, path := must.Both(synth.MediaPairs[2].WriteFiles(t.TempDir(), 1))(t)
	return must.Get(os.ReadFile(path))(t)
}

func TestPull_ProjectorComesWithTheModel(t *testing.T) {
	data, projector := tiny(t), projectorFile(t)
	h := newHub(t, map[string][]byte{"m-Q4_K_M.gguf": data, "mmproj-BF16.gguf": data, "mmproj-F16.gguf": projector})
	folder := t.TempDir()
	result, err := pull(t, h.client(t), "owner/name", Options{Folder: folder, Name: "mine", SHA256: sum(data)})
	if err != nil || result.Name != "mine" || result.Bytes != int64(len(data)+len(projector)) {
		t.Fatalf("%+v, %v", result, err)
	}
	holds(t, folder, map[string][]byte{"mine.gguf": data, "mmproj-mine.gguf": projector})
	own := filepath.Join(folder, "mmproj-mine.gguf")
	if m, err := library.Open(folder).Model("mine"); err != nil || m.Source == nil || m.Digest != sum(data) || library.ProjectorOf(m.Files[0]) != own {
		t.Errorf("%+v, %v", m, err)
	}
	requests := len(h.ranges())
	if again, err := pull(t, h.client(t), "owner/name", Options{Folder: folder, Name: "mine"}); err != nil || again.Bytes != 0 || len(h.ranges()) != requests {
		t.Errorf("again: %+v, %v, %d requests", again, err, len(h.ranges())-requests)
	}
	must.Do(t, os.Remove(own))
	if again, err := pull(t, h.client(t), "owner/name", Options{Folder: folder, Name: "mine"}); err != nil || again.Bytes != int64(len(projector)) {
		t.Errorf("without it: %+v, %v", again, err)
	}
	models := library.Open(folder)
	files := must.Get(models.Removable("mine"))(t)
	must.Do(t, models.Remove(files))
	holds(t, folder, nil)
}

func TestPull_Projector_LeftOutOrAlone(t *testing.T) {
	data, projector := tiny(t), projectorFile(t)
	h := newHub(t, map[string][]byte{"m.gguf": data, "mmproj-m-F16.gguf": projector})
	folder := t.TempDir()
	must.Get(pull(t, h.client(t), "owner/name", Options{Folder: folder, NoProjector: true}))(t)
	holds(t, folder, map[string][]byte{"m.gguf": data})
	result, err := pull(t, h.client(t), "hf://owner/name/mmproj-m-F16.gguf", Options{Folder: folder})
	if err != nil || result.Name != "mmproj-m-F16" || result.Size != int64(len(projector)) {
		t.Errorf("%+v, %v", result, err)
	}
	holds(t, folder, map[string][]byte{"m.gguf": data, "mmproj-m-F16.gguf": projector})
}

// A broken projector is no reason to have a model that cannot see without a word.
func TestPull_Projector_Broken(t *testing.T) {
	h := newHub(t, map[string][]byte{"m.gguf": tiny(t), "mmproj-F16.gguf": []byte("GGUF, but nothing behind it")})
	folder := t.TempDir()
	if _, err := pull(t, h.client(t), "owner/name", Options{Folder: folder}); !errors.Is(err, ErrNotModel) {
		t.Error(err)
	}
	if names := library.Stems(folder); len(names) > 0 {
		t.Errorf("%v", names)
	}
}

func TestProjectorFor_NearestAndBest(t *testing.T) {
	all := []entry{{Type: "file", Path: "mmproj-F16.gguf"}, {Type: "file", Path: "Q4/mmproj-BF16.gguf"}, {Type: "file", Path: "Q4/mmproj-Q8_0.gguf"},
		{Type: "file", Path: "Q4/m.gguf"}, {Type: "file", Path: "m.gguf"}, {Type: "directory", Path: "Q4/mmproj.gguf"}}
	for of, want := range map[string]string{"Q4/m.gguf": "Q4/mmproj-Q8_0.gguf", "m.gguf": "mmproj-F16.gguf", "Q8/m.gguf": "mmproj-F16.gguf"} {
		if got, ok := projectorFor(entry{Path: of}, all); !ok || got.Path != want {
			t.Errorf("for %s: %q, want %q", of, got.Path, want)
		}
	}
	if got, ok := projectorFor(all[3], all[3:]); ok {
		t.Errorf("%q", got.Path)
	}
}

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
