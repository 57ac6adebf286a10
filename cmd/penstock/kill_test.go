// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	recorded "github.com/penstock/penstock/host/plugin/session"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// TestKill kills a server again and again, at random moments of its start and of its work, and
// starts it anew on the same folders. What it finds there is old or new, never a half. 200 kills
// with PENSTOCK_TEST_LONG=1 (make kill-test), 8 without.
func TestKill(t *testing.T) {
	kills := steadytest.InLongTest(200, 8)
	random := steadytest.Rand(t)
	d := newDisk(t)
	s := d.start(t)
	d.begin(t, s)
	for n := range kills {
		after := time.Duration(random.Int64N(int64(400 * time.Millisecond)))
		if n%4 == 3 { // in its start
			s.stop(t)
			s = &server{cmd: d.command(t)}
			must.Do(t, s.cmd.Start())
			time.Sleep(after)
			s.kill(t)
		} else {
			d.kill(t, s, n, after)
		}
		d.checkFiles(t)
		s = d.start(t)
		d.checkServer(t, s)
		if t.Failed() {
			t.Fatalf("kill %d, after %v:\n%s", n+1, after, &s.log)
		}
	}
	d.finish(t, s)
	if t.Failed() {
		return
	}
	t.Logf("%d of %d kills left everything whole: %d uploads and removals, %d saves, %d pulls and removals of a model were answered, and %d, %d and %d were cut; %d recordings were downloaded",
		kills, kills, d.counts["upload"], d.counts["save"], d.counts["pull"], d.cut["upload"], d.cut["save"], d.cut["pull"], d.counts["record"])
}

// kill lets the server work for a time, kills it in the middle for the nth time, and waits for its
// clients.
func (d *disk) kill(t *testing.T, s *server, n int, after time.Duration) {
	t.Helper()
	c := &client{url: s.url}
	var work sync.WaitGroup
	work.Go(func() { d.upload(t, c) })
	if n%2 == 0 {
		work.Go(func() { d.save(t, c) })
	} else { // which takes the slots' conversations
		work.Go(func() { d.record(t, c) })
	}
	work.Go(func() { d.pull(t, c) })
	time.Sleep(after)
	c.killed.Store(true)
	s.kill(t)
	work.Wait()
}

func (s *server) kill(t *testing.T) {
	t.Helper()
	must.Do(t, s.cmd.Process.Kill())
	_ = s.cmd.Wait() // it was killed
}

func (s *server) stop(t testing.TB) {
	t.Helper()
	if err := errors.Join(s.cmd.Process.Signal(syscall.SIGTERM), s.cmd.Wait()); err != nil {
		t.Errorf("exit after SIGTERM: %v\n%s", err, &s.log)
	}
}

// finish does all once more without a kill, and finds nothing else on the disk then.
func (d *disk) finish(t *testing.T, s *server) {
	t.Helper()
	c := &client{url: s.url}
	if d.model.old == "" {
		c.ask(t, http.MethodPost, "/api/pull", `{"model":"owner/name","stream":false}`, nil)
	}
	d.model.old, d.model.next = d.want, d.want
	d.checkFiles(t)
	c.ask(t, http.MethodPost, "/completion", `{"model":"tale","prompt":"Once","n_predict":4}`, nil)
	s.stop(t)
	// A child that compiles a plugin may outlive its server for a moment, and what it was writing
	// goes with the start after that.
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for left := d.leftovers(t); len(left) > 0; left = d.leftovers(t) {
		if ctx.Err() != nil {
			t.Fatalf("this is left: %v", left)
		}
		d.start(t).stop(t)
	}
}

