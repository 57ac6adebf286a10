// SPDX-License-Identifier: MIT

package peer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
)

// shapes are compared without the vectors in them. An answer names the model that gave it, where
// llama-server repeats the request's name.
var shapes = Comparison{
	Except:    []string{"model", "[].embedding", "data[].embedding"},
	Tolerance: map[string]float64{"results[].relevance_score": 2e-3, "[].score": 2e-3},
}

// nearly is by how much of their length vectors may differ: other tokens in a pass change the
// rounding of 8-bit inputs.
const nearly = 0.03

// vectors lists the vectors in a JSON document in order.
func vectors(v any) (out [][]float64) {
	switch v := v.(type) {
	case map[string]any:
		out = vectors(v["embedding"])
		if v["data"] != nil {
			out = vectors(v["data"])
		}
	case []any:
		var numbers []float64
		for _, x := range v {
			if n, ok := x.(float64); ok {
				numbers = append(numbers, n)
				continue
			}
			out = append(out, vectors(x)...)
		}
		if numbers != nil {
			out = append(out, numbers)
		}
	}
	return out
}

// distance is how far two vectors are apart, by the length of the first.
func distance(a, b []float64) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	var length, difference float64
	for i := range a {
		length += a[i] * a[i]
		difference += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(difference / length)
}

func sameVectors(t *testing.T, about, want, got string) {
	t.Helper()
	var w, g any
	must.Do(t, errors.Join(json.Unmarshal([]byte(want), &w), json.Unmarshal([]byte(got), &g)))
	wanted, given := vectors(w), vectors(g)
	if len(wanted) != len(given) {
		t.Errorf("%s: %d vectors, llama-server gives %d", about, len(given), len(wanted))
		return
	}
	for i := range wanted {
		if d := distance(wanted[i], given[i]); d > nearly {
			t.Errorf("%s: vector %d of %d differs by %g of its length", about, i, len(wanted), d)
		}
	}
}

// small writes a small random model and returns its path.
func small(t *testing.T, kind string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), kind+".gguf")
	must.Do(t, synth.SmallFile(path, kind, 1))
	return path
}

// alike sends requests to both servers and compares status and body.
func alike(t *testing.T, peer, ours Server, path string, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		want, got := peer.Call(t, http.MethodPost, path, body), ours.Call(t, http.MethodPost, path, body)
		if want.Status != got.Status || want.Status != http.StatusOK {
			t.Errorf("%s %.80s: status %d (%.200s), llama-server's is %d (%.200s)", path, body, got.Status, got.Body, want.Status, want.Body)
			continue
		}
		about := fmt.Sprintf("%s %.80s", path, body)
		for _, d := range shapes.Differences(t, want.Body, got.Body) {
			t.Errorf("%s: %s", about, d)
		}
		sameVectors(t, about, want.Body, got.Body)
	}
}

// Inputs in every shape, short and long, alone and several together.
func inputs(field string) (out []string) {
	texts := []string{"Hello", "The cat sat on the mat.", "Größe, 日本 and a tab\t.", strings.Repeat("a long text ", 30)}
	all, _ := json.Marshal(texts)
	out = append(out, fmt.Sprintf(`{%q:%s}`, field, all), fmt.Sprintf(`{%q:[10,20,30]}`, field),
		fmt.Sprintf(`{%q:[[10,20,30],"text",[5]]}`, field), fmt.Sprintf(`{%q:["one"," two"]}`, field))
	for _, normalize := range []int{-1, 0, 1, 2, 3} {
		out = append(out, fmt.Sprintf(`{%q:"how it is scaled","embd_normalize":%d}`, field, normalize))
	}
	return out
}

