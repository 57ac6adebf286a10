// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/host/hub"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
)

// startHub serves a repository owner/name with the built-in model.
func startHub(t *testing.T) (url string, data []byte) {
	t.Helper()
	data = must.Get(os.ReadFile("../../host/model/penstock-tiny.gguf"))(t)
	sum := sha256.Sum256(data)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/models/owner/name/tree/main":
			fmt.Fprintf(w, `[{"type":"file","path":"tale-Q4_K_M.gguf","size":%d,"lfs":{"oid":%q,"size":%d}}]`, len(data), hex.EncodeToString(sum[:]), len(data))
		case "/owner/name/resolve/main/tale-Q4_K_M.gguf":
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, data
}

// TestModel_PullListShowRunRemove is the life of a model in the folder.
func TestModel_PullListShowRunRemove(t *testing.T) {
	url, data := startHub(t)
	dir := filepath.Join(t.TempDir(), "models")
	in := func(args ...string) result {
		t.Helper()
		return penstock(t, "", append(args, "--models-dir", dir)...)
	}
	if got := in("model", "list"); got.code != exitDone || got.out != "" || !strings.Contains(got.err, "penstock model pull") {
		t.Errorf("an empty folder: %+v", got)
	}
	pulled := in("model", "pull", "owner/name", "--hub", url)
	path := filepath.Join(dir, "tale-Q4_K_M.gguf")
	if pulled.code != exitDone || pulled.out != path+"\n" || !strings.Contains(pulled.err, "100%") || strings.Contains(pulled.err, "\x1b") {
		t.Fatalf("pull: %+v", pulled)
	}
	if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, data) {
		t.Fatalf("the file: %d bytes, %v", len(have), err)
	}
	if got := in("model", "pull", "owner/name", "--hub", url); got.code != exitDone || !strings.Contains(got.err, "there already") {
		t.Errorf("again: %+v", got)
	}
	if got := in("model", "list"); !strings.Contains(got.out, "tale-Q4_K_M  llama         1.6M") {
		t.Errorf("list: %+v", got)
	}
	var list []listed
	got := in("model", "list", "--json")
	if err := json.Unmarshal([]byte(got.out), &list); err != nil || len(list) != 1 || list[0].Source != "hf://owner/name" || list[0].Parameters == 0 {
		t.Errorf("list --json: %v, %+v", err, got)
	}
	if got := in("run", "tale-Q4_K_M", story, "--temperature", "0"); got.code != exitDone || !strings.Contains(got.out, "frog") {
		t.Errorf("run: %+v", got)
	}
	if got := in("model", "rm", "tale-Q4_K_M"); got.code != exitWrongUse || !strings.Contains(got.err, "--yes") {
		t.Errorf("rm without an answer: %+v", got)
	}
	if got := in("model", "rm", "tale-Q4_K_M", "--yes"); got.code != exitDone || !strings.HasPrefix(got.out, path+"\n") {
		t.Errorf("rm: %+v", got)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("after rm: %v, %v", entries, err)
	}
	if got := in("model", "rm", "tale-Q4_K_M", "--yes"); got.code != exitFailed || !strings.Contains(got.err, "no such model") {
		t.Errorf("rm again: %+v", got)
	}
}

func TestModelShow_BuiltIn(t *testing.T) {
	got := penstock(t, "", "model", "show", "--parallel", "2", "--ctx-size", "1000")
	for _, text := range []string{"penstock-tiny", "architecture", "llama", "chat template", "yes", "licence", "memory for 2 slots and 1000 tokens", "KV cache", "tokenizer.ggml.tokens", "x string", "F32"} {
		if got.code != exitDone || !strings.Contains(got.out, text) {
			t.Fatalf("show does not say %q: %+v", text, got)
		}
	}
	var shown shownModel
	got = penstock(t, "", "model", "show", "penstock-tiny", "--json", "--ctx-size", "2000")
	if err := json.Unmarshal([]byte(got.out), &shown); err != nil || shown.Name != "penstock-tiny" || !shown.Template || shown.Use.Context != 2000 ||
		shown.Total != shown.Memory.Weights+shown.Memory.KVCache+shown.Memory.Compute || shown.Memory.Weights < shown.Memory.Mapped || shown.Memory.KVCache == 0 || len(shown.Metadata) == 0 {
		t.Errorf("show --json: %v, %+v", err, shown)
	}
	if got := penstock(t, "", "model", "show", "--ctx-size", "1000000000"); got.code != exitDone || !strings.Contains(got.out, "too large for this machine: ") {
		t.Errorf("show of what does not fit: %+v", got)
	}
	if got := penstock(t, "", "model", "show", "absent"); got.code != exitFailed || !strings.Contains(got.err, "absent") {
		t.Errorf("show of nothing: %+v", got)
	}
}

