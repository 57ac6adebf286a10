// SPDX-License-Identifier: MIT

package dev

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/penstock/penstock/host/author/project"
	"github.com/penstock/penstock/tools/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func token(piece string, stages ...Stage) Token {
	return Token{Piece: piece, By: "dist", Before: Survey{N: 9}, Stages: stages}
}

func TestFindDifference(t *testing.T) {
	best := Survey{N: 4, Best: []Candidate{{" b", 0.75}, {" c", 0.25}}}
	left := Survey{N: 1, Best: []Candidate{{" c", 1}}}
	before := &TracedAnswer{Text: "a b", Reason: "length", Tokens: []Token{token("a"), token(" b")}}
	after := &TracedAnswer{Text: "a c", Reason: "length", Tokens: []Token{token("a"), token(" c", Stage{Name: "top_k", After: best}, Stage{Name: "plugin:x", After: left})}}
	d := findDifference(before, after, "plugin:x")
	if d == nil || d.Token != 2 || d.Before.Piece != " b" || d.Before.Found != nil || d.After.Found.N != 4 || d.After.Left.N != 1 {
		t.Errorf("%+v", d)
	}
	var out bytes.Buffer
	must.Do(t, (Round{Plugin: "x", Before: before, After: after, Difference: d}).Print(&out))
	for _, want := range []string{`before: "a b" [length after 2 tokens]`, `token 2: " b" by dist before, " c" by dist after`, "found 4 candidates and left 1", ` 75.0% " b"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if d := findDifference(before, before, "plugin:x"); d != nil {
		t.Errorf("an answer differs from itself: %+v", d)
	}
	shorter := &TracedAnswer{Text: "a", Reason: "stop", Tokens: before.Tokens[:1]}
	if d := findDifference(before, shorter, "plugin:x"); d == nil || d.Token != 2 || d.After != nil || d.After.String() != "the end" {
		t.Errorf("%+v", d)
	}
	if d := findDifference(before, &TracedAnswer{Text: "a", Reason: "stop", Tokens: before.Tokens}, "plugin:x"); d == nil || d.Token != 0 {
		t.Errorf("less of the same tokens: %+v", d)
	}
}

func TestRound_Print_Errors(t *testing.T) {
	for want, r := range map[string]Round{
		"not loaded, the last build stays: bad\n":                       {Error: "bad"},
		"frog is loaded, but the question was not answered: it traps\n": {Plugin: "frog", Error: "it traps"},
	} {
		var out bytes.Buffer
		if err := r.Print(&out); err != nil || out.String() != want {
			t.Errorf("%q %v, want %q", out.String(), err, want)
		}
	}
}

func sources(t *testing.T) (project.Project, string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	put(t, file, "package main")
	return project.Project{Dir: dir, Name: "x", Language: project.Go}, file
}

func put(t *testing.T, file, text string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(file), 0o700))
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
}

func TestWatcher_AwaitChange(t *testing.T) {
	for name, told := range map[string]bool{"the system tells": true, "the clock alone": false} {
		t.Run(name, func(t *testing.T) {
			p, file := sources(t)
			w := must.Get(newWatcher(p))(t)
			if !told {
				w.close()
				w.notify = nil
			}
			defer w.close()
			for _, change := range []func(){
				func() { put(t, file, "package main // longer") },
				func() { put(t, filepath.Join(p.Dir, "new", "more.go"), "package more") },
				func() { put(t, filepath.Join(p.Dir, "new", "more.go"), "package more // longer") },
				func() { _ = os.Remove(file) },
			} {
				change()
				must.Do(t, w.awaitChange(t.Context()))
				must.Do(t, w.noteSources())
			}
		})
	}
}

func TestWatcher_AwaitChange_OnlyForSources(t *testing.T) {
	p, _ := sources(t)
	w := must.Get(newWatcher(p))(t)
	defer w.close()
	put(t, filepath.Join(p.Dir, "x.wasm"), "built")
	put(t, filepath.Join(p.Dir, ".git", "x.go"), "package x")
	put(t, filepath.Join(p.Dir, "main_test.go"), "package main")
	ctx, cancel := context.WithTimeout(t.Context(), checkInterval+quietTime+200*time.Millisecond)
	defer cancel()
	if err := w.awaitChange(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// fakeHost answers a path with a status and a body.
func fakeHost(t *testing.T, answers map[string]string) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.Method+" "+r.URL.Path]
		if key := r.Header.Get("Authorization"); key == "Bearer wrong" {
			w.WriteHeader(http.StatusUnauthorized)
			answer = `{"error":{"message":"this needs the server's admin key"}}`
		} else if !ok {
			w.WriteHeader(http.StatusUnprocessableEntity)
			answer = `{"error":{"message":"plugin x: the schema is no JSON"}}`
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(func() {
		server.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return &Client{URL: server.URL}
}

func TestHost_Put_Errors(t *testing.T) {
	h := fakeHost(t, nil)
	if _, err := h.put(t.Context(), nil, "x.wasm"); !errors.Is(err, ErrPlugin) || !strings.Contains(err.Error(), "the schema is no JSON") {
		t.Errorf("what the author can fix: %v", err)
	}
	h.AdminKey = "wrong"
	if _, err := h.put(t.Context(), nil, "x.wasm"); err == nil || errors.Is(err, ErrPlugin) || !strings.Contains(err.Error(), "--admin-key") {
		t.Errorf("a wrong key: %v", err)
	}
	if _, err := (&Client{URL: "http://127.0.0.1:1"}).put(t.Context(), nil, "x.wasm"); err == nil || errors.Is(err, ErrPlugin) {
		t.Errorf("no host: %v", err)
	}
	if _, err := fakeHost(t, map[string]string{"POST /v1/plugins": "<html>"}).put(t.Context(), nil, "x.wasm"); err == nil || !strings.Contains(err.Error(), "as Penstock does") {
		t.Errorf("another server: %v", err)
	}
}

func TestHost_PutIntoFolder(t *testing.T) {
	const sum = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae" // of foo
	h := fakeHost(t, map[string]string{"GET /v1/plugins": `{"data":[{"name":"old","file":"y.wasm"},{"name":"frog","file":"x.wasm","sha256":"` + sum + `","state":"ready"}]}`})
	h.Folder = t.TempDir()
	l, err := h.put(t.Context(), []byte("foo"), "x.wasm")
	if written, _ := os.ReadFile(filepath.Join(h.Folder, "x.wasm")); err != nil || l.Name != "frog" || string(written) != "foo" {
		t.Errorf("%+v %v %q", l, err, written)
	}
}

// A module that an upload leaves too little time for goes into the folder, where that is known.
func TestHost_Put_LateUpload(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, `{"error":{"code":"upload_timeout","message":"limit exceeded"}}`)
			return
		}
		_, _ = io.WriteString(w, `{"data":[{"name":"frog","file":"x.wasm","sha256":"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae","state":"ready"}]}`)
	}))
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	h := &Client{URL: server.URL, AdminKey: "key"}
	if _, err := h.put(t.Context(), []byte("foo"), "x.wasm"); !errors.Is(err, ErrPlugin) {
		t.Errorf("without a folder: %v", err)
	}
	h.Folder = t.TempDir()
	if l, err := h.put(t.Context(), []byte("foo"), "x.wasm"); err != nil || l.Name != "frog" {
		t.Errorf("%+v %v", l, err)
	}
}

func TestQuestion_Body(t *testing.T) {
	text, err := Question{Prompt: "Hi", Config: json.RawMessage(`{"a":1}`), Seed: 7, MaxTokens: 5}.body("frog")
	want := `{"messages":[{"role":"user","content":"Hi"}],"plugins":[{"name":"frog","config":{"a":1}}],"seed":7,"max_tokens":5,"temperature":0,"trace":true}`
	if err != nil || string(text) != want {
		t.Errorf("%s %v", text, err)
	}
}
