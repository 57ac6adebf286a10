// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/penstock/penstock/host/access"
	"github.com/penstock/penstock/host/operation"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/tools/must"
)

const tokenize = `{"content":"a"}`

// Each key has its own requests; what refuses one says how long it has to wait, and reading what
// there is counts nothing.
func TestAPI_RateLimit_Requests(t *testing.T) {
	r := newRig(t, func(s *setup) {
		s.Keys, s.Limiter = keys("admin", nil, "one", "two"), access.NewLimiter(access.Limits{Requests: 2})
	})
	for i, want := range []int{200, 200, 429} {
		status, header, body := r.call(http.MethodPost, "/tokenize", tokenize, "Authorization", "Bearer one")
		if status != want || header.Get("X-Ratelimit-Limit-Requests") != "2" || header.Get("X-Ratelimit-Remaining-Requests") != strconv.Itoa(max(0, 1-i)) || header.Get("X-Ratelimit-Limit-Tokens") != "" {
			t.Errorf("request %d: %d %v %s", i, status, header, body)
		}
		if wait, err := strconv.Atoi(header.Get("Retry-After")); (want == 429) != (err == nil && wait > 20 && wait <= 30 && strings.Contains(body, `"rate_limit_exceeded"`)) {
			t.Errorf("request %d: retry after %q: %s", i, header.Get("Retry-After"), body)
		}
	}
	for _, tc := range []struct{ method, path, key string }{
		{http.MethodPost, "/tokenize", "two"}, {http.MethodGet, "/v1/models", "one"}, {http.MethodGet, "/health", "one"},
		{http.MethodPost, "/tokenize", "admin"}, {http.MethodPost, "/tokenize", "admin"}, {http.MethodPost, "/tokenize", "admin"},
	} {
		if status, _, body := r.call(tc.method, tc.path, tokenize, "Authorization", "Bearer "+tc.key); status != 200 {
			t.Errorf("%+v: %d %s", tc, status, body)
		}
	}
	if status, _, _ := r.call(http.MethodPost, "/tokenize", tokenize); status != 401 {
		t.Errorf("without a key: %d", status)
	}
}

// Without keys addresses are told apart, as a trusted proxy gives them.
func TestAPI_RateLimit_ByAddress(t *testing.T) {
	_, loopback := must.Both(net.ParseCIDR("127.0.0.0/8"))(t)
	r := newRig(t, func(s *setup) {
		s.Limiter, s.Proxies = access.NewLimiter(access.Limits{Requests: 1}), []*net.IPNet{loopback}
	})
	for _, tc := range []struct {
		from string
		want int
	}{{"192.0.2.1", 200}, {"192.0.2.2", 200}, {"192.0.2.1", 429}, {"2001:db8::1", 200}, {"2001:db8::2", 429}, {"2001:db8:0:1::1", 200}} {
		if status, _, body := r.call(http.MethodPost, "/tokenize", tokenize, "X-Forwarded-For", tc.from); status != tc.want {
			t.Errorf("from %s: %d %s, want %d", tc.from, status, body, tc.want)
		}
	}
}

// Tokens count when they are known, also those of an answer whose client has left; the client
// waits until it owes none.
func TestAPI_RateLimit_Tokens(t *testing.T) {
	r := newRig(t, func(s *setup) { s.Limiter = access.NewLimiter(access.Limits{Tokens: 100}) })
	ask := `{"prompt":"` + strings.Repeat("a", 60) + `","max_tokens":60}`
	status, header, body := r.call(http.MethodPost, "/v1/completions", ask)
	if status != 200 || header.Get("X-Ratelimit-Remaining-Tokens") != "100" {
		t.Errorf("%d %v %s", status, header, body)
	}
	status, header, body = r.call(http.MethodPost, "/v1/completions", ask)
	if status != 429 || header.Get("X-Ratelimit-Remaining-Tokens") != "0" || !strings.Contains(body, "100 tokens a minute") {
		t.Errorf("%d %v %s", status, header, body)
	}
}

// Each answer over a WebSocket is a request.
func TestSocket_RateLimit(t *testing.T) {
	r := newRig(t, func(s *setup) { s.Limiter = access.NewLimiter(access.Limits{Requests: 2}) })
	conn, _ := must.Both(websocket.Dial(t.Context(), r.url+"/v1/ws", nil))(t)
	defer conn.CloseNow() //nolint:errcheck // the test is over
	for i, want := range []string{"end", "end", "error"} {
		frame := fmt.Sprintf(`{"type":"generate","id":"%d","request":{"prompt":"a","max_tokens":1}}`, i)
		must.Do(t, conn.Write(t.Context(), websocket.MessageText, []byte(frame)))
		for {
			_, data := must.Both(conn.Read(t.Context()))(t)
			var f struct {
				Type  string
				Error struct{ Code string }
			}
			must.Do(t, json.Unmarshal(data, &f))
			if f.Type == "started" || f.Type == "token" {
				continue
			}
			if f.Type != want || (want == "error") != (f.Error.Code == "rate_limit_exceeded") {
				t.Errorf("answer %d ended with %s", i, data)
			}
			break
		}
	}
}

