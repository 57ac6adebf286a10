// SPDX-License-Identifier: MIT

package api

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// Each line of docs/curl.md works as it stands, and there is one for each route.
func TestDocs_Curl(t *testing.T) {
	text := must.Get(os.ReadFile("../../docs/curl.md"))(t)
	_, section, fenced := strings.Cut(string(text), "```sh\n")
	lines, _, closed := strings.Cut(section, "```\n")
	if !fenced || !closed {
		t.Fatal("docs/curl.md has no commands")
	}
	h := hosts.Open(t, nil)
	hosts.Run(t, h)
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "plugin.wasm"), []byte("\x00asm\x01\x00\x00\x00"), 0o600))
	must.Do(t, os.WriteFile(filepath.Join(dir, "sound.wav"), []byte("RIFF\x04\x00\x00\x00WAVE"), 0o600))
	lines = strings.Replace(lines, "http://127.0.0.1:8080", h.URL(), 1)
	header, _, _ := strings.Cut(lines, "\n")
	status := regexp.MustCompile(`# (\d{3}):`)
	var tried []string
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
		tried = append(tried, methodAndPath(line))
	}
	for path, item := range openAPI(t).Paths.Map() {
		for method := range item.Operations() {
			route := regexp.MustCompile("^" + parameter.ReplaceAllString(method+" "+path, "[^/]+") + "$")
			if !otherNames[path] && !slices.ContainsFunc(tried, route.MatchString) {
				t.Errorf("no line for %s %s", method, path)
			}
		}
	}
}

// parameter is a part of a path that differs from call to call.
var parameter = regexp.MustCompile(`\{[a-z]+\}`)

// methodAndPath returns what a line of curl calls.
func methodAndPath(line string) string {
	method := http.MethodGet
	if m := regexp.MustCompile(` -X ([A-Z]+) `).FindStringSubmatch(line); m != nil {
		method = m[1]
	} else if regexp.MustCompile(` (-d|-F|--data-binary) `).MatchString(line) {
		method = http.MethodPost
	}
	_, path, _ := strings.Cut(line, "$url")
	return method + " " + strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(" ?\"\n", r) })[0]
}

// otherNames are paths of routes that have a line under another.
var otherNames = map[string]bool{"/v1/health": true, "/debug/pprof/cmdline": true, "/debug/pprof/symbol": true, "/debug/pprof/trace": true,
	"/chat/completions": true, "/models": true, "/responses": true, "/completions": true, "/embeddings": true, "/audio/transcriptions": true,
	"/chat/completions/input_tokens": true, "/responses/input_tokens": true, "/reranking": true, "/v1/rerank": true, "/v1/reranking": true}
