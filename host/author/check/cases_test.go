// SPDX-License-Identifier: MIT

package check

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

const text = `{"penstock_session":1,"vocabulary":{"pieces":["a","b","c"]},"sessions":[
	{"name":"takes","plugin":{"name":"guest"},"request":{"config":{ "x": 1 },"prompt":[0]},"calls":[{"call":"open"},{"call":"sample","answer":2},{"call":"accept","token":2}]},
	{"plugin":{"name":"guest"},"request":{"config":{"x":1},"prompt":[0]},"calls":[{"call":"open"},{"call":"sample"}]}]}`

// takes is a plugin that always takes a token.
func takes(token int) []byte {
	return asm.New(`{"name":"guest","view":"none"}`).On(abi.ExportSample, asm.I32(token)).Wasm()
}

func folder(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// run plays the one case of a folder.
func run(t *testing.T, dir string, wasm []byte, update bool) []CaseResult {
	t.Helper()
	cases, err := ReadCases(dir)
	if err != nil || len(cases) != 1 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	results, err := cases[0].Run(t.Context(), load.File{Content: wasm}, "", update)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func TestCase_Run_FindsTheFirstDifference(t *testing.T) {
	dir := folder(t, text)
	for _, r := range run(t, dir, takes(2), false) {
		if r.Difference != nil {
			t.Error(r)
		}
	}
	results := run(t, dir, takes(1), false)
	if d := results[0].Difference; d == nil || d.Call != 2 || d.Name != "sample" || d.Field != "answer" {
		t.Errorf("%+v", d)
	}
	for _, want := range []string{"a.json, session 1 (takes) differs at call 2, sample, answer token 1, in answer", "the case says", "the plugin:"} {
		if !strings.Contains(results[0].String(), want) {
			t.Errorf("%s: no %q", results[0], want)
		}
	}
	if results[1].Difference != nil {
		t.Errorf("a call without an outcome differs: %s", results[1])
	}
}

func TestCase_Run_Update(t *testing.T) {
	dir := folder(t, text)
	if results := run(t, dir, takes(1), true); results[0].Updated != 1 || results[1].Updated != 1 {
		t.Errorf("%+v", results)
	}
	written, err := os.ReadFile(filepath.Join(dir, "a.json"))
	if err != nil || !strings.Contains(string(written), "\n        "+`{"call": "sample", "answer": 1}`) {
		t.Errorf("%v\n%s", err, written)
	}
	for _, r := range run(t, dir, takes(1), false) {
		if r.Difference != nil {
			t.Error(r)
		}
	}
	if run(t, dir, takes(1), true); !same(t, dir, written) {
		t.Error("a second update changes the file")
	}
	if d := run(t, dir, takes(2), false)[1].Difference; d == nil {
		t.Error("what was written down is not compared")
	}
}

func same(t *testing.T, dir string, want []byte) bool {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(dir, "a.json"))
	return err == nil && string(got) == string(want)
}

func TestCase_Run_RecordedRequest(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	others := strings.Replace(text, `"sessions":[`, `"sessions":[{"plugin":{"name":"other"},"request":{"prompt":[0]},"calls":[{"call":"open"}]},`, 1)
	if _, err := z.Write([]byte(others)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.json.gz"), packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if results := run(t, dir, takes(1), true); len(results) != 2 || results[0].Session != 2 || results[0].Updated != 1 {
		t.Errorf("%+v", results)
	}
	if written, err := os.ReadFile(filepath.Join(dir, "a.json.gz")); err != nil || written[0] != 0x1f {
		t.Errorf("it is not packed any more: %v", err)
	}
	for _, r := range run(t, dir, takes(1), false) {
		if r.Difference != nil {
			t.Error(r)
		}
	}
}

func TestReadCases_Errors(t *testing.T) {
	if cases, err := ReadCases(filepath.Join(t.TempDir(), "absent")); err != nil || len(cases) != 0 {
		t.Errorf("%v %v", cases, err)
	}
	if _, err := ReadCases(folder(t, `{"penstock_session":1,"sesions":[]}`)); err == nil || !strings.Contains(err.Error(), "a.json") || !strings.Contains(err.Error(), "sesions") {
		t.Errorf("%v", err)
	}
	cases, err := ReadCases(folder(t, strings.ReplaceAll(text, `"guest"`, `"other"`)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cases[0].Run(t.Context(), load.File{Content: takes(1)}, "", false); err == nil || !strings.Contains(err.Error(), `no session of the plugin "guest"; sessions[0].plugin.name is "other"`) {
		t.Errorf("%v", err)
	}
}

func TestConfigs_EachOnce(t *testing.T) {
	cases, err := ReadCases(folder(t, text))
	if err != nil {
		t.Fatal(err)
	}
	if got := Configs(cases); len(got) != 1 || string(got[0]) != `{"x":1}` {
		t.Errorf("%q", got)
	}
}