// What has something computed for an answer that goes on counts a sixteenth of a request, and is
// refused beyond that. What holds an answer or ends it, and what others do, is not.
func TestSocket_RateLimit_Steering(t *testing.T) {
	for frame, limited := range map[string]bool{
		`{"type":"set","id":"a","sampling":{"temperature":0.1}}`: true, `{"type":"inject","id":"a","text":"A"}`: true, `{"type":"rewind","id":"a","tokens":0}`: true,
		`{"type":"attach","id":"b","stream":"guess","after":-1}`: true, `{"type":"resume","id":"none"}`: false, `{"type":"cancel","id":"none"}`: false,
		`{"type":"watch","every_ms":0}`: false,
	} {
		g := newGate()
		r := newRig(t, func(s *setup) {
			g.on(s)
			s.Keys, s.Limiter = keys("admin", nil, "one", "two"), access.NewLimiter(access.Limits{Requests: 2})
		})
		p, other := r.dialAs("one"), r.dialAs("two")
		p.hold(r, g, "a", "")
		refused := 0
		const frames = 8 * access.Shares // the answer was one request, which leaves one; the others fill up in three minutes and a half
		for range frames {
			p.send("%s", frame)
		}
		p.send(`{"type":"cancel","id":"sent all"}`)
		for f := p.next(); f.ID != "sent all"; f = p.next() {
			if f.Type == "error" && f.Error.Code == "rate_limit_exceeded" {
				refused++
			}
		}
		if most := frames - access.Shares; limited != (refused > 0) || refused > most {
			t.Errorf("%s: %d of %d were refused; limited %v, at most %d", frame, refused, frames, limited, most)
		}
		other.send("%s", frame)
		other.send(`{"type":"cancel","id":"sent all"}`)
		for f := other.next(); f.ID != "sent all"; f = other.next() {
			if f.Error.Code == "rate_limit_exceeded" {
				t.Errorf("%s: another client pays for it", frame)
			}
		}
	}
}

// What is logged of a request: who, what and how much, and no text.
func TestAPI_Log_Line(t *testing.T) {
	lines := make(chan string, 16)
	r := newRig(t, func(s *setup) {
		set := access.NewKeys([]access.Secret{{Name: "alice", Key: "hush"}}, "", access.Listed{})
		s.Keys, s.Log = func() access.Keys { return set }, slog.New(slog.NewTextHandler(sending(lines), nil))
	})
	r.call(http.MethodPost, "/v1/completions", `{"prompt":"my secret","max_tokens":3}`, "Authorization", "Bearer hush", "X-Request-Id", "r-1")
	line := await(t, lines)
	for _, want := range []string{"id=r-1", "method=POST", "route=/v1/completions", "status=200", "key=alice", "model=toy", "prompt_tokens=9", "completion_tokens=3", "queued=", "took="} {
		if !strings.Contains(line, want) {
			t.Errorf("no %s in %s", want, line)
		}
	}
	if strings.Contains(line, "secret") || strings.Contains(line, "hush") {
		t.Errorf("it shows too much: %s", line)
	}
}

// A client that leaves is followed to the end of its answer.
func TestAPI_Sinks_ClientThatLeft(t *testing.T) {
	records := make(chan operation.Record, 16)
	r := newRig(t, func(s *setup) { s.Sinks = []func(operation.Record){func(o operation.Record) { records <- o }} })
	ctx, leave := context.WithCancel(t.Context())
	q := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/v1/completions", strings.NewReader(`{"prompt":"abc","stream":true,"n":2,"logprobs":1}`)))(t)
	a := must.Get(http.DefaultClient.Do(q))(t)
	must.Get(io.ReadAtLeast(a.Body, make([]byte, 100), 100))(t)
	leave()
	a.Body.Close() //nolint:errcheck // it has been cut
	o := await(t, records)
	prompt, _, generated := o.Tokens()
	if len(o.Answers) != 2 || prompt != 6 || generated == 0 || o.Model != "toy" || o.Route != "/v1/completions" {
		t.Errorf("%+v", o)
	}
}

// leaving are models that a request waits for until its client has left.
type leaving struct {
	serving.Models
	asked chan<- struct{}
}

func (l leaving) Use(ctx context.Context, _ string) (*serving.Model, func(), error) {
	l.asked <- struct{}{}
	<-ctx.Done()
	return nil, nil, fmt.Errorf("failed to wait: %w", ctx.Err())
}

