// SPDX-License-Identifier: MIT

package plugins

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/session"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// replays is how often each recording is played.
func replays() int { return steadytest.InLongTest(100, 10) }

// recorded makes a request that is recorded, and reads its recording.
func recorded(t *testing.T, h *host.Host, route, body string) *session.File {
	t.Helper()
	status, text := hosts.Post(t, h.URL()+route, body)
	var answer struct{ Recording string }
	if err := json.Unmarshal([]byte(text), &answer); err != nil || status != http.StatusOK || answer.Recording == "" {
		t.Fatalf("%d %s: %v", status, text, err)
	}
	return download(t, h, answer.Recording)
}

func download(t *testing.T, h *host.Host, id string) *session.File {
	t.Helper()
	return must.Get(session.Read(strings.NewReader(hosts.Get(t, h.URL()+"/v1/recordings/"+id))))(t)
}

// replay plays the sessions of a module, and returns the first difference.
func replay(t *testing.T, f *session.File, wasm []byte, times int) *session.Difference {
	t.Helper()
	p := must.Get(session.NewPlayer(t.Context(), load.File{Content: wasm}, f, plugin.HostOptions{CacheDir: hosts.CodeCache()}))(t)
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	played := 0
	for range times {
		for i := range f.Sessions {
			s := &f.Sessions[i]
			if s.Plugin.Name != p.Plugin().Name {
				continue
			}
			played += len(s.Calls)
			d := must.Get(p.Play(t.Context(), s))(t)
			if d != nil {
				return d
			}
		}
	}
	if played == 0 {
		t.Fatalf("%s: there is nothing to play", p.Plugin().Name)
	}
	return nil
}

// callsOf counts the calls of a plugin in a recording for which a condition holds.
func callsOf(f *session.File, name string, holds func(*session.Call) bool) (n int) {
	for i := range f.Sessions {
		for j := range f.Sessions[i].Calls {
			if f.Sessions[i].Plugin.Name == name && holds(&f.Sessions[i].Calls[j]) {
				n++
			}
		}
	}
	return n
}

// TestRecording_Replay_IsTheSame records plugins of all kinds on llama.cpp, in Rust and Go, and
// plays each of them many times.
func TestRecording_Replay_IsTheSame(t *testing.T) {
	names := []string{"chatml", "min-p", "min-p-rust", "dynamic-temperature", "banned-phrases", "regex-stop", "multiple-choice", "grammar", "watermark", "json-schema", "repetition-stop"}
	h := hosts.SharedWithExamples(t, names...)
	chat := func(fields string) *session.File {
		return recorded(t, h, "/v1/chat/completions", `{`+hosts.Frog+`,"record":true,"seed":7,"temperature":1,"max_tokens":60,`+fields+`}`)
	}
	is := func(call string) func(*session.Call) bool {
		return func(c *session.Call) bool { return c.Call == call && c.Answer != nil }
	}
	for name, tc := range map[string]struct {
		fields  string
		plugins []string
		shows   map[string]func(*session.Call) bool // what a plugin must have done
	}{
		"a template, a draw, a splice and a stop rule": {
			`"n":2,"ignore_eos":true,"plugins":["chatml","dynamic-temperature",{"name":"banned-phrases","config":{"phrases":["frog"," a"]}},{"name":"regex-stop","config":{"pattern":"zzz"}},{"name":"min-p","config":{"draw":true}}]`,
			[]string{"chatml", "dynamic-temperature", "banned-phrases", "regex-stop", "min-p"},
			map[string]func(*session.Call) bool{
				"chatml":         func(c *session.Call) bool { return c.Prompt != nil },
				"min-p":          func(c *session.Call) bool { return c.Answer != nil && *c.Answer >= 0 && c.Call == session.CallSample },
				"banned-phrases": func(c *session.Call) bool { return c.Splice != nil },
				"regex-stop":     is(session.CallStop),
			},
		},
		"biases and candidates":  {`"plugins":[{"name":"watermark","config":{"key":"5f1d7a84db00d2fce00b31a7fc73224f5f1d7a84db00d2fce00b31a7fc73224f","scheme":"green"}},"min-p-rust","repetition-stop"]`, []string{"watermark", "min-p-rust", "repetition-stop"}, nil},
		"a mask":                 {`"plugins":[{"name":"multiple-choice","config":{"choices":["a green frog","an old tree"]}}]`, []string{"multiple-choice"}, map[string]func(*session.Call) bool{"multiple-choice": func(c *session.Call) bool { return c.Mask != nil }}},
		"a grammar of the host":  {`"plugins":[{"name":"grammar","config":{"grammar":"root ::= [a-z ]+"}}]`, []string{"grammar"}, map[string]func(*session.Call) bool{"grammar": func(c *session.Call) bool { return len(c.Deeds) > 0 }}},
		"a schema":               {`"plugins":[{"name":"json-schema","config":{"schema":{"type":"object","properties":{"name":{"type":"string","maxLength":9}},"required":["name"]}}}]`, []string{"json-schema"}, nil},
		"a plugin that is alone": {`"plugins":["min-p"],"samplers":["top_k","plugin:min-p"]`, []string{"min-p"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := chat(tc.fields)
			for plugin, holds := range tc.shows {
				if callsOf(f, plugin, holds) == 0 {
					t.Errorf("%s has not done what it is here for", plugin)
				}
			}
			for _, plugin := range tc.plugins {
				if d := replay(t, f, hosts.Example(t, plugin), replays()); d != nil {
					t.Errorf("%s: %v", plugin, d)
				}
			}
			for _, c := range f.Recording.Choices {
				var text strings.Builder
				for _, token := range c.Tokens {
					text.WriteString(string(token.Text))
				}
				if c.Text == "" || !strings.HasPrefix(text.String(), strings.TrimRight(c.Text, "\uFFFD")) {
					t.Errorf("the text is %q, its tokens are %q", c.Text, text.String())
				}
			}
		})
	}
}

