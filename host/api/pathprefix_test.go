// SPDX-License-Identifier: MIT

package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/coder/websocket"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/tools/must"
)

// Every route, the page and the WebSocket are below the prefix, and nothing is elsewhere.
func TestAPI_Prefix_BeforeAllRoutes(t *testing.T) {
	r := newRig(t, func(s *setup) { s.Prefix = "/llm/v2" })
	for path, want := range map[string]string{
		"/health": `"status":"ok"`, "/livez": "ok", "/v1/models/toy": `"object":"model"`, "/props": `"total_slots":4`, "/": "<p>hello", "/assets/a-1.js": "1",
	} {
		if status, _, body := r.call(http.MethodGet, "/llm/v2"+path, ""); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, _, body := r.call(http.MethodGet, "/l%6cm/v2/v1/models", ""); status != 200 || !strings.Contains(body, `"id":"toy"`) {
		t.Errorf("with the prefix escaped: %d %s", status, body)
	}
	for _, path := range []string{"/", "/health", "/v1/models", "/llm", "/llm/v2x/health", "/llm/v2health", "/llm/v2/llm/v2/health", "/llm/v2/../../health"} {
		status, header, body := r.call(http.MethodGet, path, "")
		if status != 404 || !strings.Contains(body, `"error"`) || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %s %v", path, status, body, header)
		}
	}
	var answer map[string]any
	r.post("/llm/v2/v1/completions", `{"prompt":"hi","max_tokens":2}`, &answer)
	if status, _, _ := r.call(http.MethodHead, "/llm/v2/health", ""); status != 200 {
		t.Errorf("HEAD: %d", status)
	}
	conn, _ := must.Both(websocket.Dial(t.Context(), r.url+"/llm/v2/v1/ws", nil))(t)
	_ = conn.CloseNow()
	if _, _, err := websocket.Dial(t.Context(), r.url+"/v1/ws", nil); err == nil {
		t.Error("a WebSocket outside of the prefix")
	}
}

// The page asks for its files relative to its address, so that address ends with a slash.
func TestAPI_Prefix_PageEndsWithSlash(t *testing.T) {
	r := newRig(t, func(s *setup) { s.Prefix = "/llm/v2" })
	for path, want := range map[string]string{"/llm/v2": "./v2/", "/llm/v2?a=b": "./v2/?a=b"} {
		a := httptest.NewRecorder()
		r.handler.ServeHTTP(a, httptest.NewRequest(http.MethodGet, path, nil))
		if a.Code != http.StatusTemporaryRedirect || a.Header().Get("Location") != want {
			t.Errorf("%s: %d %q", path, a.Code, a.Header().Get("Location"))
		}
	}
	if status, _, body := r.call(http.MethodGet, "/llm/v2", ""); status != 200 || body != "<p>hello" {
		t.Errorf("followed: %d %s", status, body)
	}
	if status, _, _ := r.call(http.MethodPost, "/llm/v2", "{}"); status != 404 {
		t.Errorf("POST: %d", status)
	}
}

// Files of the operator's own lie in folders, and have no policy but their own.
func TestAPI_OwnUI(t *testing.T) {
	for _, prefix := range []string{"", "/llm"} {
		r := newRig(t, func(s *setup) {
			s.Prefix, s.OwnUI = prefix, true
			s.UI = fstest.MapFS{"index.html": {Data: []byte("mine")}, "sub/index.html": {Data: []byte("below")}, "sub/a.js": {Data: []byte("1")}, "bare/b.txt": {Data: []byte("2")}}
		})
		for path, want := range map[string]string{"/": "mine", "/index.html": "mine", "/sub/": "below", "/sub": "below", "/sub/index.html": "below", "/sub/a.js": "1", "/bare/b.txt": "2",
			"/health": `{"status":"ok"}`} {
			status, header, body := r.call(http.MethodGet, prefix+path, "")
			if status != 200 || strings.TrimSpace(body) != want || header.Get("Content-Security-Policy") != "" {
				t.Errorf("%s: %d %q %v", path, status, body, header)
			}
		}
		for _, path := range []string{"/bare/", "/bare", "/none", "/sub//a.js", "/../x"} {
			if status, _, body := r.call(http.MethodGet, prefix+path, ""); status != 404 {
				t.Errorf("%s: %d %q", path, status, body)
			}
		}
	}
}

// llama-server's flags for three of its routes.
func TestAPI_SlotsMetricsAndProps_Switched(t *testing.T) {
	r := newRig(t, func(s *setup) { s.NoSlots, s.Props = true, true })
	for _, route := range []string{"slots", "metrics"} {
		refused := "This server does not support " + route + " endpoint. Start it with `--" + route + "`"
		status, _, body := r.call(http.MethodGet, "/"+route, "")
		if status != http.StatusNotImplemented || !strings.Contains(body, refused) || !strings.Contains(body, `"code":501`) || !strings.Contains(body, `"type":"not_supported_error"`) {
			t.Errorf("%s: %d %s", route, status, body)
		}
	}
	if status, _, body := r.call(http.MethodPost, "/props", `{}`); status != 200 || strings.TrimSpace(body) != `{"success":true}` {
		t.Errorf("props: %d %s", status, body)
	}
	_, _, body := r.call(http.MethodGet, "/props", "")
	if !strings.Contains(body, `"endpoint_slots":false`) || !strings.Contains(body, `"endpoint_metrics":false`) || !strings.Contains(body, `"endpoint_props":true`) {
		t.Errorf("GET /props: %s", body)
	}
	_, _, body = newRig(t, func(s *setup) { s.Metrics = http.NotFoundHandler() }).call(http.MethodGet, "/props", "")
	if !strings.Contains(body, `"endpoint_slots":true`) || !strings.Contains(body, `"endpoint_metrics":true`) || !strings.Contains(body, `"endpoint_props":false`) {
		t.Errorf("GET /props as usual: %s", body)
	}
}

func TestAPI_Props_SaysWhereTheTemplateIsMissing(t *testing.T) {
	for _, missing := range []bool{false, true} {
		r := newRig(t, func(s *setup) {
			s.wrap = func(one servingtest.OneModel) serving.Models {
				one.Model.Template.Assumed = missing
				return one
			}
		})
		_, _, body := r.call(http.MethodGet, "/props", "")
		if strings.Contains(body, `"chat_template_fallback":"chatml"`) != missing {
			t.Errorf("missing %t: %s", missing, body)
		}
	}
}