// A client that leaves is no fault of the server's, whatever its request waited for.
func TestAPI_Sinks_ClientThatLeftWhileItWaited(t *testing.T) {
	records, asked := make(chan operation.Record, 16), make(chan struct{}, 1)
	r := newRig(t, func(s *setup) {
		s.Sinks = []func(operation.Record){func(o operation.Record) { records <- o }}
		s.wrap = func(m servingtest.OneModel) serving.Models { return leaving{m, asked} }
		s.Scripts = access.NewScriptAccess(false)
	})
	for path, body := range map[string]string{
		"/v1/scripts/check": `{"source":"export default {}"}`, "/v1/completions": `{"prompt":"abc"}`,
		"/v1/embeddings": `{"input":"abc"}`, "/tokenize": `{"content":"abc"}`, "/infill": `{"input_prefix":"abc"}`,
	} {
		ctx, leave := context.WithCancel(t.Context())
		q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Content-Type", "application/json")
		go func() {
			select {
			case <-asked:
			case <-ctx.Done():
			}
			leave()
		}()
		if a, err := http.DefaultClient.Do(q); err == nil {
			a.Body.Close() //nolint:errcheck,gosec // it is not wanted
			t.Errorf("%s: answered with %d before the client left", path, a.StatusCode)
			leave()
			continue
		}
		if o := await(t, records); o.Status != statusGone {
			t.Errorf("%s: logged with %d, want %d", path, o.Status, statusGone)
		}
	}
}

func TestAPI_LogLevel(t *testing.T) {
	var level slog.LevelVar
	r := newRig(t, func(s *setup) { s.Keys, s.LogLevel = keys("admin", nil), &level })
	for _, tc := range []struct {
		method, key, body string
		want              int
		level             slog.Level
	}{
		{"GET", "admin", "", 200, slog.LevelInfo}, {"PUT", "admin", `{"level":"debug"}`, 200, slog.LevelDebug}, {"PUT", "admin", `{"level":"loud"}`, 400, slog.LevelDebug},
		{"PUT", "admin", `{}`, 400, slog.LevelDebug}, {"PUT", "", `{"level":"error"}`, 401, slog.LevelDebug}, {"PUT", "admin", `{"level":"error"}`, 200, slog.LevelError},
	} {
		status, _, body := r.call(tc.method, "/v1/log-level", tc.body, "Authorization", "Bearer "+tc.key)
		if status != tc.want || level.Level() != tc.level || status == 200 && !strings.EqualFold(body, `{"level":"`+tc.level.String()+"\"}\n") {
			t.Errorf("%+v: %d %s, level %v", tc, status, body, level.Level())
		}
	}
}

func TestAPI_Profiles_NeedTheAdminKey(t *testing.T) {
	r := newRig(t, func(s *setup) { s.Keys = keys("admin", nil, "one") })
	for path, want := range map[string]string{
		"/debug/pprof/": "goroutine", "/debug/pprof/heap?debug=1": "heap profile", "/debug/pprof/goroutine?debug=1": "goroutine profile", "/debug/pprof/cmdline": "test",
	} {
		if status, _, body := r.call(http.MethodGet, path, "", "Authorization", "Bearer admin"); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %.100s", path, status, body)
		}
		if status, _, body := r.call(http.MethodGet, path, "", "Authorization", "Bearer one"); status != 401 || !strings.Contains(body, "invalid_admin_key") {
			t.Errorf("%s with a client's key: %d %.100s", path, status, body)
		}
	}
	open := newRig(t, nil)
	if status, _, _ := open.call(http.MethodGet, "/debug/pprof/", ""); status != 404 {
		t.Errorf("without an admin key: %d", status)
	}
}

// Bodies that are large together are refused while they are, small ones never.
func TestAPI_BodyMemory(t *testing.T) {
	r := newRig(t, func(s *setup) { s.BodyLimit, s.BodyMemory = 1<<20, 200<<10 })
	large := `{"content":"` + strings.Repeat("a", 180<<10) + `"}`
	first := &pausing{text: strings.NewReader(large), paused: make(chan struct{}), goOn: make(chan struct{})}
	done := make(chan int)
	go func() {
		q := httptest.NewRequest(http.MethodPost, "/tokenize", first)
		recorder := httptest.NewRecorder()
		r.handler.ServeHTTP(recorder, q)
		done <- recorder.Code
	}()
	await(t, first.paused)
	status, header, body := r.call(http.MethodPost, "/tokenize", large)
	if status != 503 || header.Get("Retry-After") != "1" || !strings.Contains(body, "bodies_too_large") {
		t.Errorf("a second: %d %v %.1000s", status, header, body)
	}
	if status, _, body := r.call(http.MethodPost, "/tokenize", tokenize); status != 200 {
		t.Errorf("a small one: %d %s", status, body)
	}
	close(first.goOn)
	if status := await(t, done); status != 200 {
		t.Errorf("the first: %d", status)
	}
	if status, _, body := r.call(http.MethodPost, "/tokenize", large); status != 200 {
		t.Errorf("a third: %d %.1000s", status, body)
	}
}

// pausing is a body that pauses before its end.
type pausing struct {
	text         *strings.Reader
	paused, goOn chan struct{}
}

// Read implements io.Reader.
func (p *pausing) Read(b []byte) (int, error) {
	if p.text.Len() == 0 {
		close(p.paused)
		<-p.goOn
		return 0, io.EOF
	}
	return p.text.Read(b)
}
