// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/penstock/penstock/host/excerpt"
)

// call is a request.
type call struct {
	method, path string
	key          string
	kind         string // of the body; empty: JSON
	body         []byte
}

// get is a request without a body.
func get(path, key string) call { return call{method: http.MethodGet, path: path, key: key} }

// post is a request with a body, which becomes JSON.
func post(path, key string, body any) call {
	data, err := json.Marshal(body)
	if err != nil {
		panic(err) // bodies are maps of plain values
	}
	return call{method: http.MethodPost, path: path, key: key, body: data}
}

func (c call) String() string {
	if c.kind != "" {
		return fmt.Sprintf("%s %s as %s, %d bytes of %s", c.method, c.path, c.key, len(c.body), c.kind)
	}
	return fmt.Sprintf("%s %s as %s %s", c.method, c.path, c.key, excerpt.Of(string(c.body), 2000))
}

// answer is what came back.
type answer struct {
	status int
	body   []byte
}

func (a answer) String() string {
	return fmt.Sprintf("%d %s", a.status, excerpt.Of(string(a.body), 4000))
}

// wrong is an answer that should not be.
type wrong struct{ asked, got, want string }

func (w *wrong) Error() string {
	return fmt.Sprintf("a wrong answer\n  request: %s\n  answer:  %s\n  wanted:  %s", w.asked, w.got, w.want)
}

// newClient has connections of its own. With a buffer it takes so few bytes at a time that a
// server soon notices a slow reader.
func newClient(buffer int) *http.Client {
	dialer := &net.Dialer{}
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if tcp, ok := conn.(*net.TCPConn); ok && buffer > 0 {
				err = tcp.SetReadBuffer(buffer)
			}
			return conn, err
		}}}
}

// begin sends a request and returns once the headers of the answer are there.
func (s *soak) begin(ctx context.Context, client *http.Client, c call) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, c.method, s.place.URL+c.path, bytes.NewReader(c.body)) //nolint:gosec // the server is a child of this program
	if err != nil {
		return nil, err
	}
	if c.key != "" {
		request.Header.Set("Authorization", "Bearer "+c.key)
	}
	if c.kind == "" {
		c.kind = "application/json"
	}
	request.Header.Set("Content-Type", c.kind)
	response, err := client.Do(request) //nolint:gosec // likewise
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c, err)
	}
	return response, nil
}

// send sends a request and reads the answer to its end.
func (s *soak) send(ctx context.Context, c call) (answer, error) {
	response, err := s.begin(ctx, s.http, c)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, fmt.Errorf("%s: the answer broke off after %d bytes: %w", c, len(body), err)
	}
	return answer{response.StatusCode, body}, nil
}

// expect sends a request whose answer must have one of the statuses, and counts it. An answer that
// the server was too busy for is no wrong one; ok is false then.
func (s *soak) expect(ctx context.Context, kind string, c call, statuses ...int) (a answer, ok bool, err error) {
	if a, err = s.send(ctx, c); err != nil {
		return a, false, err
	}
	if end, busy := a.busy(); busy {
		s.tally.add(kind, end)
		return a, false, nil
	}
	for _, status := range statuses {
		if a.status == status {
			s.tally.add(kind, fmt.Sprint(status))
			return a, true, nil
		}
	}
	return a, false, &wrong{c.String(), a.String(), "the status " + strings.Trim(fmt.Sprint(statuses), "[]")}
}

// busy tells how a request ended that the server had no room for, which it says with a word or, to
// Ollama's clients, in a sentence.
func (a answer) busy() (end string, ok bool) {
	text := string(a.body)
	switch {
	case a.status == http.StatusTooManyRequests && (strings.Contains(text, "queue_full") || strings.Contains(text, "try again in a moment")):
		return "429 queue full", true
	case a.status == http.StatusServiceUnavailable && (strings.Contains(text, "plugins_busy") || strings.Contains(text, "plugins.memory")):
		return "503 plugins busy", true
	case a.status == http.StatusServiceUnavailable && strings.Contains(text, "bodies_too_large"):
		return "503 bodies too large", true
	case a.status == http.StatusServiceUnavailable && strings.Contains(text, `"busy"`):
		return "503 compiling others", true
	case a.status == http.StatusUnprocessableEntity && strings.Contains(text, "longer than an upload may"):
		return "422 no time to load it", true
	}
	return "", false
}
