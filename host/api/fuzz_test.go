// SPDX-License-Identifier: MIT

package api

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/completion/completiontest"
	"github.com/penstock/penstock/scheduler"
)

// A body of any route is refused with a 4xx that says so, or becomes requests in range.
func FuzzBodies(f *testing.F) {
	for _, tc := range badChats {
		if len(tc.body) < 1000 {
			f.Add([]byte(tc.body))
		}
	}
	f.Add([]byte(`{"prompt":[1,"a"],"n":2,"stop":["x"],"logit_bias":[[1,false],["b",2]],"samplers":["top_k"]}`))
	f.Add([]byte(`{"messages":[{"role":"assistant","content":null,"tool_calls":[{}]}],"logprobs":true,"top_logprobs":3}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		checked := &checking{t: t}
		handler := New(Options{BodyLimit: 1 << 20, Log: slog.New(slog.DiscardHandler),
			Models: completiontest.OneModel{Model: &completion.Model{Info: completiontest.Info(), Engine: toy{}, Scheduler: checked}}})
		for _, path := range []string{"/v1/chat/completions", "/v1/completions", "/completion"} {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(string(body))))
			if w.Code < 400 || w.Code > 499 || !strings.Contains(w.Body.String(), `"message"`) {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
	})
}

// checking is a scheduler that checks requests and takes none.
type checking struct {
	completion.Scheduler
	t *testing.T
}

func (c *checking) SubmitAll(requests []scheduler.Request) ([]completion.Stream, error) {
	for _, r := range requests {
		if r.MaxTokens < 0 || r.Logprobs < -1 || r.Logprobs > 20 || len(r.Prompt) != 1 {
			c.t.Errorf("out of range: %+v", r)
		}
		for _, token := range r.Prompt[0].Tokens {
			if token < 0 || token >= vocabularySize {
				c.t.Errorf("token %d", token)
			}
		}
	}
	return nil, scheduler.ErrQueueFull
}
