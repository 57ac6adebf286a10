// SPDX-License-Identifier: MIT

package loading

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/fit"
	"github.com/penstock/penstock/native/gguf/synth"
)

// What a model takes is what it takes alone, and what its draft model takes with as many cells.
func TestPlan_CountsTheDraftModel(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	draft := filepath.Join(t.TempDir(), "draft.gguf")
	if err := synth.SmallFile(draft, "cohere2", 1); err != nil {
		t.Fatal(err)
	}
	plan := func(path string, more map[string]any) (fit.Plan, error) {
		flags := map[string]any{"scheduler.slots": 2, "model.kv_layout": "split", "model.ctx_size": 2048}
		maps.Copy(flags, more)
		c, err := config.Load(config.Sources{Flags: flags})
		if err != nil {
			t.Fatal(err)
		}
		return Plan(t.Context(), c, path, 1<<33)
	}
	used := func(path string, more map[string]any) uint64 {
		p, err := plan(path, more)
		if err != nil {
			t.Fatal(err)
		}
		return p.Need.Main().Used()
	}
	alone, other := used(tinyModel, nil), used(draft, map[string]any{"speculation.type": "none"})
	both := used(tinyModel, map[string]any{"speculation.draft_model": draft})
	if both < alone+other*9/10 || both > alone+other {
		t.Errorf("together they take %d bytes, alone %d and %d", both, alone, other)
	}
	if _, err := plan(tinyModel, map[string]any{"speculation.draft_model": "no-such.gguf"}); err == nil || !strings.Contains(err.Error(), "speculation.draft_model") {
		t.Errorf("a draft model that is not there: %v", err)
	}
}