// picking draws one of the best n candidates, with equal chances.
func picking(n int) []byte {
	const at = 8192
	g := asm.New(`{"name":"picking"}`)
	g.On(abi.ExportOpen, g.Bind(abi.BufferCandidates, at, 8*64), asm.I32(0))
	return g.On(abi.ExportSample, g.Call(abi.ImportRandom), asm.Wrap, asm.I32(n), asm.Remainder, asm.I32(4), asm.Multiply, asm.I32(at), asm.Add, asm.Load).Wasm()
}

// TestRecording_Replay_FindsTheFirstDifference changes one constant of a plugin, and knows from
// the ABI's definition of random numbers which token is the first to differ.
func TestRecording_Replay_FindsTheFirstDifference(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, map[string][]byte{"a.wasm": picking(5)})
	for seed := range 5 {
		f := recorded(t, h, "/v1/completions", fmt.Sprintf(`{"prompt":"Once","max_tokens":50,"ignore_eos":true,"seed":%d,"record":true,"samplers":["plugin:picking"]}`, seed))
		if d := replay(t, f, picking(5), replays()); d != nil {
			t.Fatal(d)
		}
		s := f.Sessions[0]
		want := 0
		for position := len(s.Request.Prompt); ; position++ {
			if x := uint32(abi.Draw(s.Request.Seed, 0, uint64(position), 0)); x%5 != x%4 {
				break
			}
			want++
		}
		d := replay(t, f, picking(4), 1)
		if d == nil || d.Answered != want || d.Name != session.CallSample || d.Field != "answer" {
			t.Fatalf("seed %d: got %v, want a difference at answer token %d", seed, d, want+1)
		}
		for i, token := range f.Recording.Choices[0].Tokens {
			if token.By != "plugin:picking" || token.How != "chosen" {
				t.Errorf("token %d is %s by %s", i, token.How, token.By)
			}
		}
	}
}

// TestRecording_Socket_SteeredAnswers records answers that are rewound, forked, set and injected
// into.
func TestRecording_Socket_SteeredAnswers(t *testing.T) {
	h := hosts.SharedWithExamples(t, "min-p", "banned-phrases", "regex-stop")
	c := hosts.Dial(t, h)
	c.Send(`{"type":"generate","id":"a","request":{"prompt":"Once upon a time","max_tokens":250,"seed":3,"ignore_eos":true,"record":true,
		"plugins":[{"name":"min-p","config":{"draw":true}},{"name":"banned-phrases","config":{"phrases":[" the"]}},{"name":"regex-stop","config":{"pattern":"zzz"}}]}}`)
	c.Until("started")
	for _, frame := range []string{`{"type":"pause","id":"a"}`, `{"type":"inject","id":"a","text":" and then, quite slowly,"}`, `{"type":"rewind","id":"a","tokens":3}`,
		`{"type":"inject","id":"a","text":" and then, quite suddenly,"}`, `{"type":"set","id":"a","sampling":{"temperature":0.5}}`, `{"type":"fork","id":"a","as":"b"}`, `{"type":"resume","id":"a"}`} {
		c.Send(frame)
	}
	ids := map[string]string{}
	for len(ids) < 2 {
		_, data := must.Both(c.Conn.Read(t.Context()))(t)
		var f struct {
			Type, ID, Recording string
			Error               json.RawMessage
		}
		must.Do(t, json.Unmarshal(data, &f))
		switch f.Type {
		case "error":
			t.Fatalf("%s", data)
		case "end":
			ids[f.ID] = f.Recording
		}
	}
	for id, recording := range ids {
		f := download(t, h, recording)
		hows := map[string]int{}
		for _, token := range f.Recording.Choices[0].Tokens {
			hows[token.By+" "+token.How]++
		}
		want := "client injected"
		if id == "b" {
			want = "client forked"
		}
		if hows[want] == 0 || hows["plugin:min-p chosen"] == 0 || !strings.Contains(f.Recording.Choices[0].Text, "quite suddenly") {
			t.Errorf("%s: %v, %q", id, hows, f.Recording.Choices[0].Text)
		}
		for _, name := range []string{"min-p", "banned-phrases", "regex-stop"} {
			if d := replay(t, f, hosts.Example(t, name), 3); d != nil {
				t.Errorf("%s, %s: %v", id, name, d)
			}
		}
	}
}

