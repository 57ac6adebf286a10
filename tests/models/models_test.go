// SPDX-License-Identifier: MIT

package models

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// serveSeveral runs a host for a model folder.
func serveSeveral(t *testing.T, change map[string]any) *host.Host {
	t.Helper()
	flags := map[string]any{"models.dir": hosts.ModelFolder(t), "server.admin_key": "secret", "scheduler.slots": "2"}
	for k, v := range change {
		flags[k] = v
	}
	h := hosts.Open(t, flags)
	hosts.Run(t, h)
	return h
}

// command sends a body and returns the status and the answer.
func command(t *testing.T, h *host.Host, path, body string) (int, map[string]any) {
	t.Helper()
	return exchange(t, hosts.NewRequest(t, http.MethodPost, h.URL()+path, []byte(body), "Content-Type", "application/json", "Authorization", "Bearer secret"))
}

// lookUp gets a route and returns the answer.
func lookUp(t *testing.T, h *host.Host, path string) string {
	t.Helper()
	_, answer := exchange(t, hosts.NewRequest(t, http.MethodGet, h.URL()+path, nil))
	return fmt.Sprint(answer)
}

func exchange(t *testing.T, request *http.Request) (status int, answer map[string]any) {
	t.Helper()
	status, _, body := hosts.Send(t, http.DefaultClient, request)
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return status, answer
}

// sayOf asks a model for some tokens; "" names none.
func sayOf(t *testing.T, h *host.Host, model string) (status int, answeredBy, text string) {
	t.Helper()
	status, answer := command(t, h, "/v1/completions", fmt.Sprintf(`{"model":%q,"prompt":"Once upon","max_tokens":8,"temperature":0}`, model))
	if status != http.StatusOK {
		return status, "", fmt.Sprint(answer["error"])
	}
	return status, answer["model"].(string), fmt.Sprint(answer["choices"])
}

// states are the models of /v1/models with what they do.
func states(t *testing.T, h *host.Host) map[string]string {
	t.Helper()
	_, answer := exchange(t, hosts.NewRequest(t, http.MethodGet, h.URL()+"/v1/models", nil))
	out := map[string]string{}
	for _, entry := range answer["data"].([]any) {
		e := entry.(map[string]any)
		status := e["status"].(map[string]any)
		out[e["id"].(string)] = status["value"].(string)
		if status["failed"] == true {
			out[e["id"].(string)] += " failed"
		}
	}
	return out
}

func TestHost_SeveralModels_LoadedOnFirstUse(t *testing.T) {
	h := serveSeveral(t, map[string]any{"models.max": "2"})
	want := map[string]string{"window": "unloaded", "state": "unloaded", "tale": "unloaded", "broken": "unloaded failed"}
	if diff := cmp.Diff(want, states(t, h)); diff != "" {
		t.Errorf("before any request:\n%s", diff)
	}
	texts := map[string]string{}
	for _, name := range []string{"window", "state", "window:latest", "tale"} {
		status, by, text := sayOf(t, h, name)
		if status != http.StatusOK || by != strings.TrimSuffix(name, ":latest") {
			t.Fatalf("%s: %d by %q: %s", name, status, by, text)
		}
		texts[by] = text
	}
	if texts["window"] == texts["state"] || texts["state"] == texts["tale"] {
		t.Errorf("different models say %v", texts)
	}
	want = map[string]string{"window": "loaded", "state": "unloaded", "tale": "loaded", "broken": "unloaded failed"}
	if diff := cmp.Diff(want, states(t, h)); diff != "" {
		t.Errorf("after the third model with room for two:\n%s", diff)
	}
	if _, _, again := sayOf(t, h, "state"); again != texts["state"] {
		t.Errorf("loaded again it says %s, before %s", again, texts["state"])
	}
	for _, name := range []string{"state", "tale"} {
		line := `penstock_generation_tokens_total{model_name="` + name + `"} 8`
		hosts.Await(t, func() bool { return strings.Contains(hosts.Get(t, h.URL()+"/metrics"), line) }) // counted once the answer is on its way
	}
}

