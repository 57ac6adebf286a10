// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"net/http"
	"strings"
	"testing"
)

// pullFolder is a model folder whose pulls tell one step and succeed.
type pullFolder struct{ Folder }

func (pullFolder) Pull(_ context.Context, _ string, notify func(PullProgress)) error {
	notify(PullProgress{Status: "pulling manifest"})
	return nil
}

// A write timeout of 0 is none: the lines of a pull arrive as with any other.
func TestAPI_Pull_NoWriteTimeout(t *testing.T) {
	r := newRig(t, func(s *setup) { s.Folder, s.WriteTimeout, s.Keys = pullFolder{}, 0, keys("admin", nil) })
	status, _, text := r.call(http.MethodPost, "/api/pull", `{"model":"owner/name"}`, "Authorization", "Bearer admin")
	if want := "{\"status\":\"pulling manifest\"}\n{\"status\":\"success\"}\n"; status != http.StatusOK || text != want {
		t.Errorf("%d %q, want %q", status, text, want)
	}
}

// To pull a model that is served is to be told so, by whatever name Ollama's clients call it: no
// admin key is needed, but one of the server's is.
func TestAPI_Pull_ServedAlready(t *testing.T) {
	r := newRig(t, func(s *setup) { s.Folder, s.Keys = pullFolder{}, keys("admin", nil, "key") })
	for _, c := range []struct {
		model, key string
		status     int
		text       string
	}{
		{"toy", "key", http.StatusOK, "{\"status\":\"success\"}\n"},
		{"toy:latest", "key", http.StatusOK, "{\"status\":\"success\"}\n"},
		{"toy", "wrong", http.StatusUnauthorized, ""},
		{"toy", "admin", http.StatusOK, "{\"status\":\"success\"}\n"},
		{"toys", "admin", http.StatusOK, "{\"status\":\"pulling manifest\"}\n{\"status\":\"success\"}\n"},
		{"toys", "key", http.StatusUnauthorized, ""},
	} {
		status, _, text := r.call(http.MethodPost, "/api/pull", `{"model":"`+c.model+`"}`, "Authorization", "Bearer "+c.key)
		if status != c.status || c.text != "" && text != c.text {
			t.Errorf("%s with %s: %d %q", c.model, c.key, status, text)
		}
	}
}

// heldFolder is a model folder whose pulls end when they are let go.
type heldFolder struct {
	Folder
	begun, release chan struct{}
}

func (f heldFolder) Pull(context.Context, string, func(PullProgress)) error {
	f.begun <- struct{}{}
	<-f.release
	return nil
}

// The admin's pulls are bounded, too: one more is refused, and taken once another has ended.
func TestAPI_Pull_AtATime(t *testing.T) {
	folder := heldFolder{begun: make(chan struct{}, mostPulls+1), release: make(chan struct{})}
	r := newRig(t, func(s *setup) { s.Folder, s.Keys = folder, keys("admin", nil) })
	pull := func() (int, string) {
		status, _, text := r.call(http.MethodPost, "/api/pull", `{"model":"owner/name"}`, "Authorization", "Bearer admin")
		return status, text
	}
	ended := make(chan int)
	for range mostPulls {
		go func() { status, _ := pull(); ended <- status }()
		<-folder.begun
	}
	if status, text := pull(); status != http.StatusConflict || !strings.Contains(text, "4 models are being pulled already") {
		t.Errorf("one more: %d %s", status, text)
	}
	close(folder.release)
	for range mostPulls {
		if status := <-ended; status != http.StatusOK {
			t.Errorf("a pull: %d", status)
		}
	}
	if status, text := pull(); status != http.StatusOK {
		t.Errorf("after the others: %d %s", status, text)
	}
}
