// SPDX-License-Identifier: MIT

package api

import (
	"strings"
	"testing"
	"testing/fstest"
)

// Every GET answers HEAD, with the same status and no body.
func TestAPI_Head_AnswersAsGet(t *testing.T) {
	r := newRig(t, nil)
	for _, route := range routeTable {
		path := strings.NewReplacer(":name", "x", ":id", "x", "*", "").Replace(route.route)
		if route.method != "GET" {
			continue
		}
		want, _, _ := r.call("GET", path, "")
		if status, _, text := r.call("HEAD", path, ""); status != want || text != "" {
			t.Errorf("HEAD %s: %d %q; GET has %d", path, status, text, want)
		}
	}
}

// A route that is there for other methods says which, in each API's shape.
func TestAPI_WrongMethod_SaysTheOthers(t *testing.T) {
	for _, page := range []bool{true, false} {
		r := newRig(t, func(s *setup) {
			if page {
				s.UI = fstest.MapFS{"index.html": {}}
			}
		})
		for _, c := range []struct {
			method, path string
			status       int
			allow, says  string
		}{
			{"GET", "/v1/chat/completions", 405, "POST", `"code":"method_not_allowed"`},
			{"PUT", "/v1/chat/completions", 405, "POST", `"param":null`},
			{"POST", "/v1/models/toy", 405, "GET", `is for GET, not for POST`},
			{"DELETE", "/v1/plugins/x/y", 404, "", `"code":"not_found"`},
			{"GET", "/api/chat", 405, "POST", `{"error":"/api/chat is for POST, not for GET`},
			{"GET", "/api/copy", 404, "", `{"error":"there is no GET /api/copy here; models come from`},
			{"PATCH", "/nothing", 404, "", `there is no PATCH /nothing here`},
		} {
			status, header, body := r.call(c.method, c.path, "")
			if status != c.status || header.Get("Allow") != c.allow || !strings.Contains(body, c.says) {
				t.Errorf("%s %s, page %v: %d, Allow %q, %s", c.method, c.path, page, status, header.Get("Allow"), body)
			}
		}
	}
}