func TestHost_SeveralModels_BadNamesAndBrokenOnes(t *testing.T) {
	h := serveSeveral(t, nil)
	stop := keepAnswering(t, h, "tale")
	for _, tc := range []struct {
		model  string
		status int
		says   string
	}{
		{"absent", http.StatusNotFound, `"broken", "state", "tale", "window"`},
		{"", http.StatusBadRequest, "model is missing"},
		{"broken", http.StatusUnprocessableEntity, "cannot be loaded"},
		{"broken", http.StatusUnprocessableEntity, "cannot be loaded"},
		{"../tale", http.StatusNotFound, "there is no model"},
	} {
		if status, _, text := sayOf(t, h, tc.model); status != tc.status || !strings.Contains(text, tc.says) {
			t.Errorf("%q: %d %s, want %d and %q", tc.model, status, text, tc.status, tc.says)
		}
	}
	if status, answer := command(t, h, "/api/show", `{"model":"broken"}`); status != http.StatusUnprocessableEntity || !strings.Contains(fmt.Sprint(answer), "cut off") {
		t.Errorf("shown as Ollama does: %d %v", status, answer)
	}
	if answer := lookUp(t, h, "/api/tags"); strings.Contains(answer, "broken") || !strings.Contains(answer, "tale:latest") {
		t.Errorf("Ollama's list: %s", answer)
	}
	if answer := lookUp(t, h, "/v1/models/broken"); !strings.Contains(answer, "created:0 ") {
		t.Errorf("when it was made: %s", answer)
	}
	if status, answer := command(t, h, "/v1/completions", `{"model":"state","prompt":"x","timeout_ms":1}`); status != http.StatusUnprocessableEntity || !strings.Contains(fmt.Sprint(answer), "timeout_ms") {
		t.Errorf("without time to load: %d %v", status, answer)
	}
	if status, _, text := sayOf(t, h, "window"); status != http.StatusOK {
		t.Errorf("a sound one then: %d %s", status, text)
	}
	stop()
}

// keepAnswering lets a model answer until stop is called, and checks that each answer is as the
// first.
func keepAnswering(t *testing.T, h *host.Host, model string) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	_, _, first := sayOf(t, h, model)
	group.Go(func() {
		for ctx.Err() == nil {
			if status, _, text := sayOf(t, h, model); status != http.StatusOK || text != first {
				t.Errorf("meanwhile %s says %d %s, before %s", model, status, text, first)
				return
			}
		}
	})
	return func() { cancel(); group.Wait() }
}

func TestHost_SeveralModels_LoadAndUnload(t *testing.T) {
	h := serveSeveral(t, nil)
	for _, step := range []struct {
		path, body string
		status     int
		says, then string
	}{
		{"/models/load", `{"model":"tale"}`, http.StatusOK, "true", "loaded"},
		{"/models/load", `{"model":"tale"}`, http.StatusOK, "true", "loaded"},
		{"/models/unload", `{"model":"tale"}`, http.StatusOK, "true", "unloaded"},
		{"/models/unload", `{"model":"tale"}`, http.StatusOK, "true", "unloaded"},
		{"/api/show", `{"model":"tale:latest"}`, http.StatusOK, "llama.context_length", "unloaded"},
		{"/api/generate", `{"model":"tale:latest"}`, http.StatusOK, "done_reason:load", "loaded"},
		{"/api/generate", `{"model":"tale:latest","keep_alive":0}`, http.StatusOK, "done_reason:unload", "unloaded"},
		{"/api/chat", `{"model":"tale",` + hosts.Frog + `,"stream":false,"ignore_eos":true,"options":{"num_predict":2}}`, http.StatusOK, "done_reason:length", "loaded"},
		{"/api/chat", `{"model":"tale",` + hosts.Frog + `,"stream":false,"ignore_eos":true,"options":{"num_predict":2},"keep_alive":"0s"}`, http.StatusOK, "done_reason:length", "unloaded"},
		{"/models/load", `{}`, http.StatusBadRequest, "model is missing", "unloaded"},
		{"/models/load", `{"model":"none"}`, http.StatusNotFound, "there is no model", "unloaded"},
		{"/models/load", `{"model":"broken"}`, http.StatusUnprocessableEntity, "cannot be loaded", "unloaded"},
	} {
		status, answer := command(t, h, step.path, step.body)
		if status != step.status || !strings.Contains(fmt.Sprint(answer), step.says) || states(t, h)["tale"] != step.then {
			t.Errorf("%s %s: %d %v, then %v", step.path, step.body, status, answer, states(t, h))
		}
	}
}

