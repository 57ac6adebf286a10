// SPDX-License-Identifier: MIT

package api

import (
	"net/http"
	"strings"
	"testing"
)

// Only the keys that the operator names may go before others; anyone may go behind them.
func TestAPI_Priority_OnlyListedKeysRaiseIt(t *testing.T) {
	open := newRig(t, nil)
	closed := newRig(t, func(s *setup) { s.Keys = keys("", []string{"first"}, "plain", "first") })
	for _, tc := range []struct {
		r             *rig
		key, priority string
		want          int
	}{
		{open, "", "1", 403}, {open, "", "0", 200}, {open, "", "-5", 200},
		{closed, "plain", "1", 403}, {closed, "plain", "-1", 200}, {closed, "first", "100", 200}, {closed, "first", "101", 400},
	} {
		body := `{"prompt":"x","max_tokens":1,"priority":` + tc.priority + `}`
		status, _, answer := tc.r.call(http.MethodPost, "/v1/completions", body, "Authorization", "Bearer "+tc.key)
		if status != tc.want || status != 200 && !strings.Contains(answer, `"param":"priority"`) {
			t.Errorf("priority %s with key %q: %d %s", tc.priority, tc.key, status, answer)
		}
	}
}

func TestSocket_Priority_OnlyListedKeysRaiseIt(t *testing.T) {
	r := newRig(t, nil)
	p := r.dial()
	p.send(`{"type":"generate","id":"a","request":{"prompt":"x","max_tokens":1,"priority":3}}`)
	if f := p.until("error"); f.Error.Code != "priority_not_allowed" || f.Error.Param != "priority" {
		t.Errorf("got %+v", f)
	}
	p.send(`{"type":"generate","id":"b","request":{"prompt":"x","max_tokens":1,"priority":-3}}`)
	if f := p.until("end"); f.ID != "b" {
		t.Errorf("got %+v", f)
	}
}

// A frame with two faults gets the error that no waiting fixes, and one with a forbidden priority
// learns nothing of how busy the server is.
func TestSocket_Priority_RefusedBeforeAFullServer(t *testing.T) {
	g := newGate()
	r := newRig(t, func(s *setup) { g.on(s); s.queue = 2048 })
	defer g.open()
	p := r.dial()
	fillDetachable(r, "")
	for priority, want := range map[int]string{3: "priority_not_allowed", 0: "too_many_detachable"} {
		p.send(`{"type":"generate","id":"a","detach_ms":60000,"request":{"prompt":"x","max_tokens":1,"priority":%d}}`, priority)
		if f := p.until("error"); f.Error.Code != want {
			t.Errorf("priority %d: got %+v, want %s", priority, f.Error, want)
		}
	}
}
