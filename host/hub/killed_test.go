// SPDX-License-Identifier: MIT

package hub

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/tools/must"
)

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
