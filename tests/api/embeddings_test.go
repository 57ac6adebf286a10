// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/tests/hosts"
)

// vectorsOf asks for embeddings and returns the vectors.
func vectorsOf(t *testing.T, h *host.Host, body string) [][]float64 {
	t.Helper()
	status, answer := hosts.Post(t, h.URL()+"/v1/embeddings", body)
	var a struct {
		Data []struct{ Embedding []float64 }
	}
	if err := json.Unmarshal([]byte(answer), &a); err != nil || status != http.StatusOK {
		t.Fatal(status, answer)
	}
	var out [][]float64
	for _, d := range a.Data {
		out = append(out, d.Embedding)
	}
	return out
}

func TestHost_Embeddings_ByTheModelThatChats_FromTheFirstRequest(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, nil)
	before := native.LiveObjects().Contexts
	if v := vectorsOf(t, h, `{"input":["a frog","a toad"]}`); len(v) != 2 || len(v[0]) != 160 {
		t.Fatalf("%d vectors", len(v))
	}
	if made := native.LiveObjects().Contexts - before; made != 1 {
		t.Errorf("%d contexts were made, want 1 with the first request", made)
	}
	vectorsOf(t, h, `{"input":"again"}`)
	if made := native.LiveObjects().Contexts - before; made != 1 {
		t.Errorf("%d contexts, want the same one", made)
	}
	short := vectorsOf(t, h, `{"input":"a frog","dimensions":7}`)[0]
	var squares float64
	for _, x := range short {
		squares += x * x
	}
	if len(short) != 7 || squares < 0.9999 || squares > 1.0001 {
		t.Errorf("%d dimensions, and the length squared is %g", len(short), squares)
	}
	metrics := hosts.Get(t, h.URL()+"/metrics")
	for _, line := range []string{`penstock_embedding_requests_total{kind="embedding",model_name="penstock-tiny",outcome="success"} 3`,
		`penstock_embedding_requests_total{kind="embedding",model_name="penstock-tiny",outcome="error"} 0`, "penstock_embedding_tokens_total", "penstock_embedding_pass_seconds_count"} {
		if !strings.Contains(metrics, line) {
			t.Errorf("the metrics have no %q", line)
		}
	}
	status, answer := hosts.Post(t, h.URL()+"/rerank", `{"query":"a","documents":["b"]}`)
	if status != http.StatusNotImplemented || !strings.Contains(answer, "--reranking") || !strings.Contains(answer, "not_supported_error") {
		t.Errorf("reranking without a model: %d %s", status, answer)
	}
}

// A model for embeddings beside the one that chats, also by its own name.
func TestHost_Embeddings_ByAModelOfTheirOwn(t *testing.T) {
	for name, change := range map[string]map[string]any{
		"embedding-model":   {"embedding.model": hosts.SmallModel(t, "bert")},
		"MODEL only embeds": {"model.path": hosts.SmallModel(t, "bert"), "embedding.enabled": true},
		"strict":            {"embedding.model": hosts.SmallModel(t, "bert"), "model.strict": true},
	} {
		t.Run(name, func(t *testing.T) {
			h := hosts.OpenWithPlugins(t, change, nil)
			if v := vectorsOf(t, h, `{"input":"a frog","model":"bert"}`); len(v[0]) != 64 {
				t.Errorf("%d numbers, the model has 64", len(v[0]))
			}
			if status, answer := hosts.Post(t, h.URL()+"/v1/chat/completions", `{`+hosts.Frog+`,"max_tokens":3}`); status != http.StatusOK {
				t.Errorf("a chat beside it: %d %s", status, answer)
			}
		})
	}
}

func TestHost_Embeddings_TooLong(t *testing.T) {
	h := hosts.OpenWithPlugins(t, map[string]any{"embedding.model": hosts.SmallModel(t, "bert")}, nil)
	long := strings.Repeat("x", 600) // a token each, and the model has 512 positions
	for _, route := range []string{"/v1/embeddings", "/embedding"} {
		status, answer := hosts.Post(t, h.URL()+route, `{"input":["a","`+long+`"]}`)
		for _, part := range []string{"exceed_context_size_error", "600 tokens", "512", "entry 1 of input"} {
			if status != http.StatusBadRequest || !strings.Contains(answer, part) {
				t.Errorf("%s: %d %s, want %q in it", route, status, answer, part)
			}
		}
	}
}
