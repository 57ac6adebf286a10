// SPDX-License-Identifier: MIT

package hub

import (
	"errors"
	"os"
	"path/filepath"
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
