// SPDX-License-Identifier: MIT

package real

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// miniLM is the path of all-MiniLM-L6-v2 in F16, from the folder of this package.
const miniLM = "../../build/models/minilm-l6-f16.gguf"

// nearest is the cosine of vectors that are the same but for their weights' precision.
const nearest = 0.9999

// embedding is a vector that sentence-transformers computed of a text's first tokens.
type embedding struct {
	Text   string
	Tokens int    // of the whole text, with [CLS] and [SEP]
	Limit  int    // the most of them that were taken
	Vector []byte // 16-bit integers, little endian; of any length
}

// embeddings reads what testdata/minilm.py wrote.
func embeddings(t *testing.T) (all []embedding) {
	t.Helper()
	data := must.Get(os.ReadFile("testdata/minilm.jsonl.gz"))(t)
	lines := must.Get(gzip.NewReader(bytes.NewReader(data)))(t)
	for in := bufio.NewScanner(lines); in.Scan(); {
		var r embedding
		must.Do(t, json.Unmarshal(in.Bytes(), &r))
		all = append(all, r)
	}
	if len(all) < 50 {
		t.Fatalf("testdata has %d vectors", len(all))
	}
	return all
}

// cosine is that of the angle between a vector and the reference.
func (r embedding) cosine(v []float64) float64 {
	var product, a, b float64
	if len(v)*2 != len(r.Vector) {
		return 0
	}
	for i, x := range v {
		y := float64(int16(binary.LittleEndian.Uint16(r.Vector[2*i:])))
		product, a, b = product+x*y, a+x*x, b+y*y
	}
	return product / math.Sqrt(a*b)
}

// embedded asks for the vectors of texts.
func embedded(t *testing.T, h *host.Host, path string, texts ...string) [][]float64 {
	t.Helper()
	body := must.Get(json.Marshal(map[string]any{"input": texts}))(t)
	status, answer := hosts.Post(t, h.URL()+path, string(body))
	var said struct {
		Embeddings [][]float64
		Data       []struct{ Embedding []float64 }
	}
	if err := json.Unmarshal([]byte(answer), &said); err != nil || status != http.StatusOK {
		t.Fatalf("%s %.300s: %d %.300s", path, body, status, answer)
	}
	for _, d := range said.Data {
		said.Embeddings = append(said.Embeddings, d.Embedding)
	}
	if len(said.Embeddings) != len(texts) {
		t.Fatalf("%s: %d vectors of %d texts", path, len(said.Embeddings), len(texts))
	}
	return said.Embeddings
}

// MiniLM's vectors are those of sentence-transformers: of a text alone and in a batch, and of the
// beginning of one that is too long.
func TestMiniLM_EmbedsAsSentenceTransformers(t *testing.T) {
	all := embeddings(t)
	whole := hosts.Open(t, map[string]any{"embedding.model": miniLM})
	hosts.Run(t, whole)
	half := hosts.Open(t, map[string]any{"embedding.model": miniLM, "scheduler.ubatch_size": "256"}) // as sentence-transformers has it
	hosts.Run(t, half)
	worst := 1.0
	check := func(how string, r embedding, v []float64) {
		t.Helper()
		c := r.cosine(v)
		if worst = min(worst, c); c < nearest || math.IsNaN(c) {
			t.Errorf("%s: the cosine is %.6f, of %d tokens: %.80q", how, c, r.Tokens, r.Text)
		}
	}
	var texts []string
	var fit []embedding
	for _, r := range all {
		if r.Tokens > r.Limit {
			h := map[int]*host.Host{256: half, 512: whole}[r.Limit]
			check(fmt.Sprintf("truncated to %d", r.Limit), r, embedded(t, h, "/api/embed", r.Text)[0])
			continue
		}
		texts, fit = append(texts, r.Text), append(fit, r)
	}
	for i, v := range embedded(t, whole, "/v1/embeddings", texts...) {
		check("in a batch", fit[i], v)
	}
	for _, r := range steadytest.Some(t, fit, 10) {
		check("alone", r, embedded(t, whole, "/v1/embeddings", r.Text)[0])
		check("beside a longer one", r, embedded(t, whole, "/api/embed", texts[len(texts)-1], r.Text)[1])
	}
	t.Logf("%d texts fit, %d were truncated; the worst cosine is %.7f", len(fit), len(all)-len(fit), worst)
}