func TestHost_SeveralModels_FirstOneStays(t *testing.T) {
	h := serveSeveral(t, map[string]any{"model.path": "tale", "models.max": "2", "models.idle": "1ms"})
	if status, by, _ := sayOf(t, h, ""); status != http.StatusOK || by != "tale" {
		t.Errorf("without a name: %d by %q", status, by)
	}
	for _, name := range []string{"window", "state"} {
		if status, by, text := sayOf(t, h, name); status != http.StatusOK || by != name {
			t.Errorf("%s: %d by %q: %s", name, status, by, text)
		}
	}
	hosts.Await(t, func() bool { // idle models go
		got := states(t, h)
		return got["state"] == "unloaded" && got["window"] == "unloaded"
	})
	if got := states(t, h); got["tale"] != "loaded" {
		t.Errorf("got %v", got)
	}
	if status, answer := command(t, h, "/models/unload", `{"model":"tale"}`); status != http.StatusConflict {
		t.Errorf("unloading it: %d %v", status, answer)
	}
}

// The model that --model names leaves too where that is asked for, and comes back with the next
// request; meanwhile the host is ready and tells of it what it did.
func TestHost_FirstModel_IdleMain_UnloadsAndLoadsAgain(t *testing.T) {
	h := hosts.Open(t, map[string]any{"models.idle_main": "1ms", "server.admin_key": "secret"})
	hosts.Run(t, h)
	_, by, want := sayOf(t, h, "")
	for range 3 {
		hosts.Await(t, func() bool { return strings.Contains(lookUp(t, h, "/v1/models"), "value:unloaded") })
		if answer := lookUp(t, h, "/v1/models"); !strings.Contains(answer, "built_in:true") {
			t.Errorf("of the model that is gone: %s", answer)
		}
		if answer := lookUp(t, h, "/health"); !strings.Contains(answer, "ok") {
			t.Errorf("health: %s", answer)
		}
		if status, again, text := sayOf(t, h, ""); status != http.StatusOK || again != by || text != want {
			t.Errorf("%d by %q: %s, want %s", status, again, text, want)
		}
	}
	hosts.Await(t, func() bool { // its last request may not be over yet
		status, _ := command(t, h, "/models/unload", fmt.Sprintf(`{"model":%q}`, by))
		return status == http.StatusOK
	})
}

