// SPDX-License-Identifier: MIT

package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// What a service file of llama-server's says about the paths: a prefix of all of them, and files
// in the place of the page.
func TestHost_PrefixAndOwnFiles(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	for path, text := range map[string]string{filepath.Join(dir, "index.html"): "mine", outside: "secret"} {
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	must.Do(t, os.Symlink(outside, filepath.Join(dir, "link")))
	h := hosts.Open(t, map[string]any{"server.api_prefix": "/llm", "server.ui_dir": dir})
	hosts.Run(t, h)
	if !strings.HasSuffix(h.URL(), "/llm") {
		t.Errorf("its address is %s", h.URL())
	}
	if status, text := hosts.Post(t, h.URL()+"/v1/chat/completions", `{`+hosts.Frog+`,"temperature":0,"max_tokens":8}`); status != 200 {
		t.Errorf("a chat: %d %s", status, text)
	}
	if got := hosts.Get(t, h.URL()+"/"); got != "mine" {
		t.Errorf("the page: %q", got)
	}
	if got := hosts.Get(t, h.URL()+"/link"); strings.Contains(got, "secret") {
		t.Errorf("a link out of the folder is followed: %q", got)
	}
	if got := hosts.Get(t, h.URL()+"/props"); !strings.Contains(got, `"ui":true`) {
		t.Errorf("/props: %s", got)
	}
}
