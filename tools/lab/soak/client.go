// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/penstock/penstock/tools/lab/bench"
)

// get is a request without a body.
func get(path, key string) bench.Call {
	return bench.Call{Method: http.MethodGet, Path: path, Key: key}
}

// post is a request with a body, which becomes JSON.
func post(path, key string, body any) bench.Call {
	data, err := json.Marshal(body)
	if err != nil {
		panic(err) // bodies are maps of plain values
	}
	return bench.Call{Method: http.MethodPost, Path: path, Key: key, Body: data}
}

// wrong is an answer that should not be.
type wrong struct{ asked, got, want string }

func (w *wrong) Error() string {
	return fmt.Sprintf("a wrong answer\n  request: %s\n  answer:  %s\n  wanted:  %s", w.asked, w.got, w.want)
}

// send sends a request and reads the answer to its end.
func (s *soak) send(ctx context.Context, c bench.Call) (bench.Answer, error) {
	a, err := s.http.Send(ctx, c)
	if err != nil {
		err = fmt.Errorf("%s: %w", c, err)
	}
	return a, err
}

// expect sends a request whose answer must have one of the statuses, and counts it. An answer that
// the server was too busy for is no wrong one; ok is false then.
func (s *soak) expect(ctx context.Context, kind string, c bench.Call, statuses ...int) (a bench.Answer, ok bool, err error) {
	if a, err = s.send(ctx, c); err != nil {
		return a, false, err
	}
	if end, full := busy(a); full {
		s.tally.add(kind, end)
		return a, false, nil
	}
	for _, status := range statuses {
		if a.Status == status {
			s.tally.add(kind, fmt.Sprint(status))
			return a, true, nil
		}
	}
	return a, false, &wrong{c.String(), a.String(), "the status " + strings.Trim(fmt.Sprint(statuses), "[]")}
}

// busy tells how a request ended that the server had no room for, which it says with a word or, to
// Ollama's clients, in a sentence.
func busy(a bench.Answer) (end string, ok bool) {
	text := string(a.Body)
	switch {
	case a.Status == http.StatusTooManyRequests && (strings.Contains(text, "queue_full") || strings.Contains(text, "try again in a moment")):
		return "429 queue full", true
	case a.Status == http.StatusServiceUnavailable && (strings.Contains(text, "plugins_busy") || strings.Contains(text, "plugins.memory")):
		return "503 plugins busy", true
	case a.Status == http.StatusServiceUnavailable && strings.Contains(text, "bodies_too_large"):
		return "503 bodies too large", true
	case a.Status == http.StatusServiceUnavailable && strings.Contains(text, `"busy"`):
		return "503 compiling others", true
	case a.Status == http.StatusUnprocessableEntity && strings.Contains(text, "longer than an upload may"):
		return "422 no time to load it", true
	}
	return "", false
}