// leftovers are the paths of what is no whole thing of the disk.
func (d *disk) leftovers(t *testing.T) (left []string) {
	t.Helper()
	err := filepath.WalkDir(d.root, func(path string, _ fs.DirEntry, err error) error {
		if name := filepath.Base(path); strings.HasPrefix(name, ".") || strings.Contains(name, ".part") {
			left = append(left, path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return left
}

// TestServe_TwoOnTheSameFolders: two servers take the same uploads, saves and pulls, and do not
// disturb each other.
func TestServe_TwoOnTheSameFolders(t *testing.T) {
	d := newDisk(t)
	servers := []*server{d.start(t), d.start(t)}
	d.begin(t, servers[0])
	var work sync.WaitGroup
	pulled := make([]int, 2)
	for i, s := range servers {
		c := &client{url: s.url}
		complete(t, c)
		work.Go(func() {
			for n := range 10 {
				// Of plugin-0 both have the same versions. Others differ in length: a server that
				// looks for changes sees times in steps of milliseconds.
				version := fmt.Sprintf("%0*d", 1+n+20*i*(n%2), n)
				c.ask(t, http.MethodPost, "/v1/plugins", string(module(fmt.Sprint("plugin-", n%2), version, n%3 == 0)), nil)
			}
		})
		work.Go(func() {
			for n := range 20 {
				c.ask(t, http.MethodPost, fmt.Sprintf("/slots/%d?action=save", n%2), `{"filename":"tale.bin"}`, nil)
			}
		})
		work.Go(func() {
			status, text := c.send(t, http.MethodPost, "/api/pull", `{"model":"owner/name","stream":false}`)
			if pulled[i] = status; status != http.StatusOK && (status != http.StatusConflict || !strings.Contains(text, "already being pulled")) {
				t.Errorf("pull: %d %s", status, text)
			}
		})
	}
	work.Wait()
	if pulled[0] != http.StatusOK && pulled[1] != http.StatusOK {
		t.Errorf("both pulls were refused: %v", pulled)
	}
	d.model.next = d.want
	d.saved.next = fmt.Sprint(d.tokens[0])
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, s := range servers { // each comes to see what is there
		c := &client{url: s.url}
		for !d.agrees(t, c) && ctx.Err() == nil {
			time.Sleep(100 * time.Millisecond)
		}
		if ctx.Err() != nil {
			t.Errorf("a server has other plugins than the folder:\n%s", &s.log)
		}
		d.checkModel(t)
		d.checkSaved(t)
		complete(t, c)
		s.stop(t)
	}
	if left := d.leftovers(t); len(left) > 0 {
		t.Errorf("this is left: %v", left)
	}
}

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
		must.Do(t, os.Mkdir(filepath.Join(d.root, folder), 0o700))
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
	files := must.Get(filepath.Glob(d.path("cache", "penstock", "recordings", "*.json.gz")))(t)
	found := d.recording == ""
	for _, path := range files {
		file := must.Get(os.Open(path))(t)
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

// client sends requests to a server that may be killed.
type client struct {
	url    string
	killed atomic.Bool
}

// send returns status and text of an answer; 0 if a kill cut it.
func (c *client) send(t *testing.T, method, route, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, c.url+route, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	request.Header.Set("Authorization", "Bearer admin")
	request.Header.Set("Content-Type", "application/json")
	if route == "/v1/plugins" {
		request.Header.Set("Content-Type", "application/wasm")
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	var text []byte
	if err == nil {
		text, err = io.ReadAll(response.Body)
		response.Body.Close()
	}
	if err != nil {
		if !c.killed.Load() {
			t.Errorf("%s %s: %v", method, route, err)
		}
		return 0, ""
	}
	return response.StatusCode, string(text)
}

// ask sends a request that must go well, unless a kill cuts it; then it is false.
func (c *client) ask(t *testing.T, method, route, body string, into any) bool {
	t.Helper()
	status, text := c.send(t, method, route, body)
	if status == 0 {
		return false
	}
	if status/100 != 2 {
		t.Errorf("%s %s: %d %s", method, route, status, text)
	} else if into != nil {
		decode(t, text, into)
	}
	return true
}

// complete has both slots hold a conversation, of different lengths.
func complete(t *testing.T, c *client) {
	t.Helper()
	for slot, prompt := range []string{"Once upon a time there was a frog.", "The girl and her little dog lived in a house near the big old forest."} {
		c.ask(t, http.MethodPost, "/completion", fmt.Sprintf(`{"prompt":%q,"n_predict":4,"temperature":0,"id_slot":%d}`, prompt, slot), nil)
	}
}

// change does what ends in a new state, and notes whether the answer came.
func (d *disk) change(kind string, f *fate, next string, do func() bool) bool {
	f.next = next
	done := do()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !done {
		d.cut[kind]++
		return false
	}
	f.old = next
	d.counts[kind]++
	return true
}

// module is a plugin's, which a child compiles if it is large.
func module(name, version string, large bool) []byte {
	g := asm.New(fmt.Sprintf(`{"name":%q,"version":%q}`, name, version)).On(abi.ExportAccept, asm.I32(0))
	if large {
		g.Function(abi.Signature{}, 0, bytes.Repeat([]byte{0x01}, 64<<10)) // nop
	}
	return g.Wasm()
}

// upload uploads versions of two plugins, and removes one now and then, until the server is killed.
func (d *disk) upload(t *testing.T, c *client) {
	for !t.Failed() {
		d.uploads++
		i := d.uploads % 2
		f, name := &d.plugins[i], fmt.Sprintf("plugin-%d", i)
		wasm := module(name, fmt.Sprint(d.uploads), d.uploads%3 == 0)
		if !d.change("upload", f, hashes(wasm), func() bool { return c.ask(t, http.MethodPost, "/v1/plugins", string(wasm), nil) }) {
			return
		}
		remove := func() bool { return c.ask(t, http.MethodDelete, "/v1/plugins/"+name, "", nil) }
		if d.uploads%5 == 0 && !d.change("upload", f, "", remove) {
			return
		}
	}
}

// save saves the conversations of the two slots to one file in turn, until the server is killed.
func (d *disk) save(t *testing.T, c *client) {
	for slot := 0; !t.Failed(); slot = 1 - slot {
		saved := func() bool {
			n := d.saveSlot(t, c, slot)
			if n > 0 && n != d.tokens[slot] {
				t.Errorf("%d tokens of slot %d were saved, want %d", n, slot, d.tokens[slot])
			}
			return n > 0
		}
		if !d.change("save", &d.saved, fmt.Sprint(d.tokens[slot]), saved) {
			return
		}
	}
}

// pull pulls the model and removes it in turn, until the server is killed.
func (d *disk) pull(t *testing.T, c *client) {
	for !t.Failed() {
		if d.model.old == "" && !d.change("pull", &d.model, d.want, func() bool {
			return c.ask(t, http.MethodPost, "/api/pull", `{"model":"owner/name","stream":false}`, nil)
		}) {
			return
		}
		if !d.change("pull", &d.model, "", func() bool { return c.ask(t, http.MethodDelete, "/api/delete", `{"model":"tale"}`, nil) }) {
			return
		}
	}
}

// record records requests, downloads each recording and removes the one before, until the server
// is killed.
func (d *disk) record(t *testing.T, c *client) {
	for !t.Failed() {
		var answer struct{ Recording string }
		if !c.ask(t, http.MethodPost, "/completion", `{"prompt":"Once","n_predict":3,"record":true}`, &answer) {
			return
		}
		if !c.ask(t, http.MethodGet, "/v1/recordings/"+answer.Recording, "", nil) {
			return
		}
		before := d.recording
		d.recording = answer.Recording
		d.mu.Lock()
		d.counts["record"]++
		d.mu.Unlock()
		if before != "" && !c.ask(t, http.MethodDelete, "/v1/recordings/"+before, "", nil) {
			return
		}
	}
}

// slowly writes as a network would.
type slowly struct{ http.ResponseWriter }

func (s slowly) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		k, e := s.ResponseWriter.Write(p[:min(len(p), 32<<10)])
		n, p, err = n+k, p[k:], e
		time.Sleep(time.Millisecond)
	}
	return n, err
}

// startSplitHub serves the repository owner/name with the built-in model in two files, slowly.
func startSplitHub(t *testing.T) (url string, parts [][]byte) {
	t.Helper()
	files := map[string][]byte{}
	for i, part := range split(t) {
		parts = append(parts, part)
		files[fmt.Sprintf("tale-%05d-of-00002.gguf", i+1)] = part
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/models/owner/name/tree/main" {
			var list []string
			for name, data := range files {
				list = append(list, fmt.Sprintf(`{"type":"file","path":%q,"size":%d,"lfs":{"oid":%q,"size":%d}}`, name, len(data), hashes(data), len(data)))
			}
			fmt.Fprintf(w, "[%s]", strings.Join(list, ","))
			return
		}
		data, ok := files[path.Base(r.URL.Path)]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("ETag", `"`+path.Base(r.URL.Path)+`"`)
		http.ServeContent(slowly{w}, r, "", time.Time{}, bytes.NewReader(data))
	}))
	t.Cleanup(server.Close)
	return server.URL, parts
}

// split divides the built-in model into two files.
func split(t *testing.T) (parts [2][]byte) {
	t.Helper()
	data, err := os.ReadFile("../../host/model/penstock-tiny.gguf")
	if err != nil {
		t.Fatal(err)
	}
	if parts, err = synth.Split(data); err != nil {
		t.Fatal(err)
	}
	return parts
}
