// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

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
