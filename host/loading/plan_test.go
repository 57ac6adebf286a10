// SPDX-License-Identifier: MIT

package loading

import (
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/fit"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
)

// fitting are the settings of the built-in model with the context and the slots that are usual, but
// for what is given. Its weights lie as in the file: laid out, they take as much more as this CPU's
// kernels have it.
func fitting(t *testing.T, flags map[string]any) config.Config {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	flags["model.threads"], flags["model.repack"] = "1", "false"
	return must.Get(config.Load(config.Sources{Flags: flags}))(t)
}

// TestOpen_LittleMemory_ServesWhatFits: slots and context become fewer, unless they were given, and
// the log says it in one line.
func TestOpen_LittleMemory_ServesWhatFits(t *testing.T) {
	for _, c := range []struct {
		flags        map[string]any
		memory       uint64 // MiB
		slots, cells int    // of the core
		says         string
	}{
		{map[string]any{}, 1 << 20, 8, 8192, "fit: 8192 cells for 8 slots take "},
		{map[string]any{}, 10, 4, 4096, "fit: 8192 cells for 8 slots do not fit beside 1.6 MiB of weights in 10.0 MiB; 4096 cells, 4 slots: "},
		{map[string]any{"model.fit_ctx": "256"}, 10, 8, 4096, "; 4096 cells, 8 slots: "},
		{map[string]any{"scheduler.slots": "8", "model.fit_ctx": "256"}, 10, 8, 4096, "; 4096 cells, 8 slots: "},
		{map[string]any{"model.fit": "off"}, 10, 8, 8192, ""},
	} {
		var log bytes.Buffer
		core := must.Get(Open(t.Context(), fitting(t, c.flags), slog.New(slog.NewTextHandler(&log, nil)), Options{memory: c.memory << 20}))(t)
		if limits := core.Engine.Info().Limits; core.Model.Compute.Slots != c.slots || limits.Cells != c.cells {
			t.Errorf("%v: %d slots, %d cells", c.flags, core.Model.Compute.Slots, limits.Cells)
		}
		if text := log.String(); !strings.Contains(text, c.says) || strings.Contains(text, "fit: ") != (c.says != "") {
			t.Errorf("%v: the log says\n%s", c.flags, text)
		}
		if err := core.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpen_BeyondMemory_IsRefused(t *testing.T) {
	for flag, says := range map[string]string{"500000000": "500000000 cells for 8 slots take ", "16384": " of 9.0 MiB; use --ctx-size "} {
		_, err := Open(t.Context(), fitting(t, map[string]any{"model.ctx_size": flag}), slog.New(slog.DiscardHandler), Options{memory: 9 << 20})
		if !errors.Is(err, model.ErrTooLarge) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s cells: %v", flag, err)
		}
	}
}

// What a model takes is what it takes alone, and what its draft model takes with as many cells.
func TestPlan_CountsTheDraftModel(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	draft := filepath.Join(t.TempDir(), "draft.gguf")
	must.Do(t, synth.SmallFile(draft, "cohere2", 1))
	plan := func(path string, more map[string]any) (fit.Plan, error) {
		flags := map[string]any{"scheduler.slots": 2, "model.kv_layout": "split", "model.ctx_size": 2048}
		maps.Copy(flags, more)
		c := must.Get(config.Load(config.Sources{Flags: flags}))(t)
		return Plan(t.Context(), c, path, 1<<33)
	}
	used := func(path string, more map[string]any) uint64 {
		p := must.Get(plan(path, more))(t)
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

// A head stays where a model without it would be served no larger, though it is not served as it is
// wished; where there is so much less memory that it would be, the head is left out.
func TestPlanSize_Head_LeftOutForALargerModelOnly(t *testing.T) {
	c := fitting(t, map[string]any{"model.path": headed(t, 32), "model.fit_ctx": "256", "model.fit_target": "1"})
	o := engineOptions(c)
	o.Path = c.Model.Path
	useHead(&c, &o.Model, o.Path)
	bare := o
	bare.Model.LoadMTP = false
	all := must.Get(planGiven(t.Context(), c, bare, 1<<33))(t)
	short := all.Need.Main().Used() + uint64(c.Model.FitTarget) - 1
	less := must.Get(planGiven(t.Context(), c, bare, short))(t)
	p := must.Get(planSize(t.Context(), c, o, short))(t)
	if !p.Model.LoadMTP || p.Slots != less.Slots || p.ContextSize != less.ContextSize || p.ContextSize == o.ContextSize {
		t.Errorf("with the head (%v) %d slots, context %d; without %d, %d: %s", p.Model.LoadMTP, p.Slots, p.ContextSize, less.Slots, less.ContextSize, p.Text)
	}
	if p = must.Get(planSize(t.Context(), c, o, short+1))(t); p.Model.LoadMTP || p.ContextSize != o.ContextSize {
		t.Errorf("a head (%v) costs a part of the context, which is %d: %s", p.Model.LoadMTP, p.ContextSize, p.Text)
	}
}
