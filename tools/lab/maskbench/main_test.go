// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
)

const integers = `{"name": "right", "schema": {"type": "integer"}, "tests": [{"valid": true, "data": 17}, {"valid": false, "data": "a"}]}
{"name": "valid", "schema": {"type": "integer"}, "tests": [{"valid": true, "data": "a"}, {"valid": true, "data": 1}]}
{"name": "invalid", "schema": {"type": "object", "properties": {"b": {}, "a": {}}, "additionalProperties": false}, "tests": [{"valid": true, "data": {"a": 1}}, {"valid": false, "data": {"b": 1, "a": [1, 2]}}]}
{"name": "no schema", "schema": {"type": "anything"}, "tests": [{"valid": true, "data": 1}]}
`

func TestRun_TellsWhatBecameOfEachSchema(t *testing.T) {
	vocabulary := filepath.Join(t.TempDir(), "model.gguf")
	must.Do(t, synth.SmallFile(vocabulary, "mamba", 1))
	for name, flags := range map[string][]string{"bytes": nil, "tokens": {"-vocabulary", vocabulary}, "any order": {"-order", "any", "-processor"}} {
		t.Run(name, func(t *testing.T) {
			list := filepath.Join(t.TempDir(), "list")
			var out bytes.Buffer
			must.Do(t, run(append(flags, "-list", list), strings.NewReader(integers), &out))
			text := must.Get(os.ReadFile(list))(t)
			got := map[string]string{}
			for line := range bytes.Lines(text) {
				var r result
				must.Do(t, json.Unmarshal(line, &r))
				got[r.Name] = r.Result
			}
			want := map[string]string{"right": passed, "valid": forbidden, "invalid": allowed, "no schema": refused}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(out.String(), "of 4 valid instances of schemas that were read 1 are not possible") {
				t.Errorf("the report is\n%s", out.String())
			}
			if masks := strings.Contains(out.String(), "mask "); masks != (name == "tokens") {
				t.Errorf("times of masks: %v\n%s", masks, out.String())
			}
		})
	}
}

func TestRun_ToolTakesObjectsOnly(t *testing.T) {
	var out bytes.Buffer
	must.Do(t, run([]string{"-tool"}, strings.NewReader(integers), &out))
	if !strings.HasPrefix(out.String(), "pass            0    0.0 %\nforbidden       0    0.0 %\nallowed         1  100.0 %\n") {
		t.Error(out.String())
	}
}

func TestRun_SaysWhatIsWrong(t *testing.T) {
	for _, args := range [][]string{{"-order", "none"}, {"-every", "0"}, {"-vocabulary", "no-file"}, {"no-file"}, {"a", "b"}} {
		if err := run(args, strings.NewReader(""), &bytes.Buffer{}); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
	if err := run(nil, strings.NewReader("{"), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "schema 1") {
		t.Errorf("a text that ends early: %v", err)
	}
}
