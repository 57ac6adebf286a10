// SPDX-License-Identifier: MIT

package peer

import (
	"net/http"
	"strconv"
	"testing"
)

// tightFlags and tight are a context of 256 tokens for one slot, as flags of llama-server and as
// keys.
var tightFlags = []string{"--alias", "tiny", "--ctx-size", "256", "--parallel", "1"}

func tight(key string, value any) map[string]any {
	return map[string]any{"model.alias": "tiny", "model.ctx_size": 256, "scheduler.slots": 1, key: value}
}

// sameButText compares how answers to "Once upon a time" ended. Their text is not compared: in
// hundreds of tokens that follow no end two are about equally likely now and then.
func sameButText(t *testing.T, peer, ours Server, fields string) {
	t.Helper()
	body := `{"prompt":"Once upon a time","temperature":0,"ignore_eos":true` + fields + `}`
	want, got := peer.Call(t, http.MethodPost, "/completion", body), ours.Call(t, http.MethodPost, "/completion", body)
	c := Comparison{Except: []string{"content", "tokens", "**.complete", "timings", "id_slot", "has_new_line", "**.speculative.types"}}
	for _, d := range c.Differences(t, want.Body, got.Body) {
		t.Errorf("%s: %s", body, d)
	}
}

func TestLimits_AsLlamaServer(t *testing.T) {
	for name, limit := range map[string]int{"of the context": 300, "of the server": 7} {
		t.Run(name, func(t *testing.T) {
			model := Exact(t)
			peer := LlamaServer(t, model, append(tightFlags, "--n-predict", strconv.Itoa(limit))...)
			ours := Penstock(t, model, tight("scheduler.n_predict", limit))
			for _, fields := range []string{``, `,"n_predict":-1`, `,"n_predict":9`, `,"n_predict":0`, `,"n_predict":400`} {
				sameButText(t, peer, ours, fields)
			}
		})
	}
}

func TestContextShift_AsLlamaServer(t *testing.T) {
	model := Exact(t)
	peer := LlamaServer(t, model, append(tightFlags, "--context-shift")...)
	ours := Penstock(t, model, tight("scheduler.context_shift", true))
	for _, fields := range []string{`,"n_predict":200`, `,"n_predict":600`, `,"n_predict":600,"n_keep":4`, `,"n_predict":400,"n_keep":-1,"n_discard":16`} {
		sameButText(t, peer, ours, fields)
	}
}
