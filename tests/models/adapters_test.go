// SPDX-License-Identifier: MIT

package models

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tests/peer"
	"github.com/penstock/penstock/tools/must"
)

// folder is the model folder of a test's host.
func folder(t *testing.T) string {
	t.Helper()
	data := t.TempDir()
	t.Setenv("XDG_DATA_HOME", data)
	dir := filepath.Join(data, "penstock", "models")
	must.Do(t, os.MkdirAll(dir, 0o700))
	return dir
}

// call sends a request and checks its status.
func call(t *testing.T, s peer.Server, method, path, body string, status int) string {
	t.Helper()
	a := s.Call(t, method, path, body)
	if a.Status != status {
		t.Errorf("%s %s %s: %d %s, want %d", method, path, body, a.Status, a.Body, status)
	}
	return a.Body
}

// An adapter of the model folder is loaded and unloaded beside requests, by name; those that use
// it go on to their ends.
func TestAdapters_LoadedAndUnloaded_ThroughTheAPI(t *testing.T) {
	models := folder(t)
	write(t, models, "tales", synth.Adapter{Seed: 1, TaskName: "tales"})
	s := peer.Penstock(t, peer.BuiltIn, map[string]any{"server.admin_key": "secret"})
	admin := func(method, path, body string, status int) string {
		t.Helper()
		return call(t, peer.Server{URL: s.URL, Key: "secret"}, method, path, body, status)
	}
	named := `,"lora":[{"name":"tales","scale":1}]`
	none := complete(t, s, "Once upon a time", "")
	admin(http.MethodPost, "/v1/adapters", `{"name":"tales"}`, 201)
	with := complete(t, s, "Once upon a time", named)
	if with == none || complete(t, s, "Once upon a time", "") != none {
		t.Error("the adapter changes nothing, or also requests that do not name it")
	}
	admin(http.MethodPost, "/v1/adapters", `{"name":"tales"}`, 409)
	if list := call(t, s, http.MethodGet, "/v1/adapters", "", 200); !strings.Contains(list, `"name":"tales"`) || !strings.Contains(list, `"rank":4`) {
		t.Errorf("the list is %s", list)
	}
	long := make(chan string, 1)
	go func() {
		long <- completeWith(t, s, `"prompt":"Once upon a time","cache_prompt":false,"n_predict":300`+named)
	}()
	for len(long) == 0 && !strings.Contains(call(t, s, http.MethodGet, "/slots", "", 200), `"is_processing":true`) {
	}
	admin(http.MethodDelete, "/v1/adapters/tales", "", 204)
	if text := <-long; !strings.HasPrefix(text, with) {
		t.Errorf("an answer whose adapter is unloaded meanwhile is %q, it began with %q", text, with)
	}
	call(t, s, http.MethodPost, "/completion", `{"prompt":"x","n_predict":1`+named+`}`, 400)
	admin(http.MethodDelete, "/v1/adapters/tales", "", 404)
	admin(http.MethodPost, "/v1/adapters", `{"name":"tales","scale":1}`, 201)
	if again := complete(t, s, "Once upon a time", ""); again != with {
		t.Errorf("loaded again, for all, it says %q instead of %q", again, with)
	}
}

