// SPDX-License-Identifier: MIT

package peer

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// nativeExcept is what may differ, and why.
var nativeExcept = Comparison{
	Except: []string{
		"**.timings",            // times
		"**.speculative.types",  // llama-server's default is none
		"id_slot", "[].id_slot", // which slot is free depends on what each server has cached
		"prompt_progress.cache", "prompt_progress.processed", // likewise
		"data[].created",                // the time of the question there, the file's here
		"data[].owned_by", "build_info", // each says itself
		"media_marker",                                    // drawn by chance, and for images only
		"kernels", "options", "**.complete", "body_limit", // Penstock's additions
		"data[].architecture", // which llama-server tells where it serves several models
	},
	Tolerance: map[string]float64{ // the one sums in 32 bits, the other in 64
		"completion_probabilities": 1e-4, "[].completion_probabilities": 1e-4,
		"[].embedding": nearly, // of vectors whose length is 1
	},
}

// The same requests get the same answers from llama-server and from Penstock: 200 of them, over
// all routes that both have.
func TestLlamaServer_SameAnswers(t *testing.T) {
	flags := []string{"--alias", "tiny", "--metrics"}
	model := Exact(t)
	peer := LlamaServer(t, model, flags...)
	embedder := LlamaServer(t, model, append(flags, "--embeddings", "--pooling", "mean", "--kv-unified")...) // flags that change answers of others
	ours := Penstock(t, model, map[string]any{"model.alias": "tiny", "embedding.enabled": true, "embedding.pooling": "mean"})
	for _, r := range requests(t, 12, 200) {
		if strings.HasPrefix(r.path, "/embedding") {
			compare(t, r, embedder, ours)
		} else {
			compare(t, r, peer, ours)
		}
	}
}

// compare answers a request with both. Where two tokens are about equally likely, llama-server's
// own answer depends on what it has cached, so it is asked again without its cache.
func compare(t *testing.T, r request, peer, ours Server) {
	t.Helper()
	want, got := peer.Call(t, r.method(), r.path, r.body), ours.Call(t, r.method(), r.path, r.body)
	found := differences(t, r, want, got)
	if strings.HasPrefix(r.path, "/completion") && (len(found) > 0 || Recording()) {
		body := strings.TrimSuffix(r.body, "}") + `,"cache_prompt":false}`
		if uncached := peer.Call(t, r.method(), r.path, body); len(found) > 0 {
			found = differences(t, r, uncached, got)
		}
	}
	for _, d := range found {
		t.Errorf("%.400v\n\t%.3000s", r, d)
	}
}

func differences(t *testing.T, r request, want, got Response) []string {
	t.Helper()
	if want.Status != http.StatusOK {
		return refusals(t, r, want, got)
	}
	if got.Status != want.Status {
		return []string{got.Body}
	}
	comparison := nativeExcept
	if strings.Contains(r.body, `"json_schema"`) { // Penstock shows the schema, llama-server the grammar that it makes of it
		comparison.Except = append(slices.Clip(comparison.Except), "**.generation_settings.grammar", "**.generation_settings.json_schema")
	}
	if !strings.HasPrefix(want.Header.Get("Content-Type"), "text/event-stream") {
		return comparison.Differences(t, want.Body, got.Body)
	}
	w, g := frames(want.Body), frames(got.Body)
	if len(w) != len(g) {
		return []string{strings.Join(w, "\n") + "\n\t→\n" + strings.Join(g, "\n")}
	}
	var all []string
	for i := range w {
		all = append(all, comparison.Differences(t, w[i], g[i])...)
	}
	return all
}

// refusals compares two answers to a wrong request. Where llama-server says that it has failed
// itself (500), Penstock says what is wrong with the request.
func refusals(t *testing.T, r request, want, got Response) []string {
	t.Helper()
	type refusal struct {
		Error struct {
			Code    any
			Message string
			Type    string
			Param   string
		}
	}
	var w, g refusal
	if err := json.Unmarshal([]byte(want.Body), &w); err != nil {
		t.Fatal(err, want.Body)
	}
	if err := json.Unmarshal([]byte(got.Body), &g); err != nil {
		t.Fatal(err, got.Body)
	}
	if want.Status == http.StatusInternalServerError {
		want.Status, w.Error.Code, w.Error.Type = http.StatusBadRequest, 400.0, "invalid_request_error"
	}
	if want.Status != got.Status || w.Error.Code != g.Error.Code || w.Error.Type != g.Error.Type {
		return []string{want.Body + "\n\t→\n" + got.Body}
	}
	if !strings.Contains(g.Error.Message+" "+g.Error.Param, r.field) {
		return []string{"the error does not name " + r.field + ": " + got.Body}
	}
	return nil
}

// frames are the data of server-sent events; a comment is not one.
func frames(text string) []string {
	var all []string
	for event := range strings.SplitSeq(text, "\n\n") {
		if data, ok := strings.CutPrefix(event, "data: "); ok {
			all = append(all, data)
		}
	}
	return slices.Clip(all)
}