// TestRecording_OfEveryDialect tells the recording's id where the answer ends, streamed or whole.
func TestRecording_OfEveryDialect(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, map[string][]byte{"a.wasm": picking(5)})
	for route, body := range map[string]string{
		"/v1/chat/completions": `{` + hosts.Frog + `,"max_tokens":3`,
		"/v1/completions":      `{"prompt":"Hello","max_tokens":3`,
		"/v1/responses":        `{"input":"Hello","max_output_tokens":3`,
		"/v1/messages":         `{` + hosts.Frog + `,"max_tokens":3`,
		"/api/chat":            `{` + hosts.Frog + `,"options":{"num_predict":3}`,
		"/api/generate":        `{"prompt":"Hello","options":{"num_predict":3}`,
		"/completion":          `{"prompt":"Hello","n_predict":3`,
	} {
		for _, stream := range []string{"true", "false"} {
			status, text := hosts.Post(t, h.URL()+route, body+`,"record":true,"ignore_eos":true,"plugins":["picking"],"stream":`+stream+`}`)
			_, after, _ := strings.Cut(text, `"recording":"`)
			id, _, _ := strings.Cut(after, `"`)
			if status != http.StatusOK || strings.Count(text, `"recording":"rec_`) == 0 {
				t.Errorf("%s, stream %s: %d %s", route, stream, status, text)
				continue
			}
			if f := download(t, h, id); len(f.Sessions) != 1 || len(f.Recording.Choices[0].Tokens) != 3 || f.Recording.Choices[0].Reason == "" {
				t.Errorf("%s, stream %s: %+v", route, stream, f.Recording)
			}
		}
		if _, text := hosts.Post(t, h.URL()+route, body+`,"plugins":["picking"],"stream":false}`); strings.Contains(text, "recording") {
			t.Errorf("%s: %s", route, text)
		}
	}
}

// TestRecording_BelongsToItsKey: other keys are told that it does not exist; the admin has all.
func TestRecording_BelongsToItsKey(t *testing.T) {
	h := hosts.Open(t, map[string]any{"server.api_keys": []string{"alice", "bob"}, "server.admin_key": "admin"})
	hosts.Run(t, h)
	ask := func(method, path, key, body string) (int, string) {
		status, _, text := hosts.Send(t, http.DefaultClient, hosts.NewRequest(t, method, h.URL()+path, []byte(body), "Content-Type", "application/json", "Authorization", "Bearer "+key))
		return status, text
	}
	var answer struct{ Recording string }
	if _, text := ask(http.MethodPost, "/v1/completions", "alice", `{"prompt":"Hello","max_tokens":2,"record":true}`); json.Unmarshal([]byte(text), &answer) != nil || answer.Recording == "" {
		t.Fatal(text)
	}
	path := "/v1/recordings/" + answer.Recording
	for _, tc := range []struct {
		method, path, key string
		status            int
		lists             bool
	}{
		{http.MethodGet, path, "bob", 404, false}, {http.MethodDelete, path, "bob", 404, false}, {http.MethodGet, path, "none", 401, false},
		{http.MethodGet, "/v1/recordings/rec_x", "alice", 404, false}, {http.MethodGet, "/v1/recordings/..%2fx", "admin", 404, false},
		{http.MethodGet, "/v1/recordings", "alice", 200, true}, {http.MethodGet, "/v1/recordings", "bob", 200, false}, {http.MethodGet, "/v1/recordings", "admin", 200, true},
		{http.MethodGet, path, "alice", 200, false}, {http.MethodGet, path, "admin", 200, false},
		{http.MethodDelete, path, "alice", 204, false}, {http.MethodDelete, path, "admin", 404, false}, {http.MethodGet, "/v1/recordings", "alice", 200, false},
	} {
		status, text := ask(tc.method, tc.path, tc.key, "")
		if status != tc.status || strings.Contains(text, `"id":"`+answer.Recording) != tc.lists {
			t.Errorf("%s %s of %s: %d %.200s, want %d, listed: %v", tc.method, tc.path, tc.key, status, text, tc.status, tc.lists)
		}
	}
}

