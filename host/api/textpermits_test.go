// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// scribe is an engine that takes its time: it holds every text and grammar that has "slow" in it
// until it is let go.
type scribe struct {
	servingtest.Toy
	begun chan string   // what has come to be worked on
	hold  chan struct{} // closed to let go
	once  *sync.Once
}

func newScribe() scribe {
	return scribe{begun: make(chan string, 1024), hold: make(chan struct{}), once: &sync.Once{}}
}

func (s scribe) letGo() { s.once.Do(func() { close(s.hold) }) }

func (s scribe) wait(text string) {
	if strings.Contains(text, "slow") {
		s.begun <- text
		<-s.hold
	}
}

func (s scribe) Tokenize(ctx context.Context, text string, special, parse bool) ([]int32, error) {
	s.wait(text)
	if strings.Contains(text, "panic") {
		panic("a fault of the tokeniser")
	}
	return s.Toy.Tokenize(ctx, text, special, parse)
}

// closing is a stage that tells when it is closed.
type closing struct {
	schedulertest.Greedy
	closed chan string
}

func (c closing) Close() error {
	c.closed <- "chain"
	return nil
}

func (s scribe) NewChain(p sampling.Params) ([]chain.Stage, error) {
	s.wait(p.Grammar)
	if p.Grammar != "" {
		return []chain.Stage{closing{closed: s.begun}}, nil
	}
	return s.Toy.NewChain(p)
}

// TestAPI_TextWork_IsBounded: however many clients send long texts, few are worked on at a time,
// and a short one does not wait.
func TestAPI_TextWork_IsBounded(t *testing.T) {
	engine := newScribe()
	r := newRig(t, func(s *setup) { s.Engine = engine })
	defer engine.letGo()
	places := max(1, runtime.GOMAXPROCS(0)/4) // as there are permits for texts
	const shortText = 32 << 10
	long := strings.Repeat("x", shortText)
	answered := make(chan int, 8)
	for i := range places + 3 {
		path, body := "/v1/completions", fmt.Sprintf(`{"prompt":"slow %s","max_tokens":1}`, long[:shortText])
		if i%2 == 1 {
			path, body = "/tokenize", fmt.Sprintf(`{"content":"slow %s"}`, long)
		}
		go func() {
			status, _, _ := r.call(http.MethodPost, path, body)
			answered <- status
		}()
	}
	for range places {
		await(t, engine.begun)
	}
	if status, _, body := r.call(http.MethodPost, "/v1/completions", `{"prompt":"quick","max_tokens":1}`); status != http.StatusOK {
		t.Errorf("a short prompt beside long ones: %d %s", status, body)
	}
	if n := len(engine.begun); n > 0 {
		t.Errorf("%d more long texts are worked on than there are places", n)
	}
	engine.letGo()
	for range places + 3 {
		if status := await(t, answered); status != http.StatusOK && status != http.StatusBadRequest { // too long for the context
			t.Errorf("status %d", status)
		}
	}
}

// TestAPI_TextWork_ObeysTheRequest: timeout_ms and a client that leaves end a request whose text
// is worked on, or waits for that.
func TestAPI_TextWork_ObeysTheRequest(t *testing.T) {
	for name, body := range map[string]string{
		"prompt":  `{"prompt":"slow","timeout_ms":20}`,
		"chat":    `{"messages":[{"role":"user","content":"slow"}],"timeout_ms":20}`,
		"grammar": `{"prompt":"a","grammar":"slow","timeout_ms":20}`,
		"stream":  `{"prompt":"slow","timeout_ms":20,"stream":true}`,
	} {
		t.Run(name, func(t *testing.T) {
			engine := newScribe()
			r := newRig(t, func(s *setup) { s.Engine = engine })
			defer engine.letGo()
			path := "/v1/completions"
			if name == "chat" {
				path = "/v1/chat/completions"
			}
			r.refused(path, body, http.StatusUnprocessableEntity, "timeout", "timeout_ms")
			await(t, engine.begun)
			ctx, leave := context.WithCancel(context.Background())
			gone := make(chan error, 1)
			go func() {
				q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+path, strings.NewReader(strings.Replace(body, `"timeout_ms":20`, `"max_tokens":1`, 1)))
				if err == nil {
					_, err = http.DefaultClient.Do(q) //nolint:bodyclose // it is cancelled before there is one
				}
				gone <- err
			}()
			leave()
			if err := await(t, gone); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			engine.letGo()
			if name == "grammar" {
				for await(t, engine.begun) != "chain" { // what nobody takes is closed
				}
			}
		})
	}
}

func TestAPI_TextWork_Panic(t *testing.T) {
	r := newRig(t, func(s *setup) { s.Engine, s.Log = newScribe(), newRigLog(t) })
	r.refused("/v1/completions", `{"prompt":"panic"}`, http.StatusInternalServerError, "internal_error", "")
	r.refused("/tokenize", `{"content":"panic"}`, http.StatusInternalServerError, "internal_error", "")
}

// TestAPI_Text_TooLong: a text that cannot fit is refused before anything looks at it.
func TestAPI_Text_TooLong(t *testing.T) {
	engine := newScribe()
	r := newRig(t, func(s *setup) { s.Engine, s.BodyLimit = engine, 4<<20 })
	defer engine.letGo()
	long := "slow" + strings.Repeat("x", 1<<20)
	for path, tc := range map[string][2]string{
		"/v1/completions": {`{"prompt":"` + long + `"}`, "prompt"}, "/tokenize": {`{"content":"` + long + `"}`, "content"},
		"/v1/chat/completions": {`{"messages":[{"role":"user","content":"` + long + `"}]}`, "messages"},
	} {
		r.refused(path, tc[0], http.StatusBadRequest, "context_length_exceeded", tc[1])
	}
	if len(engine.begun) > 0 {
		t.Error("one was tokenised")
	}
}
