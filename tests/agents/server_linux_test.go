// SPDX-License-Identifier: MIT

package agents

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// serve runs a host that has the built-in model once with each format's template.
func serve(t *testing.T) *host.Host {
	t.Helper()
	dir := t.TempDir()
	var weights bytes.Buffer // what the model would say does not matter, only how long its prompts take
	shape := synth.Shape{Name: "agents", Dim: 32, Layers: 1, Heads: 1, KVHeads: 1, FFN: 32, Context: 65536}
	must.Do(t, synth.Write(&weights, shape, hosts.BuiltIn, synth.Q80, 1))
	for _, f := range formats {
		found, err := filepath.Glob("../../build/llama.cpp/source-*/models/templates/" + f.template + ".jinja")
		if err != nil || len(found) == 0 {
			t.Fatalf("no template %s: %v", f.template, err)
		}
		template := must.Get(os.ReadFile(found[0]))(t)
		for suffix, content := range map[string][]byte{".gguf": weights.Bytes(), ".jinja": template} {
			must.Do(t, os.WriteFile(filepath.Join(dir, f.model+suffix), content, 0o600))
		}
	}
	h := hosts.Open(t, map[string]any{
		"models.dir": dir, "model.path": formats[0].model, "models.max": "0", "model.ctx_size": "131072", "model.threads": "2", "scheduler.slots": "2",
		"server.admin_key": "secret", "plugins.dir": t.TempDir(),
	})
	hosts.Run(t, h)
	return h
}

// session is one task of an agent: what it asks, through a proxy that decides what the model says.
type session struct {
	t      *testing.T
	host   *host.Host
	format format
	calls  []call
	answer string // behind them
	url    string // of the proxy

	mu   sync.Mutex
	seen []string // what was asked for, and the status of the answer
	asks int      // requests for an answer that may call tools
}

// converse begins a session. The model makes the calls one after another, each when the
// conversation has the results of those before.
func converse(t *testing.T, h *host.Host, f format, calls []call, answer string) *session {
	t.Helper()
	s := &session{t: t, host: h, format: f, calls: calls, answer: answer}
	target := must.Get(url.Parse(h.URL()))(t)
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, ModifyResponse: s.note}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.prescribe(r)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *session) note(r *http.Response) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, fmt.Sprintf("%s %s: %d", r.Request.Method, r.Request.URL.RequestURI(), r.StatusCode))
	if r.StatusCode >= http.StatusBadRequest {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		s.seen = append(s.seen, string(text))
		r.Body = io.NopCloser(bytes.NewReader(text))
	}
	return nil
}

// prescribe adds a plugin to a request for an answer, which writes what the model is to say. A
// request with an empty input asks for none: it has the model loaded.
func (s *session) prescribe(r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	var body map[string]any
	if err := json.Unmarshal(text, &body); err == nil && (body["messages"] != nil || body["input"] != nil && body["input"] != "") {
		says := s.format.thought + s.answer
		if at := results(body); at < len(s.calls) && body["tools"] != nil {
			says = s.format.call(s.calls[at])
			s.mu.Lock()
			s.asks++
			s.mu.Unlock()
		}
		end := bytes.LastIndexByte(text, '}')
		text = fmt.Appendf(text[:end:end], `,"plugins":[%q]}`, s.plugin(says)) // the rest stays byte for byte
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
}

// results is how many results of tools there are in a part of a conversation.
func results(part any) (n int) {
	switch part := part.(type) {
	case []any:
		for _, p := range part {
			n += results(p)
		}
	case map[string]any:
		kind, _ := part["type"].(string)
		if part["role"] == "tool" || kind == "tool_result" || strings.HasSuffix(kind, "_call_output") {
			return 1
		}
		for _, p := range part {
			n += results(p)
		}
	}
	return n
}

// plugin uploads a plugin that makes an answer a text, and returns its name.
func (s *session) plugin(text string) string {
	var answer struct{ Tokens []uint32 }
	body, err := json.Marshal(map[string]any{"content": text + "<|im_end|>", "model": s.format.model, "parse_special": true})
	if err != nil {
		s.t.Error(err)
	}
	if _, got := hosts.Post(s.t, s.host.URL()+"/tokenize", string(body)); json.Unmarshal([]byte(got), &answer) != nil {
		s.t.Error(got)
	}
	splice := []byte{0, 0, 0, 0}
	for _, n := range append([]uint32{uint32(len(answer.Tokens))}, answer.Tokens...) {
		splice = binary.LittleEndian.AppendUint32(splice, n)
	}
	name := fmt.Sprintf("says-%x", sha256.Sum256([]byte(text)))[:20]
	const at = 1 << 16
	g := asm.New(fmt.Sprintf(`{"name":%q,"splice":%d}`, name, len(answer.Tokens))).Put(at, string(splice))
	g.Globals = 1
	g.On(abi.ExportOpen, g.Bind(abi.BufferSplice, at, len(splice)), asm.I32(0))
	g.On(abi.ExportPrepare, asm.Global(0), asm.When(asm.I32(0), asm.Return), asm.I32(1), asm.SetGlobal(0), asm.I32(abi.PrepareForce))
	if status, text := hosts.Admin(s.t, s.host, http.MethodPost, "/v1/plugins", g.Wasm()); status/100 != 2 {
		s.t.Errorf("the plugin is refused: %d %s", status, text)
	}
	return name
}
