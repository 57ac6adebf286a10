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
	"github.com/penstock/penstock/tools/must"
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
		must.Get(h.Stream(t.Context(), Request{Prompt: "p", MaxTokens: 3}, func(time.Time) {}))(t)
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(textStream), 7)
	f.Add([]byte(chatStream), 1)
	f.Fuzz(func(t *testing.T, stream []byte, cut int) {
		collect := func(parts ...[]byte) (all []string) {
			var e events
			for _, p := range parts {
				must.Get(e.feed(append([]byte(nil), p...), func(data []byte) error { all = append(all, string(data)); return nil }))(t)
			}
			return all
		}
		cut = max(0, min(cut, len(stream)))
		if diff := cmp.Diff(collect(stream), collect(stream[:cut], stream[cut:])); diff != "" {
			t.Errorf("cut at %d: %s", cut, diff)
		}
	})
}

// What the metrics of all models gained during a run is shown, a tick; servers without such metrics
// are measured as others are.
func TestRound_Ticks(t *testing.T) {
	const metrics = `# HELP penstock_pass_seconds_total Time of forward passes.
penstock_pass_seconds_total{model_name="a",part="copy"} %[1]d
penstock_pass_seconds_total{model_name="a",part="launch"} %[2]d
penstock_pass_seconds_total{model_name="a",part="wait"} %[3]d
penstock_tick_seconds_bucket{model_name="a",phase="forward",le="1"} 7
penstock_tick_seconds_sum{model_name="a",phase="forward"} %[4]d
penstock_tick_seconds_count{model_name="a",phase="forward"} %[5]d
penstock_tick_seconds_sum{model_name="a",phase="sample"} %[1]d
penstock_tick_seconds_count{model_name="a",phase="sample"} %[5]d
penstock_tick_seconds_sum{model_name="a",phase="other"} %[2]d
penstock_tick_seconds_sum{model_name="b",phase="other"} 5
`
	asked, says := 0, metrics
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			fmt.Fprint(w, textStream)
			return
		}
		if r.Header.Get("Authorization") != "Bearer key" || says == "" {
			w.WriteHeader(http.StatusNotImplemented)
			return
		}
		fmt.Fprintf(w, says, 1+asked, 1+2*asked, 1+3*asked, 1+7*asked, 10+1000*asked)
		asked++
	}))
	defer server.Close()
	h := NewHTTP(server.URL)
	h.Key = "key"
	defer h.Close()
	scenario := Scenario{Name: "s", Load: Load{Classes: []Class{{Name: "c", Clients: 1, Requests: 1, PromptWords: 8, MaxTokens: 3}}}}
	of := func() Report {
		runs := must.Get(Round(t.Context(), []Target{{Name: "x", Streamer: h}}, scenario, 1, nil))(t)
		return NewReport(Machine{}, []Scenario{scenario}, runs)
	}
	report := of()
	want := &Ticks{Count: 1000, Launch: 2, Wait: 3, Copy: 1, Sample: 1, Other: 3}
	if diff := cmp.Diff(want, report.Runs[0].Ticks, about); diff != "" {
		t.Error(diff)
	}
	var b strings.Builder
	if err := report.WriteTable(&b); err != nil || !strings.Contains(strings.Join(strings.Fields(b.String()), " "), "s x 1 1000 2.000 3.000 1.000 1.000 3.000") {
		t.Errorf("%v\n%s", err, b.String())
	}
	says = ""
	if got := of().Runs[0].Ticks; got != nil {
		t.Errorf("%+v of a server that has no metrics", got)
	}
}

func TestMetrics_Sum_OfTheSeriesWithTheLabels(t *testing.T) {
	const m Metrics = "# a 8\na 1\na{x=\"1\"} 2\na{x=\"2\",y=\"1\"} 4\nab 16\n"
	for want, labels := range map[float64][]string{7: nil, 2: {`x="1"`}, 4: {`y="1"`, `x="2"`}} {
		if got, known := m.Sum("a", labels...); got != want || !known {
			t.Errorf("%q: the sum is %v, want %v", labels, got, want)
		}
	}
	if got, known := m.Sum("a", `x="3"`); got != 0 || known {
		t.Errorf("no series has the label, and the sum is %v", got)
	}
}
