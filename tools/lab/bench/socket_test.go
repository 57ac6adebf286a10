// SPDX-License-Identifier: MIT

package bench

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// socketServer answers each request in turn with frames; an empty list closes the connection.
type socketServer struct {
	*httptest.Server
	connections atomic.Int32
	answers     chan []string
}

func newSocketServer(t *testing.T, answers ...[]string) *socketServer {
	s := &socketServer{answers: make(chan []string, len(answers))}
	for _, a := range answers {
		s.answers <- a
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.connections.Add(1)
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow() //nolint:errcheck // the client may have closed it
		for {
			if _, _, err := conn.Read(r.Context()); err != nil {
				return
			}
			frames := <-s.answers
			if len(frames) == 0 {
				return
			}
			for _, f := range frames {
				if err := conn.Write(r.Context(), websocket.MessageText, []byte(f)); err != nil {
					t.Error(err)
				}
			}
		}
	}))
	return s
}

func TestSocket_Stream(t *testing.T) {
	whole := []string{`{"type":"started","prompt_tokens":7,"cached_tokens":2}`, `{"type":"token","text":"a"}`, `{"type":"token","text":""}`,
		`{"type":"token","text":"b"}`, `{"type":"end","reason":"length","usage":{"prompt_tokens":7,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":2}}}`}
	server := newSocketServer(t, whole, whole)
	defer server.Close()
	s := NewSocket(NewHTTP(server.URL))
	defer s.Close()
	for range 2 {
		pieces := 0
		got, err := s.Stream(t.Context(), Request{Prompt: "p", MaxTokens: 3}, func(time.Time) { pieces++ })
		if err != nil || pieces != 2 || got != (Usage{7, 2, 3}) {
			t.Errorf("%d pieces, %+v, %v", pieces, got, err)
		}
	}
	if n := server.connections.Load(); n != 1 {
		t.Errorf("%d connections for one stream after the other, want 1", n)
	}
}

func TestSocket_Stream_Failures(t *testing.T) {
	server := newSocketServer(t, nil, []string{`{"type":"error","error":{"message":"bad field"}}`}, []string{"{"},
		[]string{`{"type":"end","error":{"message":"out of memory"}}`})
	defer server.Close()
	s := NewSocket(NewHTTP(server.URL))
	defer s.Close()
	for i, want := range []string{"EOF", "bad field", "not JSON", "out of memory"} {
		_, err := s.Stream(t.Context(), Request{Prompt: "p", MaxTokens: 1}, func(time.Time) {})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if n := server.connections.Load(); int(n) != i+1 {
			t.Errorf("%d connections after %d failures: one was used again", n, i+1)
		}
	}
}
