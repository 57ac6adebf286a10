// SPDX-License-Identifier: MIT

package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Answers as llama-server gives them (usage with the last choice or after it) and as Penstock does
// (usage alone).
const (
	textStream = `data: {"choices":[{"text":"one","index":0,"finish_reason":null}]}

: a comment
data: {"choices":[{"text":"","index":0,"finish_reason":null}]}

data: {"choices":[{"text":" two","index":0,"finish_reason":null}]}

data: {"choices":[{"text":"","index":0,"finish_reason":"length"}]}

data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}

data: [DONE]

`
	chatStream = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":null}}]}\r\n\r\n" +
		"data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\r\n\r\n" +
		"data: {\"choices\":[{\"delta\":{\"content\":\"yes\"}}]}\r\n\r\n" +
		"data:{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\r\n\r\n"
)

func TestReadStream(t *testing.T) {
	for name, test := range map[string]struct {
		stream string
		pieces int
		usage  Usage
		err    string
	}{
		"text":          {textStream, 2, Usage{9, 4, 3}, ""},
		"chat, no DONE": {chatStream, 2, Usage{9, 0, 2}, ""},
		"broken off":    {textStream[:150], 1, Usage{}, "broke off"},
		"empty":         {"", 0, Usage{}, "broke off"},
		"error":         {"data: {\"error\":{\"message\":\"no room\"}}\n\ndata: [DONE]\n\n", 0, Usage{}, "no room"},
		"not JSON":      {"data: {\n", 0, Usage{}, "not JSON"},
		"endless line":  {strings.Repeat("x", maxEvent+1), 0, Usage{}, "longer than"},
	} {
		for how, reader := range map[string]io.Reader{
			"at once": strings.NewReader(test.stream),
			"by byte": iotest.OneByteReader(strings.NewReader(test.stream)),
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				pieces := 0
				got, err := readStream(reader, func(time.Time) { pieces++ })
				if (err == nil) != (test.err == "") || err != nil && (!errors.Is(err, ErrServer) || !strings.Contains(err.Error(), test.err)) {
					t.Fatalf("error %v, want %q", err, test.err)
				}
				if err == nil && (pieces != test.pieces || got != test.usage) {
					t.Errorf("%d pieces and %+v, want %d and %+v", pieces, got, test.pieces, test.usage)
				}
			})
		}
	}
}

func TestHTTP_Stream(t *testing.T) {
	var asked body
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sesame" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":{"message":"a key is needed"}}`)
			return
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		if r.URL.Path == "/v1/chat/completions" {
			fmt.Fprint(w, chatStream)
			return
		}
		fmt.Fprint(w, textStream)
	}))
	defer server.Close()
	h := NewHTTP(server.URL + "/")
	defer h.Close()
	request := Request{Prompt: "a b", MaxTokens: 3, Temperature: 0.5, Seed: 6}
	if _, err := h.Stream(t.Context(), request, func(time.Time) {}); !errors.Is(err, ErrServer) || !strings.Contains(err.Error(), "a key is needed") {
		t.Errorf("without a key: %v", err)
	}
	h.Key, h.Model = "sesame", "m"
	for _, chat := range []bool{false, true} {
		h.Chat = chat
		pieces := 0
		begin := time.Now()
		_, err := h.Stream(t.Context(), request, func(at time.Time) {
			pieces++
			if at.Before(begin) || at.After(time.Now()) {
				t.Errorf("a piece at %v, outside of the request", at)
			}
		})
		if err != nil || pieces != 2 {
			t.Errorf("chat %v: %d pieces, %v", chat, pieces, err)
		}
		want := body{Model: "m", MaxTokens: 3, Temperature: 0.5, Seed: 6, IgnoreEOS: true, Stream: true, StreamOptions: &streamOptions{true}}
		if chat {
			want.Messages = []message{{"user", "a b"}}
		} else {
			want.Prompt = "a b"
		}
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Error(diff)
		}
		asked = body{}
	}
}

// A server that closes each connection after an answer without saying so, as llama-server does
// after some seconds.
func TestHTTP_Stream_ConnectionClosedWhileIdle(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(textStream), textStream)
		time.AfterFunc(time.Millisecond, func() { _ = conn.Close() })
	}))
	defer server.Close()
	h := NewHTTP(server.URL)
	defer h.Close()
	for range 200 {
		if _, err := h.Stream(t.Context(), Request{Prompt: "p", MaxTokens: 3}, func(time.Time) {}); err != nil {
			t.Fatal(err)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(textStream), 7)
	f.Add([]byte(chatStream), 1)
	f.Fuzz(func(t *testing.T, stream []byte, cut int) {
		collect := func(parts ...[]byte) (all []string) {
			var e events
			for _, p := range parts {
				if _, err := e.feed(append([]byte(nil), p...), func(data []byte) error { all = append(all, string(data)); return nil }); err != nil {
					t.Fatal(err)
				}
			}
			return all
		}
		cut = max(0, min(cut, len(stream)))
		if diff := cmp.Diff(collect(stream), collect(stream[:cut], stream[cut:])); diff != "" {
			t.Errorf("cut at %d: %s", cut, diff)
		}
	})
}
