// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"testing"
	"time"

	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

func TestRedact_Rewrite_ReplacesWordsAndTellsTheDate(t *testing.T) {
	at := time.Date(2026, 2, 28, 23, 30, 0, 0, time.UTC).UnixMilli()
	for name, c := range map[string]struct{ config, messages, want string }{
		"a word":       {`{"words":["Ann","Ann Lee"],"with":"[name]"}`, `[{"role":"user","content":"I am Ann.","name":"x"}]`, `[{"role":"user","content":"I am [name].","name":"x"}]`},
		"a tool":       {`{"words":["Ann"]}`, `[{"role":"tool","content":"Ann","tool_call_id":"1"}]`, `[{"role":"tool","content":"[redacted]","tool_call_id":"1"}]`},
		"the date":     {`{"date":true}`, `[{"role":"user","content":"Hi"}]`, `[{"role":"system","content":"Today is 2026-02-28."},{"role":"user","content":"Hi"}]`},
		"both systems": {`{"date":true}`, `[{"role":"system","content":"Be kind."}]`, `[{"role":"system","content":"Today is 2026-02-28.\u000aBe kind."}]`},
	} {
		s := plugintest.Open[redact](t, plugintest.Request{Config: c.config, Messages: c.messages, Pieces: []string{"a"}, Time: at})
		if got, err := s.Rewrite(); err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, c.want)
		}
	}
}

func TestRedact_Open_WantsATime(t *testing.T) {
	_, err := plugintest.TryOpen[redact](t, plugintest.Request{Config: `{"date":true}`, Pieces: []string{"a"}})
	if !errors.Is(err, plugintest.ErrRefused) {
		t.Errorf("%v", err)
	}
}
