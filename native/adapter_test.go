// SPDX-License-Identifier: MIT

package native

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
)

// loadAdapter writes an adapter for the built-in model and loads it.
func loadAdapter(t testing.TB, m *Model, a synth.Adapter) *Adapter {
	t.Helper()
	a.Model = builtIn
	path := filepath.Join(t.TempDir(), "adapter.gguf")
	file := must.Get(os.Create(path))(t)
	must.Do(t, errors.Join(a.Write(file), file.Close()))
	adapter := must.Get(LoadAdapter(m, path))(t)
	t.Cleanup(func() { closing(t, adapter) })
	return adapter
}

// rowOf computes a short text in an empty sequence and returns the logits of its last token.
func rowOf(t testing.TB, c *Context) []float32 {
	t.Helper()
	var b Batch
	for i, token := range []int32{5, 9, 200, 31} {
		b.Add(token, int32(i), 0, i == 3)
	}
	must.Do(t, c.Decode(&b))
	row := slices.Clone(c.Row(0))
	must.Do(t, c.Remove(0, -1, -1))
	return row
}

func setAdapters(t testing.TB, c *Context, adapters ...ScaledAdapter) {
	t.Helper()
	must.Do(t, c.SetAdapters(adapters))
}

func TestContext_SetAdapters_ChangeTheLogitsUntilOthersAreSet(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 64})
	a, b := loadAdapter(t, m, synth.Adapter{Seed: 1}), loadAdapter(t, m, synth.Adapter{Seed: 2, Tensors: []string{"attn_output"}})
	none := rowOf(t, c)
	var rows [][]float32
	for _, set := range [][]ScaledAdapter{{{a, 1}}, {{b, 1}}, {{a, 0.5}}, {{a, 1}, {b, 1}}} {
		setAdapters(t, c, set...)
		row := rowOf(t, c)
		for _, other := range append(rows, none) {
			if slices.Equal(row, other) {
				t.Errorf("the logits with %v are those of another set", set)
			}
		}
		rows = append(rows, row)
	}
	for _, set := range [][]ScaledAdapter{{{a, 0}}, nil, {{a, 0}, {b, 0}}} {
		setAdapters(t, c, set...)
		if !slices.Equal(rowOf(t, c), none) {
			t.Errorf("with %v the logits are not those of the model alone", set)
		}
	}
	setAdapters(t, c, ScaledAdapter{a, 1})
	if !slices.Equal(rowOf(t, c), rows[0]) {
		t.Error("set again, an adapter gives other logits")
	}
}

func TestAdapter_Close_LeavesItToTheContextThatUsesIt(t *testing.T) {
	before := LiveObjects().Adapters
	m := loadBuiltIn(t, ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 64})
	a := loadAdapter(t, m, synth.Adapter{})
	setAdapters(t, c, ScaledAdapter{a, 1})
	want := rowOf(t, c)
	closing(t, a)
	if !slices.Equal(rowOf(t, c), want) {
		t.Error("an adapter that was closed while it is set gives other logits")
	}
	if err := c.SetAdapters([]ScaledAdapter{{a, 0.5}}); !errors.Is(err, ErrClosed) {
		t.Errorf("setting a closed adapter: %v", err)
	}
	setAdapters(t, c)
	if n := LiveObjects().Adapters; n != before {
		t.Errorf("%d adapters are left, %d were there before", n, before)
	}
}

// A context that is closed frees what it used.
func TestContext_CloseWithAdapters_FreesThem(t *testing.T) {
	before := LiveObjects().Adapters
	m := loadBuiltIn(t, ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 64})
	a := loadAdapter(t, m, synth.Adapter{})
	setAdapters(t, c, ScaledAdapter{a, 1})
	closing(t, a)
	closing(t, c)
	if n := LiveObjects().Adapters; n != before {
		t.Errorf("%d adapters are left, %d were there before", n, before)
	}
}

func TestContext_SetAdaptersOfAnotherModel_IsRefused(t *testing.T) {
	m, other := loadBuiltIn(t, ModelOptions{}), loadBuiltIn(t, ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 64})
	if err := c.SetAdapters([]ScaledAdapter{{loadAdapter(t, other, synth.Adapter{}), 1}}); !errors.Is(err, ErrInvalid) {
		t.Errorf("an adapter of another model: %v", err)
	}
}

// Adapters are loaded and freed while passes run, which read the model's list of them when the set
// has changed.
func TestLoadAdapter_BesidePasses_IsSafe(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 64})
	a := loadAdapter(t, m, synth.Adapter{})
	path := filepath.Join(t.TempDir(), "beside.gguf")
	file := must.Get(os.Create(path))(t)
	must.Do(t, errors.Join(synth.Adapter{Model: builtIn, Seed: 9}.Write(file), file.Close()))
	done := make(chan error, 1)
	go func() {
		for range 20 {
			beside, err := LoadAdapter(m, path)
			if err == nil {
				err = beside.Close()
			}
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	want := rowOf(t, c)
	for i := range 20 {
		setAdapters(t, c, ScaledAdapter{a, float32(i % 2)})
		if row := rowOf(t, c); i%2 == 0 && !slices.Equal(row, want) {
			t.Fatal("the logits changed")
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestLoadAdapter_BadFile_IsAnError(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	for name, a := range map[string]synth.Adapter{
		"architecture": {Change: func(h *gguf.Header) { h.Set("general.architecture", gguf.NewString("qwen2")) }},
		"kind":         {Change: func(h *gguf.Header) { h.Set("general.type", gguf.NewString("model")) }},
		"tensor":       {Change: func(h *gguf.Header) { h.Tensors[0].Name = "elsewhere.lora_a" }},
	} {
		a.Model = builtIn
		path := filepath.Join(t.TempDir(), name+".gguf")
		file := must.Get(os.Create(path))(t)
		must.Do(t, errors.Join(a.Write(file), file.Close()))
		if _, err := LoadAdapter(m, path); !errors.Is(err, ErrFailed) {
			t.Errorf("a wrong %s: %v", name, err)
		}
	}
	if _, err := LoadAdapter(m, filepath.Join(t.TempDir(), "absent.gguf")); !errors.Is(err, ErrNotFound) {
		t.Errorf("an absent file: %v", err)
	}
}

func TestContext_SetControlVector_ChangesTheLogitsUntilItIsTakenAway(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 64})
	none := rowOf(t, c)
	width := m.Info().Embedding
	values := make([]float32, 4*width)
	for i := range values {
		values[i] = float32(i%7) / 10
	}
	set := func(values []float32, first, last int) []float32 {
		t.Helper()
		must.Do(t, c.SetControlVector(values, first, last))
		return rowOf(t, c)
	}
	all, one := set(values, 1, 4), set(values, 2, 2)
	if slices.Equal(all, none) || slices.Equal(one, none) || slices.Equal(all, one) {
		t.Error("control vectors for all layers and for one give the same logits, or those of the model alone")
	}
	if !slices.Equal(set(nil, 0, 0), none) {
		t.Error("without a control vector the logits are not those of the model alone")
	}
}
