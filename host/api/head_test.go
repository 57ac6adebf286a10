// SPDX-License-Identifier: MIT

package api

import (
	"strings"
	"testing"
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