func TestHost_SeveralModels_NamedInTheFile(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := hosts.ModelFolder(t)
	file := filepath.Join(t.TempDir(), "penstock.yaml")
	text := fmt.Sprintf("server: {listen: '127.0.0.1:0'}\nmodel: {threads: 1}\nmodels:\n  short: {path: %q, ctx_size: 256, slots: 1, alias: [brief]}\n  tale: {path: %q}\n",
		filepath.Join(dir, "window.gguf"), filepath.Join(dir, "tale.gguf"))
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	c := must.Get(config.Load(config.Sources{File: file}))(t)
	h := hosts.OpenConfig(t, c)
	hosts.Run(t, h)
	for _, name := range []string{"short", "brief"} {
		if answer := lookUp(t, h, "/v1/models/"+name); !strings.Contains(answer, "aliases:[brief]") || !strings.Contains(answer, "value:unloaded") {
			t.Errorf("%s before it is loaded: %s", name, answer)
		}
	}
	for name, want := range map[string]string{"short": "short", "brief": "short", "tale": "tale"} {
		if status, by, text := sayOf(t, h, name); status != http.StatusOK || by != want {
			t.Errorf("%s: %d by %q: %s", name, status, by, text)
		}
	}
	for _, tc := range []struct{ path, body, says string }{
		{"/tokenize", `{"model":"tale","content":"Once"}`, "tokens:[525]"},
		{"/detokenize", `{"model":"tale","tokens":[525]}`, "content:Once"},
		{"/tokenize", `{"content":"Once"}`, "model is missing"},
		{"/tokenize", `{"model":"none","content":"Once"}`, "there is no model"},
	} {
		if _, answer := command(t, h, tc.path, tc.body); !strings.Contains(fmt.Sprint(answer), tc.says) {
			t.Errorf("%s %s: %v", tc.path, tc.body, answer)
		}
	}
	status, answer := command(t, h, "/v1/completions", `{"model":"short","prompt":"`+strings.Repeat("x", 400)+`"}`)
	if status != http.StatusBadRequest || !strings.Contains(fmt.Sprint(answer), "256") {
		t.Errorf("beyond its own context: %d %v", status, answer)
	}
	if got := states(t, h); len(got) != 2 {
		t.Errorf("the models are %v", got)
	}
}

// TestHost_SeveralModels_OneEmbeds: a model that only makes embeddings does that beside others,
// and refuses to write.
func TestHost_SeveralModels_OneEmbeds(t *testing.T) {
	dir := hosts.ModelFolder(t)
	must.Do(t, synth.SmallFile(filepath.Join(dir, "encoder.gguf"), "bert", 1))
	h := serveSeveral(t, map[string]any{"models.dir": dir})
	status, answer := command(t, h, "/v1/embeddings", `{"model":"encoder","input":"frog"}`)
	if status != http.StatusOK || answer["model"] != "encoder" {
		t.Errorf("embeddings: %d %v", status, answer)
	}
	if status, _, text := sayOf(t, h, "encoder"); status != http.StatusBadRequest || !strings.Contains(text, "generates no text") {
		t.Errorf("text: %d %s", status, text)
	}
	if status, by, text := sayOf(t, h, "tale"); status != http.StatusOK || by != "tale" {
		t.Errorf("text of another: %d by %q: %s", status, by, text)
	}
}

// An alias without a model to have it names nothing.
func TestHost_SeveralModels_AliasOfNothing(t *testing.T) {
	h := serveSeveral(t, map[string]any{"model.alias": "pet"})
	if status, answer := command(t, h, "/v1/completions", `{"model":"pet","prompt":"Once"}`); status != http.StatusNotFound {
		t.Errorf("%d %v", status, answer)
	}
}

// The page tells a first visitor that a model is only the demonstration. A copy of it in a file is
// a model of one's own.
func TestHost_Models_SayWhichIsBuiltIn(t *testing.T) {
	const mark = `"built_in":true`
	h := hosts.Open(t, nil)
	hosts.Run(t, h)
	for path, count := range map[string]int{"/v1/models": 2, "/v1/models/penstock-tiny": 1, "/v1/models/penstock-tiny-vision": 1} {
		if text := hosts.Get(t, h.URL()+path); strings.Count(text, mark) != count {
			t.Errorf("%s of the built-in model: %s", path, text)
		}
	}
	own := serveSeveral(t, nil)
	if text := hosts.Get(t, own.URL()+"/v1/models"); strings.Contains(text, "built_in") {
		t.Errorf("of models in a folder: %s", text)
	}
}
