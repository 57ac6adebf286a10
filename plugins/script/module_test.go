// SPDX-License-Identifier: MIT

package script

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// script.sum has the hashes of the module and of all that it was built from, as `make script` has
// left them.
func TestModule_IsBuiltFromItsSources(t *testing.T) {
	text, err := os.ReadFile("script.sum")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for line := range strings.Lines(string(text)) {
		want, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		named = append(named, name)
		content, err := os.ReadFile(name)
		if err != nil {
			t.Errorf("%v; run `make script`", err)
			continue
		}
		if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s has changed since script.wasm.gz was built: run `make script`", name)
		}
	}
	wanted := []string{"script.wasm.gz", "build.sh", "engine/engine.lock", "engine/engine.patch"}
	for _, pattern := range []string{"guest/*.c", "guest/*.h"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		wanted = append(wanted, found...)
	}
	if !slices.Equal(named, wanted) {
		t.Errorf("script.sum names %v; there are %v: run `make script`", named, wanted)
	}
	if len(compressed) > 1<<19 {
		t.Errorf("the module makes the binary %d bytes larger; it should stay below 512 KiB", len(compressed))
	}
}

// What a script is offered has the names that penstock.d.ts declares, and no others.
func TestDeclarations_NameWhatThereIs(t *testing.T) {
	declared := map[string][]string{}
	for _, block := range regexp.MustCompile(`(?s)\ninterface (\w+) \{\n(.*?)\n\}`).FindAllStringSubmatch(Declarations, -1) {
		for _, member := range regexp.MustCompile(`(?m)^  (?:readonly )?(\w+)[?(:]`).FindAllStringSubmatch(block[2], -1) {
			declared[block[1]] = append(declared[block[1]], member[1])
		}
		slices.Sort(declared[block[1]])
	}
	s := mustOpen(t, `const names = o => { const all = []; for (const k in o) all.push(k); return all.sort(); };
		export function sample(c) { output(names(c)); }
		export function prepare(p) { output(names(penstock)); output(names(p)); }`, nil)
	if _, err := s.Prepare(); err != nil {
		t.Fatal(said(err))
	}
	if err := s.Apply(view(rowOf(t))); err != nil {
		t.Fatal(said(err))
	}
	given := outputs(t, s)
	ran := runProgram(t, `const names = o => { const all = []; for (const k in o) all.push(k); return all.sort(); };
		export function run(r) { output(names(r)); output(names(r.prompt())); }`, nil)
	given = append(given, ran.outputs...)
	for i, name := range []string{"Penstock", "Next", "Candidates", "Program", "Branch"} {
		if want := `["` + strings.Join(declared[name], `","`) + `"]`; given[i] != want {
			t.Errorf("%s: the guest has %s, penstock.d.ts declares %s", name, given[i], want)
		}
	}
	if len(declared["Hooks"]) != 9 || len(declared["PluginOptions"]) != 9 {
		t.Errorf("declared: %v", declared)
	}
}