func TestModelPull_WrongUseAndRefusals(t *testing.T) {
	url, _ := startHub(t)
	dir := t.TempDir()
	for _, tc := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"nonsense"}, exitWrongUse, "OWNER/NAME"},
		{[]string{"owner/name", "--connections", "0"}, exitWrongUse, "--connections"},
		{[]string{"owner/name", "--sha256", "abc"}, exitWrongUse, "64 hexadecimal digits"},
		{[]string{"owner/name", "--hub", "nowhere"}, exitWrongUse, "models.hub"},
		{[]string{"owner/other"}, exitFailed, "404"},
		{[]string{"owner/name:Q2_K"}, exitFailed, "it has Q4_K_M"},
		{[]string{"owner/name", "--sha256", strings.Repeat("0", 64)}, exitFailed, "wrong SHA-256"},
	} {
		args := append([]string{"model", "pull", "--models-dir", dir, "--hub", url}, tc.args...)
		if got := penstock(t, "", args...); got.code != tc.code || !strings.Contains(got.err, tc.says) || got.out != "" {
			t.Errorf("%v: %+v, want exit %d and %q", tc.args, got, tc.code, tc.says)
		}
	}
}

func TestPullProgress_Show(t *testing.T) {
	now := time.Unix(0, 0)
	var out strings.Builder
	p := &pullProgress{out: &out, name: "o/n", clock: func() time.Time { return now }}
	p.show(hub.Planned{Files: []hub.File{{Name: "a-00001-of-00002.gguf"}, {}}, Total: 100 << 20, Have: 10 << 20})
	for range 3 {
		now = now.Add(2 * time.Second)
		p.show(hub.Progress{Done: now.Unix()*(5<<20) + 10<<20, Total: 100 << 20})
	}
	want := "pulling o/n: a-00001-of-00002.gguf and 1 more, 100.0 MiB, of which 10.0 MiB are there\n" +
		"20% 20.0 MiB of 100.0 MiB, 5.0 MiB/s, 16s left\n30% 30.0 MiB of 100.0 MiB, 5.0 MiB/s, 14s left\n40% 40.0 MiB of 100.0 MiB, 5.0 MiB/s, 12s left\n"
	if out.String() != want {
		t.Errorf("shown\n%swant\n%s", out.String(), want)
	}
	out.Reset()
	p.bar, p.drawn = true, time.Time{}
	p.show(hub.Progress{Done: 50 << 20, Total: 100 << 20})
	if got := out.String(); got != "\r\x1b[K["+strings.Repeat("#", 15)+strings.Repeat(" ", 15)+"] 50% 50.0 MiB of 100.0 MiB, 6.7 MiB/s, 8s left" {
		t.Errorf("the bar is %q", got)
	}
}

func TestModelShow_Projector(t *testing.T) {
	sees, projector := must.Both(synth.MediaPairs[2].WriteFiles(t.TempDir(), 1))(t)
	for _, c := range []struct {
		args []string
		says bool
	}{{nil, true}, {[]string{"--mmproj-auto=false"}, false}} {
		got := penstock(t, "", append([]string{"model", "show", sees}, c.args...)...)
		if got.code != exitDone || strings.Contains(got.out, projector+" (mlp, ") != c.says {
			t.Errorf("%v: %+v", c.args, got)
		}
	}
}

func TestProgress_Show(t *testing.T) {
	for name, tc := range map[string]struct {
		bar  bool
		want string
	}{
		"lines": {false, "loading m\n"},
		"bar": {true, "\r\x1b[Kloading m [" + strings.Repeat(" ", 30) + "] 0%" +
			"\r\x1b[Kloading m [" + strings.Repeat("#", 15) + strings.Repeat(" ", 15) + "] 50%\r\x1b[K"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			p := progress{out: &out, name: "m", bar: tc.bar, last: -1}
			for _, done := range []float32{0, 0.001, 0.5, 0.5, 1, 1} {
				p.show(done)
			}
			if out.String() != tc.want {
				t.Errorf("shown %q, want %q", out.String(), tc.want)
			}
		})
	}
}
