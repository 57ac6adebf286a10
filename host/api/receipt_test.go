// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/receipt"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/tools/must"
)

// calling is a model whose answers to conversations have reasoning, content and a tool call.
type calling struct{ toy }

func (c calling) Render(ctx context.Context, conversation chat.Conversation) (chat.Prompt, error) {
	prompt, err := c.toy.Render(ctx, conversation)
	prompt.HasParts, prompt.NewParser = true, func() (chat.Parser, error) { return &callParser{}, nil }
	return prompt, err
}

// callParser puts a call before the parts of parity.
type callParser struct {
	parity
	called bool
}

func (p *callParser) Add(text string, last bool) ([]chat.Delta, error) {
	deltas, err := p.parity.Add(text, last)
	if !p.called {
		p.called = true
		deltas = append(deltas, chat.Delta{Call: &chat.CallDelta{ID: "c", Name: "f", Arguments: `{"b": 1.0, "a": "x"}`}})
	}
	return deltas, err
}

// newReceiptRig is an API that signs receipts. The keys are those that it publishes.
func newReceiptRig(t *testing.T, change func(*setup)) (*rig, receipt.Keys) {
	t.Helper()
	key := must.Get(receipt.NewKey())(t)
	public := key.Public()
	r := newRig(t, func(s *setup) {
		change(s)
		s.ReceiptKeys, s.Engine = &public, calling{}
		s.wrap = func(o servingtest.OneModel) serving.Models {
			o.Model.Receipts = &receipt.Issuer{Signer: receipt.NewSigner(key, "test"), Model: receipt.Model{Name: o.Model.Name}}
			return o
		}
	})
	status, _, text := r.call(http.MethodGet, receipt.Path, "")
	keys, err := receipt.ParseKeys([]byte(text))
	if err != nil || status != http.StatusOK {
		t.Fatal(status, text, err)
	}
	return r, keys
}

