// SPDX-License-Identifier: MIT

package models

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

const tinyModel = hosts.BuiltIn

// drafted asks for an answer and tells its text and how many tokens of it were drafted.
func (h slotHost) drafted(body string) (text string, drafted float64, told bool) {
	h.t.Helper()
	var a struct {
		Content string
		Timings map[string]float64
	}
	status, answer := hosts.Post(h.t, h.URL()+"/completion", body)
	if err := json.Unmarshal([]byte(answer), &a); status != http.StatusOK || err != nil {
		h.t.Fatalf("%d %v %s", status, err, answer)
	}
	_, told = a.Timings["draft_n_accepted"]
	return a.Content, a.Timings["draft_n"], told
}

// A host with a draft model says what it has drafted, and the text is the same as without; a
// request may do without. The model itself is many times slower: a draft is tried once a hundredth
// of the time of the answer so far would pay for it.
func TestHost_DraftModel_SameTextAndTimings(t *testing.T) {
	shape := synth.Shape{Name: "slow", Dim: 768, Layers: 8, Heads: 12, KVHeads: 4, FFN: 2304, Context: 1024}
	slow := hosts.Written(t, "slow.gguf", func(w io.Writer) error { return synth.Write(w, shape, tinyModel, synth.Q80, 1) })
	h := slotHost{hosts.Open(t, map[string]any{"model.path": slow, "speculation.draft_model": tinyModel, "scheduler.slots": 2}), t}
	hosts.Run(t, h.Host)
	const body = `{"prompt":"Once upon a time","temperature":0,"ignore_eos":true,"n_predict":60`
	with, drafted, told := h.drafted(strings.Replace(body, "60", "150", 1) + "}")
	for range 20 { // where other programs take the processors, an answer may be over before a draft is seen to pay
		if told != (drafted > 0) || drafted > 0 {
			break
		}
		with, drafted, told = h.drafted(strings.Replace(body, "60", "150", 1) + "}")
	}
	if drafted == 0 || !told {
		t.Errorf("%v tokens are drafted, told how many were accepted: %v", drafted, told)
	}
	without, drafted, told := h.drafted(body + `,"speculative.n_max":0}`)
	if drafted != 0 || told || without == "" || !strings.HasPrefix(with, without) {
		t.Errorf("%v tokens are drafted; without %q, with %q", drafted, without, with)
	}
	none, drafted, _ := h.drafted(body + `,"speculative.p_min":1}`)
	if drafted != 0 || none != without {
		t.Errorf("%v tokens are drafted that must be sure; without %q, with those %q", drafted, without, none)
	}
	for field, want := range map[string]string{`"speculative.n_max":-1`: "speculative.n_max is -1", `"speculative.n_min":-2`: "speculative.n_min is -2",
		`"speculative.n_max":3,"speculative.n_min":4`: "must not be more than speculative.n_max, which is 3", `"speculative.p_min":1.5`: "speculative.p_min is 1.5"} {
		if status, answer := hosts.Post(t, h.URL()+"/completion", body+","+field+"}"); status != http.StatusBadRequest || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %s", field, status, answer)
		}
	}
	for path, want := range map[string]string{"/props": `"speculative.types":"draft-simple"`, "/slots": `"speculative":true`,
		"/metrics": "llamacpp:spec_decode_num_draft_tokens_total"} {
		if got := hosts.Get(t, h.URL()+path); !strings.Contains(got, want) {
			t.Errorf("%s has no %s: %s", path, want, got)
		}
	}
}

// What cannot draft is refused with the reason, and a model that cannot be drafted for is served
// without.
func TestHost_Speculation_Unfit(t *testing.T) {
	small := filepath.Join(t.TempDir(), "mamba.gguf")
	must.Do(t, synth.SmallFile(small, "mamba", 1))
	for want, change := range map[string]map[string]any{
		"its vocabulary has 256 tokens": {"speculation.draft_model": small},
		"speculation.draft_model":       {"speculation.draft_model": "no-such-model.gguf"},
		"names no model":                {"speculation.type": "draft-simple"},
	} {
		h, err := host.Open(context.Background(), host.Options{Config: hosts.Settings(t, change), Log: slog.New(slog.DiscardHandler), Version: "test"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", change, err)
		}
		if h != nil {
			_ = h.Close() // the test has failed already
		}
	}
	h := hosts.Open(t, map[string]any{"model.path": small})
	hosts.Run(t, h)
	if got := hosts.Get(t, h.URL()+"/props"); !strings.Contains(got, `"speculative.types":"none"`) {
		t.Errorf("%s", got)
	}
}
