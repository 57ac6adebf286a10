// SPDX-License-Identifier: MIT

package api

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/api"
	"github.com/penstock/penstock/tests/hosts"
)

// Each line of docs/curl.md works as it stands, and there is one for each route.
func TestDocs_Curl(t *testing.T) {
	text, err := os.ReadFile("../../docs/curl.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, fenced := strings.Cut(string(text), "```sh\n")
	lines, _, closed := strings.Cut(section, "```\n")
	if !fenced || !closed {
		t.Fatal("docs/curl.md has no commands")
	}
	h := hosts.Open(t, nil)
	hosts.Run(t, h)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "plugin.wasm"), []byte("\x00asm\x01\x00\x00\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sound.wav"), []byte("RIFF\x04\x00\x00\x00WAVE"), 0o600); err != nil {
		t.Fatal(err)
	}
	lines = strings.Replace(lines, "http://127.0.0.1:8080", h.URL(), 1)
	header, _, _ := strings.Cut(lines, "\n")
	status := regexp.MustCompile(`# (\d{3}):`)
	tried := map[string]bool{}
	for line := range strings.Lines(lines) {
		if !strings.HasPrefix(line, "curl ") {
			continue
		}
		want := "200"
		if m := status.FindStringSubmatch(line); m != nil {
			want = m[1]
		}
		command := exec.CommandContext(t.Context(), "bash", "-c", header+"\n"+strings.Replace(line, "curl ", `curl -sS -o /dev/null -w '%{http_code}' `, 1))
		command.Dir = dir
		got, err := command.CombinedOutput()
		if err != nil || string(got) != want {
			t.Errorf("%s%v: status %s, want %s", line, err, got, want)
		}
		_, path, _ := strings.Cut(line, "$url")
		path = strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(" ?\"\n", r) })[0]
		tried[strings.Replace(path, "/0", "/:id", 1)] = true
	}
	for _, d := range api.Dialects() {
		for _, r := range d.Routes {
			same, _, _ := strings.Cut(r.Path, "/*")
			if d.Name != "WebSocket" && same != "/api" && !tried[r.Path] && !tried[same+"/penstock-tiny"] && !otherNames[r.Path] {
				t.Errorf("no line for %s %s", r.Method, r.Path)
			}
		}
	}
}

// otherNames are paths of routes that have a line under another.
var otherNames = map[string]bool{"/chat/completions": true, "/models": true, "/responses": true, "/completions": true, "/embeddings": true, "/audio/transcriptions": true,
	"/chat/completions/input_tokens": true, "/responses/input_tokens": true, "/reranking": true, "/v1/rerank": true, "/v1/reranking": true}
