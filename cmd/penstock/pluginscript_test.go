// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/author/project"
)

// A new script of each kind does what its golden cases say, as a folder and as a file, and needs no
// compiler.
func TestPluginNew_Script_Works(t *testing.T) {
	for _, kind := range project.Kinds {
		dir := filepath.Join(t.TempDir(), "frog")
		if got := penstock(t, "", "plugin", "new", "--lang", "js", "--kind", string(kind), dir); got.code != 0 {
			t.Fatalf("%s: %+v", kind, got)
		}
		got := penstock(t, "", "plugin", "test", dir, "--conversations", "2", "--tokens", "4")
		if got.code != 0 || !strings.Contains(got.out, "as the case says") {
			t.Errorf("%s: %+v", kind, got)
		}
		file := filepath.Join(dir, "frog.js")
		for _, args := range [][]string{
			{"check", file, "--conversations", "2", "--tokens", "4"}, {"bench", file, "--vocabulary", "300", "--tokens", "4"}, {"inspect", file}, {"build", dir},
			{"list", "--plugin-dir", dir}, {"list", "--plugin-dir", dir, "--lock"},
		} {
			if got := penstock(t, "", append([]string{"plugin"}, args...)...); got.code != 0 || !strings.Contains(got.out, "frog") {
				t.Errorf("%s: %q: %+v", kind, args, got)
			}
		}
	}
}

// What is wrong with a script is told with its line.
func TestPluginCheck_Script_NamesTheLine(t *testing.T) {
	for source, says := range map[string]string{
		"export function sample(c) {\n  let = ;\n}":           "script.js:2:",
		"export function sample(c) {\n  c.nothing.at.all;\n}": "script.js:2:",
	} {
		file := filepath.Join(t.TempDir(), "frog.js")
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := penstock(t, "", "plugin", "check", file); got.code == 0 || !strings.Contains(got.out+got.err, says) {
			t.Errorf("%s: %+v", source, got)
		}
	}
}

func TestRun_Script(t *testing.T) {
	dir := t.TempDir()
	one, other := filepath.Join(dir, "one.js"), filepath.Join(dir, "other.js")
	for file, source := range map[string]string{
		one:   `export const plugin = {place: "first"}; export function sample(c) { c.filter(s => !s.includes("e")); }`,
		other: "\n\nexport function stop(text) { throw new Error('no'); }",
	} {
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const ask = "Tell me a story about a frog."
	plain := penstock(t, "", "run", "--temperature", "0", "--max-tokens", "20", ask)
	steered := penstock(t, "", "run", "--temperature", "0", "--max-tokens", "20", "--script", one, ask)
	if plain.code != 0 || steered.code != 0 || strings.Contains(steered.out, "e") || !strings.Contains(plain.out, "e") {
		t.Errorf("%+v, then %+v", plain, steered)
	}
	if got := penstock(t, "", "run", "--temperature", "0", "--max-tokens", "20", "--script", one, "--script", other, ask); got.code == 0 || !strings.Contains(got.err, "other") || !strings.Contains(got.err, "script.js:3:") {
		t.Errorf("%+v", got)
	}
	if got := penstock(t, "", "run", "--script", filepath.Join(dir, "none.js"), ask); got.code != 2 || !strings.Contains(got.err, "none.js") {
		t.Errorf("%+v", got)
	}
}
