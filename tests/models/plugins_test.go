// SPDX-License-Identifier: MIT

package models

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// ofVocabulary is a plugin that can be warmed for a vocabulary of n tokens alone, and chooses a
// token.
func ofVocabulary(name string, n, token int) []byte {
	g := asm.New(fmt.Sprintf(`{"name":%q,"view":"none"}`, name)).On(abi.ExportSample, asm.I32(token)).Put(4096, "it is made for another vocabulary")
	return g.On(abi.ExportWarm, asm.I32(4096), asm.I32(33), g.Call(abi.ImportFail),
		g.Call(abi.ImportVocabSize), asm.I32(n), asm.Equal, asm.EqualZero).Wasm()
}

// sayWith asks a model for 5 tokens with plugins, and returns the status and either the text or
// the error's code and message.
func sayWith(t *testing.T, h *host.Host, model, plugins string) (int, string) {
	t.Helper()
	status, answer := command(t, h, "/v1/completions",
		fmt.Sprintf(`{"model":%q,"prompt":"Once","max_tokens":5,"temperature":0,"ignore_eos":true,"plugins":%s}`, model, plugins))
	if problem, ok := answer["error"].(map[string]any); ok {
		return status, fmt.Sprint(problem["code"], " ", problem["message"])
	}
	return status, answer["choices"].([]any)[0].(map[string]any)["text"].(string)
}

// pluginsOf lists the plugins: for each its state and the models that it cannot be used with.
func pluginsOf(t *testing.T, h *host.Host) map[string]string {
	t.Helper()
	var list struct {
		Data []struct {
			Name, State string
			ModelErrors []struct{ Model, Error string } `json:"model_errors"`
		}
	}
	must.Do(t, json.Unmarshal([]byte(hosts.Get(t, h.URL()+"/v1/plugins")), &list))
	out := map[string]string{}
	for _, p := range list.Data {
		out[p.Name] = p.State
		for _, e := range p.ModelErrors {
			out[p.Name] += " not " + e.Model + ": " + e.Error
		}
	}
	return out
}

// statesIn are the states of plugins as those who watch a model see them.
func statesIn(t *testing.T, h *host.Host, model string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, m := range hosts.Live(t, h) {
		if m.Name == model {
			for _, p := range m.Plugins {
				out[p.Name] = p.State
			}
		}
	}
	return out
}

// A plugin is uploaded while no model is loaded. Each model that is loaded later uses it, unless
// it cannot: that one alone says so.
func TestHost_Plugins_BeforeAnyModel(t *testing.T) {
	dir := t.TempDir()
	h := serveSeveral(t, map[string]any{"plugins.dir": dir, "plugins.scripts": "off"})
	if all := hosts.Live(t, h); len(all) > 0 {
		t.Fatalf("loaded: %+v", all)
	}
	size := hosts.Vocabulary(t).Info().Vocabulary // of tale, which is the built-in model
	for _, m := range [][]byte{hosts.Always("always", 70), hosts.Example(t, "multiple-choice"), ofVocabulary("tales", size, 70)} {
		if status, body := hosts.Admin(t, h, http.MethodPost, "/v1/plugins", m); status != http.StatusCreated {
			t.Fatalf("%d %s", status, body)
		}
	}
	want := map[string]string{"always": "ready", "multiple-choice": "ready", "tales": "ready"}
	if diff := cmp.Diff(want, pluginsOf(t, h)); diff != "" {
		t.Errorf("before any model:\n%s", diff)
	}
	status, text := sayWith(t, h, "tale", `["always"]`)
	if status != http.StatusOK || text != strings.Repeat(hosts.Piece(t, 70), 5) {
		t.Errorf("the first request: %d %q", status, text)
	}
	if status, again := sayWith(t, h, "tale", `["tales"]`); status != http.StatusOK || again != text {
		t.Errorf("what the vocabulary fits: %d %q", status, again)
	}
	if status, text := sayWith(t, h, "tale", `[{"name":"multiple-choice","config":{"choices":["yes","no"]}}]`); status != http.StatusOK || text != "yes" && text != "no" {
		t.Errorf("a real plugin: %d %q", status, text)
	}

	status, text = sayWith(t, h, "window", `["tales"]`)
	if status != http.StatusBadRequest || !strings.Contains(text, `plugin_failed plugin "tales" cannot be used with the model "window"`) || !strings.Contains(text, "another vocabulary") {
		t.Errorf("what another model cannot use: %d %s", status, text)
	}
	if status, text := sayWith(t, h, "window", `["always"]`); status != http.StatusOK || text == "" {
		t.Errorf("what it can: %d %s", status, text)
	}
	want["tales"] = "ready not window: plugin tales refuses the request: it is made for another vocabulary"
	if diff := cmp.Diff(want, pluginsOf(t, h)); diff != "" {
		t.Errorf("with two models:\n%s", diff)
	}
	for model, state := range map[string]string{"tale": "ready", "window": "failed"} {
		if got := statesIn(t, h, model)["tales"]; got != state {
			t.Errorf("with %s it is %s", model, got)
		}
	}
	if status, again := sayWith(t, h, "tale", `["tales"]`); status != http.StatusOK || again == "" {
		t.Errorf("the first model, after all: %d %q", status, again)
	}
}

