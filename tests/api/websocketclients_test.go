// SPDX-License-Identifier: MIT

package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// The Go client of docs/websocket.md asks and forks.
func TestWebSocketDocs_GoClient(t *testing.T) {
	client := filepath.Join(t.TempDir(), "goclient")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", client, "../../docs/websocket/goclient").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	h := hosts.Open(t, map[string]any{"server.api_keys": []string{"sécret"}})
	hosts.Run(t, h)
	address := "ws" + strings.TrimPrefix(h.URL(), "http") + "/v1/ws"
	out, err := exec.CommandContext(t.Context(), client, "-url", address, "-key", "sécret").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	first, second, found := strings.Cut(strings.TrimPrefix(string(out), "first: "), "\nsecond: ")
	if !found || !forkedAfter("Once upon a time", first, second) {
		t.Errorf("it printed\n%s", out)
	}
	if out, err := exec.CommandContext(t.Context(), client, "-url", address).CombinedOutput(); err == nil {
		t.Errorf("without the key it printed\n%s", out)
	}
}

// forkedAfter reports whether two texts are alike up to the end of some words, and go on.
func forkedAfter(words, first, second string) bool {
	at := strings.Index(first, words)
	end := at + len(words)
	return at >= 0 && len(first) > end+10 && len(second) > end+10 && first[:end] == second[:end]
}

// The browser's client of docs/websocket.md does so too, in a real browser, from another origin,
// with a key.
func TestWebSocketDocs_BrowserClient(t *testing.T) {
	browser, err := exec.LookPath("/usr/lib/chromium/chromium-headless-shell") // the script on PATH would leave it running
	if err != nil {
		browser, err = exec.LookPath("chromium")
	}
	if err != nil {
		t.Fatalf("the browser's client cannot be run: %v; run make setup-test", err)
	}
	files := http.FileServer(http.Dir("../../docs/websocket/browser"))
	told := make(chan string, 1)
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/test.html":
			_, _ = fmt.Fprint(w, testPage)
		case "/told":
			body, _ := io.ReadAll(r.Body)
			told <- string(body)
		default:
			files.ServeHTTP(w, r)
		}
	}))
	defer pages.Close()
	h := hosts.Open(t, map[string]any{"server.api_keys": []string{"sécret"}, "server.cors_origins": []string{pages.URL}})
	hosts.Run(t, h)
	query := url.Values{"url": {"ws" + strings.TrimPrefix(h.URL(), "http") + "/v1/ws"}, "key": {"sécret"}, "ask": {""}}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	c := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0",
		"--user-data-dir="+t.TempDir(), pages.URL+"/test.html?"+query.Encode())
	c.Env = append(c.Environ(), "HOME="+t.TempDir())
	var said bytes.Buffer // through a pipe that the browser's other processes hold too: they still write to their folder when the first is gone
	c.Stdout, c.Stderr, c.WaitDelay = &said, &said, 10*time.Second
	must.Do(t, c.Start())
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	select {
	case text := <-told:
		first, second, found := strings.Cut(text, "\n")
		if !found || !forkedAfter("Once upon a time", first, second) {
			t.Errorf("the page shows %q", text)
		}
	case <-ctx.Done():
		_ = c.Process.Kill()
		_ = c.Wait()
		t.Errorf("the page does not come to its end; the browser says %s", said.String())
	}
}

// testPage shows the example and tells what it shows in the end.
const testPage = `<!doctype html><iframe id="page"></iframe><script>
const page = document.getElementById("page");
page.src = "/index.html" + location.search;
const timer = setInterval(() => {
  const d = page.contentDocument;
  if (d?.title !== "done") return;
  clearInterval(timer);
  fetch("/told", {method: "POST", body: d.getElementById("first").textContent + "\n" + d.getElementById("second").textContent});
}, 50);
</script>`
