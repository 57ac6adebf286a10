// SPDX-License-Identifier: MIT

package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/receipt"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
)

// newReceiptRig is an API that signs receipts. The keys are those that it publishes.
func newReceiptRig(t *testing.T) (*rig, receipt.Keys) {
	t.Helper()
	key, err := receipt.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	public := key.Public()
	r := newRig(t, func(s *setup) {
		s.ReceiptKeys = &public
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
	r, keys := newReceiptRig(t)
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
		{"/api/generate", `"model":"toy","prompt":"x","options":{"num_predict":3}`, 1},
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
			for i, c := range s.Choices {
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
	r, keys := newReceiptRig(t)
	p := r.dial()
	const request = `{"prompt":"x", "max_tokens":400, "receipt":true}`
	p.send(`{"type":"generate","id":"a","request":%s}`, request)
	p.until("token")
	p.send(`{"type":"pause","id":"a"}`)
	p.until("paused")
	p.send(`{"type":"inject","id":"a","text":"A"}`)
	p.send(`{"type":"fork","id":"a","as":"b"}`)
	p.send(`{"type":"resume","id":"a"}`)
	ends := map[string]*receipt.Statement{}
	for len(ends) < 2 {
		f := p.until("end")
		ends[f.ID] = receiptIn(t, keys, f.Receipt)
		if err := ends[f.ID].CheckRequest([]byte(request)); err != nil {
			t.Error(f.ID, err)
		}
	}
	if s := ends["a"]; !slices.Equal(s.Steered, []string{"inject"}) || s.Forked || s.Request.Route != "GET /v1/ws" {
		t.Errorf("of the steered one: %+v", s)
	}
	if s := ends["b"]; len(s.Steered) > 0 || !s.Forked {
		t.Errorf("of the fork: %+v", s)
	}
	p.send(`{"type":"generate","id":"c","request":%s}`, request)
	p.until("token")
	p.send(`{"type":"cancel","id":"c"}`)
	if s := receiptIn(t, keys, p.until("end").Receipt); s.Choices[0].FinishReason != "cancelled" {
		t.Errorf("of the cancelled one: %+v", s.Choices)
	}
}

func TestReceipt_Off(t *testing.T) {
	r := newRig(t, nil)
	r.refused("/v1/completions", `{"prompt":"x","receipt":true}`, http.StatusForbidden, "receipts_disabled", "receipt")
	if status, _, text := r.call(http.MethodGet, receipt.Path, ""); status != http.StatusNotFound || !strings.Contains(text, "receipts.key_file") {
		t.Errorf("%d %s", status, text)
	}
}
