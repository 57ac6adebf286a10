// SPDX-License-Identifier: MIT

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/lab/bench"
)

// A stream is right only with one end, of which nothing comes after.
func TestDialect_Read_OneEnd(t *testing.T) {
	const (
		text   = `data: {"choices":[{"text":"a"}]}` + "\n\n"
		reason = `data: {"choices":[{"text":"","finish_reason":"stop"}]}` + "\n\n"
		fault  = `data: {"error":{"code":"plugin_fault"}}` + "\n\n"
		done   = "data: [DONE]\n\n"
	)
	for name, tc := range map[string]struct {
		path, body string
		want       said
		wrong      string // part of the error
	}{
		"whole stream":            {"/v1/completions", text + ": waiting\n\n" + text + reason + done, said{text: "aa", reason: "stop"}, ""},
		"fault":                   {"/v1/completions", text + fault + done, said{text: "a", fault: `{"code":"plugin_fault"}`}, ""},
		"no end":                  {"/v1/completions", text + reason, said{}, "no end"},
		"no reason":               {"/v1/completions", text + done, said{}, "0 times"},
		"two reasons":             {"/v1/completions", text + reason + reason + done, said{}, "2 times"},
		"two ends":                {"/v1/completions", text + reason + done + done, said{}, "after the end"},
		"text after the reason":   {"/v1/completions", reason + text + done, said{}, "after the reason"},
		"unknown reason":          {"/v1/completions", `data: {"choices":[{"finish_reason":"tired"}]}` + "\n\n" + done, said{}, "tired"},
		"completion":              {"/completion", `data: {"content":"a"}` + "\n\n" + `data: {"content":"b","stop":true,"stop_type":"limit"}` + "\n\n", said{text: "ab", reason: "length"}, ""},
		"completion, two ends":    {"/completion", strings.Repeat(`data: {"stop":true,"stop_type":"eos"}`+"\n\n", 2), said{}, "after the end"},
		"responses":               {"/v1/responses", `data: {"type":"response.output_text.delta","delta":"a"}` + "\n\n" + `data: {"type":"response.incomplete","response":{"status":"incomplete"}}` + "\n\n", said{text: "a", reason: "length"}, ""},
		"messages without a stop": {"/v1/messages", `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n\n", said{}, "no end"},
		"Ollama":                  {"/api/chat", `{"message":{"content":"a"}}` + "\n" + `{"done":true,"done_reason":"stop"}` + "\n", said{text: "a", reason: "stop"}, ""},
		"Ollama, two ends":        {"/api/chat", strings.Repeat(`{"done":true,"done_reason":"stop"}`+"\n", 2), said{}, "after the end"},
	} {
		for _, d := range dialects {
			if d.path != tc.path {
				continue
			}
			got, err := d.read([]byte(tc.body), true)
			if (err != nil) != (tc.wrong != "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("%s: %v, want an error with %q", name, err, tc.wrong)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(said{})); err == nil && diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

// Frames of a WebSocket that do not fit what came before are noticed.
func TestHeard_Note_FitsWhatCameBefore(t *testing.T) {
	begun := func() *heard { return &heard{begun: true, seq: 1, said: said{text: "ab"}} }
	for name, tc := range map[string]struct {
		frame bench.Frame
		fits  bool
	}{
		"the next token":     {bench.Frame{Type: "token", Seq: 2}, true},
		"a token once more":  {bench.Frame{Type: "token", Seq: 1}, false},
		"a second start":     {bench.Frame{Type: "started"}, false},
		"what was said goes": {bench.Frame{Type: "rewound", Seq: 2, Removed: "b"}, true},
		"what was not said":  {bench.Frame{Type: "rewound", Seq: 2, Removed: "a"}, false},
	} {
		if fits := begun().note(tc.frame); fits != tc.fits {
			t.Errorf("%s: %t", name, fits)
		}
	}
}