// What is wrong with a request is a 4xx that names the field, and changes nothing.
func TestAdapters_WrongRequests_AreRefused(t *testing.T) {
	models := folder(t)
	write(t, models, "good", synth.Adapter{})
	write(t, models, "foreign", synth.Adapter{Change: func(h *gguf.Header) { h.Set("general.architecture", gguf.NewString("qwen2")) }})
	write(t, models, "damaged", synth.Adapter{Change: func(h *gguf.Header) { h.Tensors = h.Tensors[:1] }})
	s := peer.Penstock(t, peer.BuiltIn, map[string]any{"server.admin_key": "secret"})
	admin := peer.Server{URL: s.URL, Key: "secret"}
	call(t, admin, http.MethodPost, "/v1/adapters", `{"name":"good"}`, 201)
	before := complete(t, s, "Once", "")
	for _, tc := range []struct {
		method, path, body string
		status             int
		param, says        string
	}{
		{"POST", "/v1/adapters", `{}`, 400, "name", "missing"},
		{"POST", "/v1/adapters", `{"name":""}`, 400, "name", "missing"},
		{"POST", "/v1/adapters", `{"name":7}`, 400, "name", "text"},
		{"POST", "/v1/adapters", `{"name":"good","scale":"1"}`, 400, "scale", "number"},
		{"POST", "/v1/adapters", `{"name":"good","scale":1e9}`, 400, "scale", "1000"},
		{"POST", "/v1/adapters", `{"name":"absent"}`, 404, "name", "absent"},
		{"POST", "/v1/adapters", `{"name":"../models/good"}`, 404, "name", "model folder"},
		{"POST", "/v1/adapters", `{"name":"foreign"}`, 422, "name", "qwen2"},
		{"POST", "/v1/adapters", `{"name":"damaged"}`, 422, "name", "absent"},
		{"DELETE", "/v1/adapters/absent", ``, 404, "name", "good"},
		{"POST", "/lora-adapters", `{"id":0,"scale":1}`, 400, "", "list"},
		{"POST", "/lora-adapters", `[{"id":0}]`, 400, "body[0].scale", "missing"},
		{"POST", "/lora-adapters", `[{"id":5,"scale":1}]`, 400, "body[0].id", "0 (good)"},
		{"POST", "/completion", `{"prompt":"x","lora":1}`, 400, "lora", "list"},
		{"POST", "/completion", `{"prompt":"x","lora":{"id":0}}`, 400, "lora", "list"},
		{"POST", "/completion", `{"prompt":"x","lora":[1]}`, 400, "lora[0]", "object"},
		{"POST", "/completion", `{"prompt":"x","lora":[{"scale":1}]}`, 400, "lora[0]", "either"},
		{"POST", "/completion", `{"prompt":"x","lora":[{"id":0,"name":"good","scale":1}]}`, 400, "lora[0]", "either"},
		{"POST", "/completion", `{"prompt":"x","lora":[{"id":0}]}`, 400, "lora[0].scale", "missing"},
		{"POST", "/completion", `{"prompt":"x","lora":[{"id":0,"scale":"1"}]}`, 400, "lora[0]", "scale"},
		{"POST", "/completion", `{"prompt":"x","lora":[{"id":0,"scale":1001}]}`, 400, "lora[0].scale", "1001"},
		{"POST", "/completion", `{"prompt":"x","lora":[{"id":0,"scale":1,"x":1}]}`, 400, "lora[0]", "x"},
		{"POST", "/completion", `{"prompt":"x","lora":[{"id":1,"scale":1}]}`, 400, "lora[0].id", "0 (good)"},
		{"POST", "/completion", `{"prompt":"x","lora":[{"name":"bad","scale":1}]}`, 400, "lora[0].name", "good"},
		{"POST", "/completion", `{"prompt":"x","lora":[{"id":0,"scale":1},{"id":0,"scale":2}]}`, 400, "lora[1]", "already"},
		{"POST", "/completion", `{"prompt":"x","lora":[{"id":0,"scale":1},{"name":"good","scale":2}]}`, 400, "lora[1]", "already"},
		{"POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"lora":[{"id":9,"scale":1}]}`, 400, "lora[0].id", "9"},
	} {
		body := call(t, admin, tc.method, tc.path, tc.body, tc.status)
		var e struct {
			Error struct{ Message, Param string }
		}
		if err := json.Unmarshal([]byte(body), &e); err != nil || e.Error.Param != tc.param || !strings.Contains(e.Error.Message, tc.says) {
			t.Errorf("%s %s: %s; want param %q and %q", tc.path, tc.body, body, tc.param, tc.says)
		}
	}
	for _, key := range []string{"", "wrong"} {
		call(t, peer.Server{URL: s.URL, Key: key}, http.MethodPost, "/v1/adapters", `{"name":"good"}`, 401)
		call(t, peer.Server{URL: s.URL, Key: key}, http.MethodDelete, "/v1/adapters/good", "", 401)
	}
	if after := complete(t, s, "Once", ""); after != before {
		t.Errorf("after the wrong requests it says %q instead of %q", after, before)
	}
}

// Adapters that cannot be loaded at the start end it with a message that names the file.
func TestAdapters_WrongFileAtTheStart_IsAnError(t *testing.T) {
	dir := t.TempDir()
	good := write(t, dir, "good", synth.Adapter{})
	foreign := write(t, dir, "foreign", synth.Adapter{Change: func(h *gguf.Header) { h.Set("general.architecture", gguf.NewString("qwen2")) }})
	for name, keys := range map[string]map[string]any{
		foreign:                                {"model.lora": []string{good, foreign}},
		filepath.Join(dir, "no.gguf"):          {"model.lora_scaled": []string{filepath.Join(dir, "no.gguf") + ":1"}},
		"named twice":                          {"model.lora": []string{good, good}},
		filepath.Join(dir, "cv.gguf"):          {"model.control_vector": []string{filepath.Join(dir, "cv.gguf")}},
		fmt.Sprintf("control vector %s", good): {"model.control_vector_scaled": []string{good + ":0.5"}},
	} {
		if err := peer.PenstockFails(t, peer.BuiltIn, keys); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: %v", keys, err)
		}
	}
}
