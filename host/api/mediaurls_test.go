// SPDX-License-Identifier: MIT

package api

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/media/fetch"
	"github.com/penstock/penstock/tools/must"
)

// urlDoors are the ways by which a URL comes to the server: bodies with U for it, and the field by
// which it is refused.
var urlDoors = []door{
	{"/v1/chat/completions", `{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"U"}}]}]}`, "messages[0].content[0]"},
	{"/v1/chat/completions", `{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"file","file":{"file_url":"U"}}]}]}`, "messages[0].content[0]"},
	{"/v1/chat/completions/input_tokens", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":"U"}]}]}`, "messages[0].content[0]"},
	{"/v1/responses", `{"max_output_tokens":1,"input":[{"role":"user","content":[{"type":"input_image","image_url":"U"}]}]}`, "input[0].content[0]"},
	{"/v1/responses", `{"max_output_tokens":1,"input":[{"role":"user","content":[{"type":"input_file","file_url":"U"}]}]}`, "input[0].content[0]"},
	{"/v1/messages", `{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"U"}}]}]}`, "messages[0].content[0]"},
	{"/v1/messages/count_tokens", `{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"U"}}]}]}`, "messages[0].content[0]"},
}

// fetchingRig serves a model that sees, with URLs on.
func fetchingRig(t *testing.T, o fetch.Options) *rig {
	if o.Limit == 0 {
		o.Limit = 1 << 20
	}
	if o.Timeout == 0 {
		o.Timeout = patience
	}
	r, _ := seeingRig(t, func(s *setup) {
		s.Media = media.Bounds{Pixels: 1 << 20, Sound: time.Minute, Memory: 64 << 20, Fetch: &o}
	})
	return r
}

func (r *rig) refusesURL(d door, url, says string) {
	r.t.Helper()
	status, _, answer := r.call(http.MethodPost, d.path, strings.ReplaceAll(d.body, "U", url))
	if status != http.StatusBadRequest || !strings.Contains(answer, d.field+" ") || !strings.Contains(answer, says) {
		r.t.Errorf("%s by %s: %d %.400s; want a 400 that says %q of %s", url, d.path, status, answer, says, d.field)
	}
}

// inside is a server of this machine that nobody may reach through the API, and how often it was.
func inside(t *testing.T) (port string, reached *atomic.Int64) {
	t.Helper()
	reached = &atomic.Int64{}
	picture := aPicture(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		_, _ = w.Write(picture)
	}))
	t.Cleanup(server.Close)
	_, port = must.Both(net.SplitHostPort(server.Listener.Addr().String()))(t)
	return port, reached
}

// With URLs on, none leads to this machine or its network, however it is written and by whichever
// API it comes.
func TestAPI_Media_URLs_ReachNothingWithin(t *testing.T) {
	r := fetchingRig(t, fetch.Options{HTTP: true})
	port, reached := inside(t)
	hosts := []string{"127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.0.0.1.", "0.0.0.0", "0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
		"[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[fe80::1]", "[fe80::1%25lo]", "[fd00::1]", "10.0.0.1", "172.31.255.255", "192.168.0.1", "169.254.169.254", "[fd00:ec2::254]", "100.100.100.200",
		"224.0.0.1", "255.255.255.255", "１２７.０.０.１", "127。0。0。1"}
	for i, host := range hosts {
		for _, scheme := range []string{"http", "https"} {
			r.refusesURL(urlDoors[i%len(urlDoors)], fmt.Sprintf("%s://%s:%s/a.png", scheme, host, port), "")
		}
	}
	for _, d := range urlDoors {
		r.refusesURL(d, "http://127.0.0.1:"+port+"/a.png", "which has no public address (media.url_networks lists")
		r.refusesURL(d, "http://user:pass@127.0.0.1:"+port+"/a.png", "has a user or a password in it")
		r.refusesURL(d, "ftp://127.0.0.1:"+port+"/a.png", "https: and http: and data: URLs are taken here")
	}
	for _, body := range []string{`{"messages":[{"role":"user","content":"a","images":["U"]}]}`, `{"messages":[{"role":"user","content":"a","images":["http://127.0.0.1:PORT/a.png"]}]}`} {
		if status, _, answer := r.call(http.MethodPost, "/api/chat", strings.NewReplacer("PORT", port, "U", "http://localhost:"+port).Replace(body)); status != http.StatusBadRequest || !strings.Contains(answer, "is no base64") {
			t.Errorf("Ollama's API has no URLs: %d %s", status, answer)
		}
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("the server within was reached %d times", n)
	}
	secure := fetchingRig(t, fetch.Options{})
	for _, d := range urlDoors {
		secure.refusesURL(d, "http://127.0.0.1:"+port+"/a.png", `is a URL of \"http:\"; https: and data: URLs are taken here (media.urls)`)
	}
}

// A server that may be reached cannot lead to one that may not, and is bounded in bytes and in
// time.
func TestAPI_Media_URLs_Bounds(t *testing.T) {
	picture := aPicture(t)
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch q.URL.Path {
		case "/within":
			http.Redirect(w, q, "http://[::ffff:127.0.0.2]/", http.StatusFound)
		case "/metadata":
			http.Redirect(w, q, "http://169.254.169.254/latest/meta-data", http.StatusMovedPermanently)
		case "/file":
			http.Redirect(w, q, "file:///etc/passwd", http.StatusFound)
		case "/loop":
			http.Redirect(w, q, "/loop", http.StatusFound)
		case "/large":
			_, _ = w.Write(make([]byte, 5000))
		case "/page":
			_, _ = w.Write([]byte("<html>"))
		case "/missing":
			http.NotFound(w, q)
		case "/trickle":
			for q.Context().Err() == nil {
				_, _ = w.Write([]byte{0})
				_ = http.NewResponseController(w).Flush()
				select {
				case <-q.Context().Done():
				case <-time.After(5 * time.Millisecond):
				}
			}
		default:
			_, _ = w.Write(picture)
		}
	}))
	defer outside.Close()
	// Of this machine's addresses the first alone may be reached, as if it were the internet.
	only := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	r := fetchingRig(t, fetch.Options{HTTP: true, Networks: only, Limit: 4000})
	for i, d := range urlDoors {
		if status, _, answer := r.call(http.MethodPost, d.path, strings.ReplaceAll(d.body, "U", outside.URL+"/a.png")); status != http.StatusOK {
			t.Errorf("%s: %d %s", d.path, status, answer)
		}
		for path, says := range map[string]string{"/within": "which has no public address", "/metadata": "which has no public address", "/file": "leads to a URL that is a URL of", "/loop": "leads to more than 3 other URLs",
			"/large": "media.url_limit", "/page": "is an SVG or another text with markup", "/missing": "answers with status 404"} {
			r.refusesURL(urlDoors[(i+len(path))%len(urlDoors)], outside.URL+path, says)
		}
	}
	hasty := fetchingRig(t, fetch.Options{HTTP: true, Networks: only, Timeout: 100 * time.Millisecond})
	hasty.refusesURL(urlDoors[0], outside.URL+"/trickle", "cannot be fetched within 100ms (media.url_timeout)")
}