// memoryInUse is the memory of all plugins' instances, as the metrics write it.
func memoryInUse(t *testing.T, h *host.Host) string {
	t.Helper()
	_, rest, _ := strings.Cut(hosts.Get(t, h.URL()+"/metrics"), "\npenstock_plugin_memory_bytes ")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// Two models use one plugin: it is loaded once, and its instances for both count in one budget.
func TestHost_Plugins_OneBudgetForAllModels(t *testing.T) {
	large := asm.New(`{"name":"large"}`).On(abi.ExportPrepare, asm.I32(0))
	large.Pages = 32
	h := serveSeveral(t, map[string]any{"plugins.dir": t.TempDir(), "plugins.memory": "3MiB"})
	if status, body := hosts.Admin(t, h, http.MethodPost, "/v1/plugins", large.Wasm()); status != http.StatusCreated {
		t.Fatalf("%d %s", status, body)
	}
	for _, model := range []string{"tale", "window"} {
		if status, text := sayWith(t, h, model, `["large"]`); status != http.StatusOK {
			t.Fatalf("alone, %s: %d %s", model, status, text)
		}
		hosts.Await(t, func() bool { return memoryInUse(t, h) == "0" }) // once its instance is closed
	}
	c := hosts.Dial(t, h) // an answer that is paused keeps its instance
	c.Send(`{"type":"generate","id":"a","request":{"model":"tale","prompt":"Once","ignore_eos":true,"plugins":["large"]}}`)
	c.Until("token")
	c.Send(`{"type":"pause","id":"a"}`)
	if used := memoryInUse(t, h); used != "2.097152e+06" {
		t.Errorf("the metrics do not tell of one instance but of %s bytes", used)
	}
	if status, text := sayWith(t, h, "window", `["large"]`); status != http.StatusServiceUnavailable || !strings.Contains(text, "plugins.memory") {
		t.Errorf("while another model's request has the memory: %d %s", status, text)
	}
	c.Send(`{"type":"cancel","id":"a"}`)
	c.Until("end")
	hosts.Await(t, func() bool { return memoryInUse(t, h) == "0" })
	if status, text := sayWith(t, h, "window", `["large"]`); status != http.StatusOK {
		t.Errorf("afterwards: %d %s", status, text)
	}
}

// Plugins are replaced while models are loaded and unloaded and answer.
func TestHost_Plugins_ReplacedWhileModelsLoad(t *testing.T) {
	h := serveSeveral(t, map[string]any{"plugins.dir": t.TempDir(), "models.max": "1"})
	upload := func(token int) {
		if status, body := hosts.Admin(t, h, http.MethodPost, "/v1/plugins", hosts.Always("always", token)); status != http.StatusOK && status != http.StatusCreated {
			t.Errorf("%d %s", status, body)
		}
	}
	upload(70)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			upload(70 + i%2)
		}
	})
	for range 3 {
		for _, model := range []string{"tale", "window"} {
			if status, text := sayWith(t, h, model, `["always"]`); status != http.StatusOK || text == "" {
				t.Errorf("%s: %d %q", model, status, text)
			}
		}
	}
	cancel()
	group.Wait()
}