func TestEmbeddings_AsLlamaServer(t *testing.T) {
	for name, tc := range map[string]struct {
		model string
		flags []string
		keys  map[string]any
	}{
		"built-in model, no pooling": {BuiltIn, nil, nil},
		"built-in model, mean":       {BuiltIn, []string{"--pooling", "mean"}, map[string]any{"embedding.pooling": "mean"}},
		"encoder":                    {"bert", nil, nil},
		"encoder, first token":       {"bert", []string{"--pooling", "cls"}, map[string]any{"embedding.pooling": "cls"}},
		"decoder":                    {"embedder", nil, nil},
		"decoder, taxicab":           {"embedder", []string{"--embd-normalize", "1"}, map[string]any{"embedding.normalize": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			path := tc.model
			if path != BuiltIn {
				path = small(t, path)
			}
			keys := map[string]any{"embedding.enabled": true}
			for k, v := range tc.keys {
				keys[k] = v
			}
			// Without --kv-unified it cuts texts of different lengths into pieces and pools only
			// some of them.
			peer := LlamaServer(t, path, append([]string{"--embeddings", "--kv-unified"}, tc.flags...)...)
			ours := Penstock(t, path, keys)
			alike(t, peer, ours, "/embedding", inputs("content")...)
			alike(t, peer, ours, "/embeddings", inputs("input")...)
			if !strings.Contains(name, "no pooling") {
				alike(t, peer, ours, "/v1/embeddings", inputs("input")...)
				alike(t, peer, ours, "/v1/embeddings", `{"input":["a","b"],"encoding_format":"float"}`)
				sameBase64(t, peer, ours)
			}
		})
	}
}

// sameBase64 compares vectors in base64, whose last bits may differ.
func sameBase64(t *testing.T, peer, ours Server) {
	t.Helper()
	var lengths []int
	for _, s := range []Server{peer, ours} {
		var answer struct {
			Data []struct {
				Embedding []byte
				Format    string `json:"encoding_format"`
			}
		}
		must.Do(t, json.Unmarshal([]byte(s.Call(t, http.MethodPost, "/v1/embeddings", `{"input":"x","encoding_format":"base64"}`).Body), &answer))
		if answer.Data[0].Format != "base64" {
			t.Errorf("the format is called %q", answer.Data[0].Format)
		}
		lengths = append(lengths, len(answer.Data[0].Embedding))
	}
	if lengths[0] != lengths[1] || lengths[0] == 0 {
		t.Errorf("%d bytes, llama-server's are %d", lengths[1], lengths[0])
	}
}

func TestRerank_AsLlamaServer(t *testing.T) {
	path := small(t, "reranker")
	peer, ours := LlamaServer(t, path, "--reranking"), Penstock(t, path, map[string]any{"rerank.enabled": true})
	for _, route := range []string{"/rerank", "/reranking", "/v1/rerank", "/v1/reranking"} {
		alike(t, peer, ours, route,
			`{"query":"What is a panda?","documents":["hi","it is a bear","The giant panda is a bear of China."]}`,
			`{"query":"What is a panda?","documents":["hi","it is a bear","x"],"top_n":2}`,
			`{"query":"a","documents":["b"],"top_n":0}`,
			`{"query":"","documents":[""]}`,
			`{"query":"What?","texts":["hi","it is","The giant panda"],"return_text":true}`,
			`{"query":"What?","texts":["hi","it is"]}`)
	}
}

func TestEmbeddings_WrongRequests_AsLlamaServer(t *testing.T) {
	peer, ours := LlamaServer(t, BuiltIn, "--embeddings"), Penstock(t, BuiltIn, nil)
	for _, body := range []string{`{}`, `{"input":[]}`, `{"input":""}`, `{"input":{}}`, `{"input":"x","encoding_format":"hex"}`, `{"input":["x",""]}`} {
		want, got := peer.Call(t, http.MethodPost, "/embedding", body), ours.Call(t, http.MethodPost, "/embedding", body)
		if got.Status != http.StatusBadRequest {
			t.Errorf("%s: status %d: %s (llama-server's: %d %s)", body, got.Status, got.Body, want.Status, want.Body)
		}
	}
}