// TestRecording_Bounds: a recording that has its size ends, and the answer does not; what is too
// much goes.
func TestRecording_Bounds(t *testing.T) {
	h := hosts.OpenWithPlugins(t, map[string]any{"recordings.size": "16KiB", "recordings.keep": 2}, map[string][]byte{"a.wasm": picking(5)})
	body := `{"prompt":"Once","max_tokens":100,"ignore_eos":true,"seed":1,"plugins":["picking"]`
	_, plain := hosts.Post(t, h.URL()+"/v1/completions", body+`}`)
	f := recorded(t, h, "/v1/completions", body+`,"record":true}`)
	s := f.Sessions[0]
	if !strings.Contains(s.Cut, "recordings.size") || len(s.Calls) < 5 || len(s.Calls) >= 200 {
		t.Errorf("%d calls, %q", len(s.Calls), s.Cut)
	}
	if d := replay(t, f, picking(5), 1); d != nil {
		t.Error(d)
	}
	_, text := hosts.Post(t, h.URL()+"/v1/completions", body+`,"record":true}`)
	if textOfFirst(t, text) != textOfFirst(t, plain) || len(textOfFirst(t, plain)) == 0 {
		t.Errorf("recorded: %s\nplain: %s", text, plain)
	}
	recorded(t, h, "/v1/completions", `{"prompt":"Once","max_tokens":1,"record":true}`)
	list := hosts.Get(t, h.URL()+"/v1/recordings")
	if n := strings.Count(list, `"id":"rec_`); n != 2 || !strings.Contains(list, `"cut":"`) {
		t.Errorf("%d are kept: %s", n, list)
	}
}

func textOfFirst(t *testing.T, answer string) string {
	t.Helper()
	var a struct{ Choices []struct{ Text string } }
	if err := json.Unmarshal([]byte(answer), &a); err != nil || len(a.Choices) == 0 {
		t.Fatalf("%s: %v", answer, err)
	}
	return a.Choices[0].Text
}

// TestRecording_Forbidden: an operator may have nothing recorded.
func TestRecording_Forbidden(t *testing.T) {
	h := hosts.Open(t, map[string]any{"recordings.enabled": false})
	hosts.Run(t, h)
	status, text := hosts.Post(t, h.URL()+"/v1/completions", `{"prompt":"Hello","record":true}`)
	if status != http.StatusForbidden || !strings.Contains(text, "recordings.enabled") || !strings.Contains(text, `"param":"record"`) {
		t.Errorf("%d %s", status, text)
	}
	if status, _, text := hosts.Send(t, http.DefaultClient, hosts.NewRequest(t, http.MethodGet, h.URL()+"/v1/recordings", nil)); status != http.StatusForbidden {
		t.Errorf("%d %s", status, text)
	}
	if status, text := hosts.Post(t, h.URL()+"/v1/completions", `{"prompt":"Hello","max_tokens":1,"record":"yes"}`); status != http.StatusBadRequest || !strings.Contains(text, "record") {
		t.Errorf("%d %s", status, text)
	}
}

// TestRecording_Faults are recorded with what led to them, and come again.
func TestRecording_Faults(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, map[string][]byte{"a.wasm": faulty()})
	status, text := hosts.Post(t, h.URL()+"/v1/completions", `{"prompt":"Hello","max_tokens":5,"ignore_eos":true,"record":true,"plugins":[{"name":"faulty","on_error":"skip"}]}`)
	_, after, _ := bytes.Cut([]byte(text), []byte(`"recording":"`))
	if status != http.StatusOK || len(after) == 0 {
		t.Fatalf("%d %s", status, text)
	}
	f := download(t, h, string(after[:30]))
	calls := f.Sessions[0].Calls
	if last := calls[len(calls)-1]; last.Fault == nil || last.Fault.Kind != "trap" {
		t.Errorf("the last call is %+v", last)
	}
	if d := replay(t, f, faulty(), 2); d != nil {
		t.Error(d)
	}
}
