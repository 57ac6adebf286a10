// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/tck"
)

func TestRun_Arguments(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		code int
	}{
		"nothing":      {nil, exitWrongUse},
		"both":         {[]string{"-url", "http://127.0.0.1:1", "-write", "x"}, exitWrongUse},
		"unknown flag": {[]string{"-x"}, exitWrongUse},
		"no server":    {[]string{"-url", "http://127.0.0.1:1", "-only", "least"}, exitFailed},
	} {
		var problems bytes.Buffer
		if code := run(context.Background(), tc.args, io.Discard, &problems); code != tc.code || problems.Len() == 0 {
			t.Errorf("%s: exit %d, %q", name, code, problems.String())
		}
	}
}

func TestRun_Write_OnlySome(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kit")
	if code := run(context.Background(), []string{"-write", dir, "-only", "loop-"}, io.Discard, os.Stderr); code != exitDone {
		t.Fatalf("exit %d", code)
	}
	want := map[string]bool{}
	for _, c := range tck.Cases() {
		for _, m := range c.Modules {
			if strings.HasPrefix(c.Name, "loop-") {
				want[m.File] = true
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.wasm"))
	if err != nil || len(files) != len(want) || len(want) < len(abi.Exports)-1 { // a loop in each, but for the version
		t.Errorf("%d files, want %d: %v", len(files), len(want), err)
	}
	for _, f := range files {
		if !want[filepath.Base(f)] {
			t.Errorf("%s was not asked for", f)
		}
	}
}

// A server that loads what comes, and always gives the same answer, breaks some rules and keeps
// others.
func TestRun_URL_ReportsEachCase(t *testing.T) {
	removed := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodDelete:
			removed++
			w.WriteHeader(http.StatusNoContent)
		case r.URL.Path == "/v1/plugins" && r.Header.Get("Authorization") == "Bearer secret":
			_, _ = io.WriteString(w, `{"name":"a"}`)
		case r.URL.Path == "/v1/plugins":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			_, _ = io.WriteString(w, `{"choices":[{"text":"abc","finish_reason":"length"}],"usage":{"completion_tokens":6}}`)
		}
	}))
	defer server.Close()
	var out, problems bytes.Buffer
	args := []string{"-url", server.URL, "-admin-key", "secret", "-only", "accept-"}
	if code := run(context.Background(), args, &out, &problems); code != exitFailed || problems.String() != "tck: "+errFound.Error()+"\n" {
		t.Errorf("exit %d: %s", code, problems.String())
	}
	for _, want := range []string{"BROKEN  accept-stops", "BROKEN  accept-answer: an unknown answer of accept: the rule is broken: the request was answered", "3 cases, 3 broken"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	out.Reset()
	problems.Reset()
	if code := run(context.Background(), append(args[:5:5], "least"), &out, &problems); code != exitDone || !strings.HasPrefix(out.String(), "ok      least: ") {
		t.Errorf("exit %d: %s%s", code, out.String(), problems.String())
	}
	if removed != 2 {
		t.Errorf("removed %d", removed)
	}
}

// A server on which all cases are well, but whose other clients get different answers meanwhile.
func TestRun_URL_ReportsDisturbedNeighbours(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/plugins" {
			_, _ = io.WriteString(w, `{"name":"a"}`)
			return
		}
		text := "abc"
		if asked.Add(1) > 7 { // all seven neighbours have asked by themselves
			text = "abd"
		}
		_, _ = io.WriteString(w, `{"choices":[{"text":"`+text+`","finish_reason":"length"}],"usage":{"completion_tokens":6}}`)
	}))
	defer server.Close()
	var out, problems bytes.Buffer
	code := run(context.Background(), []string{"-url", server.URL, "-only", "least"}, &out, &problems)
	if code != exitFailed || !strings.Contains(out.String(), `neighbour 0 has "abd"; undisturbed it has "abc"`) || !strings.HasSuffix(out.String(), "1 cases, 0 broken\n") {
		t.Errorf("exit %d: %s%s", code, out.String(), problems.String())
	}
}
