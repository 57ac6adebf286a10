// SPDX-License-Identifier: MIT

// Package schema compares the texts that JSON schemas allow with another implementation of the
// standard and with the JSON Schema Test Suite.
package schema

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/google/jsonschema-go/jsonschema" // their modules carry the JSON Schema Test Suite
	_ "github.com/qri-io/jsonschema"

	"github.com/penstock/penstock/host/grammar/schema"
	"github.com/penstock/penstock/tools/must"
)

var update = flag.Bool("update", false, "write the list of refused cases")

// refusals are the groups of the suite whose schemas are refused, each with the sentence.
const refusals = "testdata/suite-refused.txt"

// suites are the drafts' folders in modules, and the $schema of a group that has none.
var suites = []struct{ name, module, folder, dialect string }{
	{"draft4", "github.com/qri-io/jsonschema", "testdata/draft4", "http://json-schema.org/draft-04/schema#"},
	{"draft6", "github.com/qri-io/jsonschema", "testdata/draft6", "http://json-schema.org/draft-06/schema#"},
	{"draft7", "github.com/google/jsonschema-go", "jsonschema/testdata/draft7", "http://json-schema.org/draft-07/schema#"},
	{"draft7-optional", "github.com/qri-io/jsonschema", "testdata/draft7/optional", "http://json-schema.org/draft-07/schema#"},
	{"draft2019-09", "github.com/qri-io/jsonschema", "testdata/draft2019-09", "https://json-schema.org/draft/2019-09/schema"},
	{"draft2020-12", "github.com/google/jsonschema-go", "jsonschema/testdata/draft2020-12", "https://json-schema.org/draft/2020-12/schema"},
}

// otherwise are cases in which the engine does other than the suite says, on purpose, by a part of
// their name.
var otherwise = map[string]string{
	"/content/":                            "contentEncoding and contentMediaType are annotations since 2019-09",
	"draft4/optional/zeroTerminatedFloats": "1.0 is an integer since draft 6, which the engine writes as 1",
	"latin-1 non-breaking-space":           "the suite was wrong then: ECMA-262's \\s has it, and later versions of the suite say so",
	"a valid punycoded IDN hostname":       "A-labels are left out: no expression tells which of them are valid",
}

// group is a schema of the suite, and values that fit it or do not.
type group struct {
	Description string
	Schema      json.RawMessage
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

// moduleFolder is where the go command keeps a module.
func moduleFolder(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil || len(bytes.TrimSpace(out)) == 0 {
		t.Fatalf("where %s lies: %q, %v", module, out, err)
	}
	return string(bytes.TrimSpace(out))
}

// groups reads the files of a folder and below it; names are draft/file.
func groups(t *testing.T, name, folder string) map[string][]group {
	t.Helper()
	all := map[string][]group{}
	files := must.Get(filepath.Glob(filepath.Join(folder, "*.json")))(t)
	for _, below := range []string{"optional", "optional/format", "format"} {
		more, _ := filepath.Glob(filepath.Join(folder, below, "*.json"))
		files = append(files, more...)
	}
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		var read []group
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		below, _ := filepath.Rel(folder, file)
		all[name+"/"+strings.TrimSuffix(filepath.ToSlash(below), ".json")] = read
	}
	if len(all) == 0 {
		t.Fatalf("%s has no cases", folder)
	}
	return all
}

// withDialect names the draft in a schema that names none.
func withDialect(document json.RawMessage, dialect string) json.RawMessage {
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(document), []byte("{"))
	if !ok || bytes.Contains(document, []byte(`"$schema"`)) {
		return document
	}
	comma := ","
	if bytes.HasPrefix(bytes.TrimSpace(rest), []byte("}")) {
		comma = ""
	}
	return json.RawMessage(fmt.Sprintf(`{"$schema": %q%s%s`, dialect, comma, rest))
}

func TestRead_JSONSchemaTestSuite(t *testing.T) {
	var refused []string
	cases, used := 0, map[string]bool{}
	for _, s := range suites {
		folder := filepath.Join(moduleFolder(t, s.module), s.folder)
		all := groups(t, s.name, folder)
		for file, list := range all {
			for _, g := range list {
				name := file + "/" + g.Description
				made, err := read(withDialect(g.Schema, s.dialect), schema.Options{})
				if err != nil {
					refused = append(refused, fmt.Sprintf("%s: %v", name, err))
					checkVoid(t, name, &g, err)
					continue
				}
				for _, c := range g.Tests {
					cases++
					got := slices.ContainsFunc(spellings(t, c.Data), func(text string) bool { return possible(t, made, text) })
					if got == c.Valid || excused(name+"/"+c.Description, used) {
						continue
					}
					t.Errorf("%s/%s: %.200s is possible: %v\nschema %.600s", name, c.Description, c.Data, got, g.Schema)
				}
			}
		}
	}
	t.Logf("%d cases, %d schemas refused", cases, len(refused))
	if cases < 3_800 {
		t.Errorf("the suite has only %d cases", cases)
	}
	for part := range otherwise {
		if !used[part] {
			t.Errorf("no case is otherwise for %q", part)
		}
	}
	compareRefusals(t, refused)
}

// checkVoid looks whether a schema that is refused because nothing fits it has a value that does.
func checkVoid(t *testing.T, name string, g *group, why error) {
	t.Helper()
	for _, c := range g.Tests {
		if c.Valid && strings.HasSuffix(why.Error(), "nothing fits the JSON schema") {
			t.Errorf("%s: %s fits, and the schema is refused: %v", name, c.Data, why)
		}
	}
}

func excused(name string, used map[string]bool) bool {
	for part := range otherwise {
		if strings.Contains(name, part) {
			used[part] = true
			return true
		}
	}
	return false
}

// compareRefusals holds the refused groups against those that are known, so that none comes or goes
// unseen.
func compareRefusals(t *testing.T, refused []string) {
	t.Helper()
	slices.Sort(refused)
	got := strings.Join(refused, "\n") + "\n"
	if *update {
		must.Do(t, os.WriteFile(refusals, []byte(got), 0o644))
		return
	}
	want := must.Get(os.ReadFile(refusals))(t)
	if got != string(want) {
		t.Errorf("other groups are refused than %s says (go test -update writes it): now\n%s", refusals, got)
	}
}
