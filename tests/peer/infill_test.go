// SPDX-License-Identifier: MIT

package peer

import (
	"io"
	"net/http"
	"testing"

	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tests/hosts"
)

// filling writes the built-in model with tokens for filling in the middle, under names that the
// vocabulary has already.
func filling(t *testing.T, repository bool) string {
	t.Helper()
	kinds := []string{"pre", "suf", "mid"}
	if repository {
		kinds = append(kinds, "rep", "sep")
	}
	return hosts.Written(t, "filling.gguf", func(w io.Writer) error {
		return synth.Edit(w, Exact(t), func(h *gguf.Header) {
			for i, kind := range kinds {
				h.Set("tokenizer.ggml.fim_"+kind+"_token_id", gguf.NewUint32(uint32(3+i)))
			}
		})
	})
}

func TestInfill_AsLlamaServer(t *testing.T) {
	for name, repository := range map[string]bool{"gap only": false, "with a repository": true} {
		t.Run(name, func(t *testing.T) {
			path := filling(t, repository)
			peer, ours := LlamaServer(t, path, "--alias", "tiny"), Penstock(t, path, map[string]any{"model.alias": "tiny"})
			for _, body := range []string{
				`{"input_prefix":"Once upon a time","input_suffix":"lived happily.","n_predict":8,"temperature":0}`,
				`{"input_prefix":"","input_suffix":"","n_predict":4,"temperature":0,"return_tokens":true}`,
				`{"input_prefix":"The frog ","input_suffix":" home.","prompt":"went","n_predict":8,"temperature":0,"stream":true}`,
				`{"input_prefix":"a","input_suffix":"b","input_extra":[{"text":"The king.","filename":"king.txt"},{"text":"The queen."}],"n_predict":4,"temperature":0}`,
				`{"input_prefix":"a","input_suffix":"b","input_extra":[],"n_predict":4,"temperature":0,"n_probs":2}`,
			} {
				compare(t, request{path: "/infill", body: body}, peer, ours)
				if a := ours.Call(t, http.MethodPost, "/infill", body); a.Status != http.StatusOK {
					t.Errorf("%s: %+v", body, a)
				}
			}
			for field, body := range map[string]string{
				"input_prefix": `{"input_suffix":"b"}`, "input_suffix": `{"input_prefix":"b"}`,
				"input_extra": `{"input_prefix":"a","input_suffix":"b","input_extra":"c"}`, "text": `{"input_prefix":"a","input_suffix":"b","input_extra":[{"filename":"c"}]}`,
				"filename": `{"input_prefix":"a","input_suffix":"b","input_extra":[{"text":"c","filename":3}]}`,
			} {
				compare(t, request{path: "/infill", body: body, field: field}, peer, ours)
			}
		})
	}
}
