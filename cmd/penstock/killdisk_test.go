// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	recorded "github.com/penstock/penstock/host/plugin/session"
)

// fate is what may be there after a kill: what an answer has told of, or what a request that was
// cut was to make of it. Empty: nothing.
type fate struct{ old, next string }

// is takes what is there for the state from now on, if it may be.
func (f *fate) is(t *testing.T, what, have string) {
	t.Helper()
	if have != f.old && have != f.next {
		t.Errorf("%s is %q; it was %q and was to be %q", what, have, f.old, f.next)
	}
	f.old, f.next = have, have
}

// disk is what servers keep on the disk, and what must be there.
type disk struct {
	root, hub string
	want      string  // hashes of the model's files at the hub
	tokens    [2]int  // of the slots' conversations
	uploads   int     // versions of plugins so far
	plugins   [2]fate // hash of the file
	saved     fate    // tokens
	model     fate    // hashes of its files
	recording string  // the last one that was downloaded, which must be there; empty: none was

	mu          sync.Mutex
	counts, cut map[string]int // requests that were answered, and that a kill cut
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	d := &disk{root: t.TempDir(), counts: map[string]int{}, cut: map[string]int{}}
	t.Setenv("XDG_CACHE_HOME", filepath.Join(d.root, "cache"))
	for _, folder := range []string{"plugins", "slots", "models", "cache"} {
		if err := os.Mkdir(filepath.Join(d.root, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var parts [][]byte
	d.hub, parts = startSplitHub(t)
	d.want = hashes(parts...)
	return d
}

func hashes(files ...[]byte) (all string) {
	for _, f := range files {
		sum := sha256.Sum256(f)
		all += hex.EncodeToString(sum[:])
	}
	return all
}

func (d *disk) args() []string {
	return []string{"penstock-tiny", "--plugin-dir", d.path("plugins"), "--slot-save-path", d.path("slots"), "--models-dir", d.path("models"),
		"--hub", d.hub, "--admin-key", "admin", "--parallel", "2", "--ctx-size", "512", "--scripts", "off"}
}

func (d *disk) path(names ...string) string {
	return filepath.Join(append([]string{d.root}, names...)...)
}

func (d *disk) start(t *testing.T) *server {
	t.Helper()
	return startServer(t.Context(), t, d.args()...)
}

func (d *disk) command(t *testing.T) *exec.Cmd {
	t.Helper()
	return child(t.Context(), t, append([]string{"serve", "--listen", "127.0.0.1:0"}, d.args()...)...)
}

// begin finds out how long the conversations are that are saved from now on.
func (d *disk) begin(t *testing.T, s *server) {
	t.Helper()
	c := &client{url: s.url}
	complete(t, c)
	for slot := range 2 {
		d.tokens[slot] = d.saveSlot(t, c, slot)
	}
	if d.tokens[0] == d.tokens[1] {
		t.Fatalf("both conversations have %d tokens", d.tokens[0])
	}
	d.saved.old = fmt.Sprint(d.tokens[1])
	d.saved.next = d.saved.old
}

func (d *disk) saveSlot(t *testing.T, c *client, slot int) int {
	t.Helper()
	var saved struct {
		Saved int `json:"n_saved"`
	}
	c.ask(t, http.MethodPost, fmt.Sprintf("/slots/%d?action=save", slot), `{"filename":"tale.bin"}`, &saved)
	return saved.Saved
}

// checkFiles looks at what a kill has left.
func (d *disk) checkFiles(t *testing.T) {
	t.Helper()
	for i := range d.plugins {
		name := fmt.Sprintf("plugin-%d", i)
		d.plugins[i].is(t, name, readHash(t, d.path("plugins", name+".wasm")))
	}
	d.checkModel(t)
	d.checkSaved(t)
	d.checkRecordings(t)
}

// checkRecordings finds whole recordings only, the last one that was downloaded among them.
func (d *disk) checkRecordings(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(d.path("cache", "penstock", "recordings", "*.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	found := d.recording == ""
	for _, path := range files {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := recorded.Read(file)
		file.Close()
		if err != nil || len(r.Recording.Choices) != 1 {
			t.Errorf("%s: %v", path, err)
			continue
		}
		found = found || r.Recording.ID == d.recording
	}
	if !found {
		t.Errorf("%s is not among %v", d.recording, files)
	}
}

// checkModel finds the model with all files, or none by its name.
func (d *disk) checkModel(t *testing.T) {
	t.Helper()
	first := readHash(t, d.path("models", "tale-00001-of-00002.gguf"))
	if first != "" {
		first += readHash(t, d.path("models", "tale-00002-of-00002.gguf"))
	}
	d.model.is(t, "the model", first)
}

// checkSaved finds the conversation of one of the slots, with its checksum.
func (d *disk) checkSaved(t *testing.T) {
	t.Helper()
	file, err := os.ReadFile(d.path("slots", "tale.bin"))
	if err != nil || len(file) < 100 {
		t.Errorf("the saved conversation has %d bytes, %v", len(file), err)
		return
	}
	body, tail := file[:len(file)-40], file[len(file)-40:]
	if sum := sha256.Sum256(body); !bytes.Equal(tail[:32], sum[:]) {
		t.Error("the saved conversation has another checksum")
	}
	d.saved.is(t, "the saved conversation", fmt.Sprint(binary.LittleEndian.Uint32(file[20:])))
}

// readHash is the SHA-256 of a file, empty if there is none.
func readHash(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		t.Error(err)
	}
	return hashes(data)
}

// checkServer has a server that was started on what was left use all of it.
func (d *disk) checkServer(t *testing.T, s *server) {
	t.Helper()
	c := &client{url: s.url}
	if !d.agrees(t, c) {
		t.Error("the server has other plugins than the folder")
	}
	for i := range d.plugins {
		if d.plugins[i].old != "" {
			c.ask(t, http.MethodPost, "/v1/completions", fmt.Sprintf(`{"prompt":"Once","max_tokens":2,"plugins":["plugin-%d"]}`, i), nil)
		}
	}
	var restored struct {
		Restored int `json:"n_restored"`
	}
	c.ask(t, http.MethodPost, "/slots/1?action=restore", `{"filename":"tale.bin"}`, &restored)
	if fmt.Sprint(restored.Restored) != d.saved.old {
		t.Errorf("%d tokens were restored of %s", restored.Restored, d.saved.old)
	}
	_, tags := c.send(t, http.MethodGet, "/api/tags", "")
	if strings.Contains(tags, `"tale`) != (d.model.old != "") {
		t.Errorf("the model's files are %q, and the server lists %s", d.model.old, tags)
	}
	complete(t, c)
}

// agrees reports whether a server has the plugins of the folder, all of which can be used.
func (d *disk) agrees(t *testing.T, c *client) bool {
	t.Helper()
	var list struct {
		Data []struct{ Name, State, SHA256, Error string }
	}
	c.ask(t, http.MethodGet, "/v1/plugins", "", &list)
	entries, err := os.ReadDir(d.path("plugins"))
	if err != nil {
		t.Error(err)
	}
	files := 0
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			files++
		}
	}
	for _, p := range list.Data {
		if p.State != "ready" || p.SHA256 != readHash(t, d.path("plugins", p.Name+".wasm")) {
			return false
		}
	}
	return len(list.Data) == files
}

// decode reads JSON.
func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Errorf("%v in %s", err, text)
	}
}