// receiptIn is what the receipt of an answer says.
func receiptIn(t *testing.T, keys receipt.Keys, text string) *receipt.Statement {
	t.Helper()
	jws, err := receipt.In([]byte(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	s, _, err := keys.Read(jws)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return s
}

// Each dialect gives a receipt of the body that it was sent and of the answer that it has given,
// once in an answer, where it is asked for.
func TestReceipt_EveryRoute(t *testing.T) {
	r, keys := newReceiptRig(t, func(*setup) {})
	for _, route := range []struct {
		path, body string
		choices    int
	}{
		{"/v1/chat/completions", hello + `,"max_tokens":3`, 1},
		{"/v1/chat/completions", hello + `,"max_tokens":3,"n":3`, 3},
		{"/v1/completions", `"prompt":["x","y"],"max_tokens":3`, 2},
		{"/v1/responses", `"input":"x","max_output_tokens":3`, 1},
		{"/v1/messages", hello + `,"max_tokens":3`, 1},
		{"/api/chat", `"model":"toy",` + hello + `,"options":{"num_predict":3}`, 1},
		{"/api/generate", `"model":"toy","prompt":"x","raw":true,"options":{"num_predict":3}`, 1},
		{"/completion", `"prompt":"x","n_predict":3`, 1},
	} {
		for _, stream := range []string{`,"stream":false`, `,"stream":true`} {
			name, body := route.path+stream, `{`+route.body+stream+`,"seed":7,"receipt":true}`
			status, _, text := r.call(http.MethodPost, route.path, body)
			if status != http.StatusOK {
				t.Errorf("%s: %d %s", name, status, text)
				continue
			}
			s := receiptIn(t, keys, text)
			if err := s.CheckRequest([]byte(body)); err != nil || s.Request.Route != "POST "+route.path || len(s.Choices) != route.choices {
				t.Errorf("%s: %v, %+v", name, err, s)
			}
			if n := strings.Count(text, `"receipt":`); n != 1 {
				t.Errorf("%s: %d receipts", name, n)
			}
			chats := strings.Contains(route.body, "messages") || strings.Contains(route.body, "input")
			for i, c := range s.Choices {
				if (c.CallsSHA256 != "" && c.ReasoningSHA256+c.ContentSHA256 != "") != chats {
					t.Errorf("%s: choice %d has not the parts that it has: %+v", name, i, c)
				}
				if c.Tokens != 3 || c.FinishReason != "length" || c.TextSHA256 == "" || s.Prompts[c.Prompt].Tokens == 0 {
					t.Errorf("%s: choice %d: %+v", name, i, c)
				}
			}
			if _, err := s.CheckAnswer([]byte(text)); (err == nil) != strings.HasSuffix(stream, "false") {
				t.Errorf("%s: %v: %s", name, err, text)
			}
			if _, _, plain := r.call(http.MethodPost, route.path, `{`+route.body+stream+`}`); strings.Contains(plain, `"receipt"`) {
				t.Errorf("%s: a receipt that nobody asked for: %s", name, plain)
			}
		}
	}
}

// A receipt says that the request alone does not lead to the answer, and that the client has ended
// it.
func TestReceipt_Socket_SteeredAndForked(t *testing.T) {
	g := newGate()
	r, keys := newReceiptRig(t, func(s *setup) {
		g.on(s)
		s.slots, s.queue = 2, 2
	})
	p := r.dial()
	const request = `{"prompt":"x", "max_tokens":40, "receipt":true}`
	p.send(`{"type":"generate","id":"a","request":%s}`, request)
	<-g.held
	g.pause(p, r, "a")
	p.send(`{"type":"inject","id":"a","text":"A"}`)
	p.send(`{"type":"fork","id":"a","as":"b"}`)
	ends := map[string]*receipt.Statement{}
	for len(ends) < 2 {
		switch f := p.next(); {
		case f.Type == "error":
			t.Fatalf("got %+v", f)
		case f.Type == "started" && f.ID == "b":
			p.send(`{"type":"cancel","id":"a"}`)
		case f.Type == "end":
			ends[f.ID] = receiptIn(t, keys, f.Receipt)
			if err := ends[f.ID].CheckRequest([]byte(request)); err != nil {
				t.Error(f.ID, err)
			}
		}
	}
	if s := ends["a"]; !slices.Equal(s.Steered, []string{"inject"}) || s.Forked || s.Request.Route != "GET /v1/ws" || s.Choices[0].FinishReason != "cancelled" {
		t.Errorf("of the steered one: %+v", s)
	}
	if s := ends["b"]; len(s.Steered) > 0 || !s.Forked || s.Choices[0].FinishReason != "length" {
		t.Errorf("of the fork: %+v", s)
	}
}

// oneAdapter is what all prompts are computed with.
type oneAdapter struct {
	serving.Adapters
	file receipt.File
}

func (oneAdapter) Key() string { return "tales" }

func (a oneAdapter) Choose([]serving.AdapterScale, []int32) (scheduler.Adapters, int, error) {
	return a, 0, nil
}

func (oneAdapter) Named(string) ([]serving.AdapterScale, bool) {
	return []serving.AdapterScale{{Name: "tales", Scale: 0.5}}, true
}

func (a oneAdapter) List() []serving.AdapterInfo {
	return []serving.AdapterInfo{{Name: "songs"}, {Name: "tales", File: a.file}}
}

// The adapters that count are among the files. Of one that is no longer what was loaded there is no
// receipt, and its answer is not computed.
func TestReceipt_Adapters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tales.gguf")
	write := func(text string) {
		t.Helper()
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("weights")
	noted := receipt.Note(receipt.RoleAdapter, path)
	with := func(s *setup) { s.adapters = oneAdapter{file: noted} }
	const body = `{"prompt":"x","max_tokens":3,"receipt":true}`
	r, keys := newReceiptRig(t, with)
	_, _, text := r.call(http.MethodPost, "/v1/completions", body)
	want := []receipt.FileDigest{{Role: receipt.RoleAdapter, SHA256: receipt.Digest([]byte("weights")), Scale: 0.5}}
	if got := receiptIn(t, keys, text).Model.Files; !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	write("others")
	r, _ = newReceiptRig(t, with)
	r.refused("/v1/completions", body, http.StatusConflict, "model_changed", "receipt")
	if got := r.outcome(); got.Reason != answer.ReasonCancelled {
		t.Errorf("the answer without a receipt ended by %s", got.Reason)
	}
}

func TestReceipt_Off(t *testing.T) {
	r := newRig(t, nil)
	r.refused("/v1/completions", `{"prompt":"x","receipt":true}`, http.StatusForbidden, "receipts_disabled", "receipt")
	if status, _, text := r.call(http.MethodGet, receipt.Path, ""); status != http.StatusNotFound || !strings.Contains(text, "receipts.key_file") {
		t.Errorf("%d %s", status, text)
	}
}
