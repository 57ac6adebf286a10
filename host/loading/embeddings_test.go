// SPDX-License-Identifier: MIT

package loading

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/engine"
)

// What cannot be opened is refused at the start, with what to do.
func TestOpen_Embeddings_WrongModels(t *testing.T) {
	for name, tc := range map[string]struct {
		change map[string]any
		want   string
	}{
		"a reranker for embeddings": {map[string]any{"embedding.model": smallModel(t, "reranker")}, "--rerank-model"},
		"an encoder for scores":     {map[string]any{"rerank.model": smallModel(t, "bert")}, "classifier"},
		"the built-in for scores":   {map[string]any{"rerank.enabled": true}, "--rerank-model"},
		"an encoder to chat":        {map[string]any{"model.path": smallModel(t, "bert")}, engine.ErrNotGenerating.Error()},
		"no file":                   {map[string]any{"embedding.model": "absent.gguf"}, "absent.gguf"},
	} {
		t.Run(name, func(t *testing.T) {
			core, err := Open(t.Context(), settings(t, tc.change), slog.New(slog.DiscardHandler), Options{})
			if err == nil {
				t.Fatal("opened", core.Close())
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q in it", err, tc.want)
			}
		})
	}
}
