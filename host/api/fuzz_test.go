// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/scheduler"
)

// completions are the routes whose every good body asks for an answer, which the scheduler of
// FuzzBodies does not give.
var completions = []string{"/v1/chat/completions", "/chat/completions", "/v1/completions", "/completion", "/completions", "/infill", "/v1/responses", "/responses", "/v1/messages"}

// A body of any route is answered, or refused with a status and a message that say why, both in
// JSON; requests that it becomes are in range.
func FuzzBodies(f *testing.F) {
	checked := &checking{}
	handler := New(Options{Bounds: Bounds{BodyLimit: 1 << 20}, Log: slog.New(slog.DiscardHandler),
		Models: servingtest.OneModel{Model: &serving.Model{Info: servingtest.Info(), Engine: toy{}, Scheduler: checked}}})
	routes := postRoutes(handler)
	for _, tc := range badChats {
		if len(tc.body) < 1000 {
			f.Add(uint8(slices.Index(routes, "/v1/chat/completions")), []byte(tc.body))
		}
	}
	for i := range routes {
		f.Add(uint8(i), []byte(`{"model":"toy","max_tokens":3,`+hello+`}`))
		f.Add(uint8(i), []byte(`{"prompt":[1,"a"],"input":["a",{"role":"user","content":"b"}],"content":"abc","tokens":[1,2],"n":2,"stop":["x"],"logit_bias":[[1,false],["b",2]],"samplers":["top_k"]}`))
	}
	f.Fuzz(func(t *testing.T, route uint8, body []byte) {
		checked.t = t
		paths := routes // also for numbers that none has, so that a corpus does not depend on the routes there are
		if int(route) < len(routes) {
			paths = routes[route:][:1]
		}
		for _, path := range paths {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, strings.Replace(path, ":id", "1?action=save", 1), strings.NewReader(string(body))))
			refused := w.Code >= 400 && w.Code < 500 || w.Code == http.StatusNotImplemented
			switch {
			case w.Code != http.StatusOK && !refused, w.Code == http.StatusOK && slices.Contains(completions, path):
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			case !json.Valid(w.Body.Bytes()), refused && !strings.Contains(w.Body.String(), `"error"`):
				t.Errorf("%s: %d and no JSON or no error: %s", path, w.Code, w.Body)
			}
		}
	})
}

// postRoutes are the paths that take bodies, sorted.
func postRoutes(handler http.Handler) (paths []string) {
	for _, r := range handler.(headAsGet).Routes() {
		if r.Method == http.MethodPost && !strings.Contains(r.Path, "*") {
			paths = append(paths, r.Path)
		}
	}
	slices.Sort(paths)
	return paths
}

// checking is a scheduler that checks requests and takes none.
type checking struct {
	servingtest.NoScheduler
	t *testing.T
}

func (c *checking) SubmitBuilt(_ string, n int, build func() ([]scheduler.Request, error)) ([]serving.Stream, error) {
	requests, err := build()
	if err != nil {
		return nil, err
	}
	if len(requests) != n {
		c.t.Errorf("%d requests, room was asked for %d", len(requests), n)
	}
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
	return nil, scheduler.ErrQueueShare
}
