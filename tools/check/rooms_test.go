// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/must"
)

func TestCompareRooms(t *testing.T) {
	for name, tc := range map[string]struct {
		rows string
		p    goPackage
		want []string
	}{
		"as it is":      {"| `host/api` | serves requests | `native` |", goPackage{Name: "api", Doc: "Package api serves requests."}, nil},
		"command":       {"| `host/api` | serves a \\| b | all |", goPackage{Name: "main", Doc: "Command api serves a | b."}, nil},
		"import":        {"| `host/api` | serves | — |", goPackage{Name: "api", Doc: "Package api serves.", Imports: []string{"github.com/x/y"}}, []string{"host/api must not import github.com/x/y"}},
		"another text":  {"| `host/api` | serves | — |", goPackage{Name: "api", Doc: "Package api answers."}, []string{architecture + ":4: the package comment of host/api says otherwise; run go generate ./tools/check"}},
		"no row":        {"", goPackage{Name: "api", Doc: "Package api serves."}, []string{"host/api has no row in the table of " + architecture + ": say there what it may import"}},
		"two rows":      {"| `host/api` | serves | — |\n| `host/api` | serves | — |", goPackage{Name: "api", Doc: "Package api serves."}, []string{architecture + ":5: host/api has two rows"}},
		"no package":    {"| `host/api` | serves | — |\n| `host/apt` | serves | — |", goPackage{Name: "api", Doc: "Package api serves."}, []string{architecture + ":5: there is no package host/apt"}},
		"no comment":    {"| `host/api` |  | — |", goPackage{Name: "api"}, []string{"host/api has no package comment that says what it is for"}},
		"other opening": {"| `host/api` | It serves. | — |", goPackage{Name: "api", Doc: "It serves."}, []string{`the package comment of host/api must begin with "Package api "`}},
		"no sentence":   {"| `host/api` | serves | — |", goPackage{Name: "api", Doc: "Package api serves"}, []string{"the package comment of host/api must begin with a sentence, which ends with a full stop"}},
		"long": {"| `host/api` | " + strings.Repeat("é", maxSentence) + " | — |", goPackage{Name: "api", Doc: "Package api " + strings.Repeat("é", maxSentence) + "."},
			[]string{"the first sentence of host/api has 173 characters, more than 160"}},
	} {
		t.Run(name, func(t *testing.T) {
			rooms := must.Get(parseRooms("# A\n" + roomsHead + "\n|---|---|---|\n" + tc.rows))(t)
			tc.p.ImportPath = module + "/host/api"
			if diff := cmp.Diff(tc.want, compareRooms(rooms, []goPackage{tc.p})); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseRooms_NotATable_Fails(t *testing.T) {
	for text, want := range map[string]string{
		"# A\n": architecture + " has no table with the head " + roomsHead,
		roomsHead + "\n|---|---|---|\n| `host` | assembles |\n": architecture + ":3: want | `package` | what it is for | may import |",
	} {
		if _, err := parseRooms(text); err == nil || err.Error() != want {
			t.Errorf("parseRooms(%q): %v, want %s", text, err, want)
		}
	}
}

func TestCheckPicture(t *testing.T) {
	rooms := []room{{name: "host"}, {name: "host/api"}, {name: "host/api/wire"}, {name: "scheduler"}, {name: "scheduler/chain"}, {name: "web"}, {name: "tools/check"}}
	picture := "# A\n```\n┌──┐ web\n│host/api │ host → │ scheduler │\n│ /wire   │        │  /chain, /wire │\n```\ntools/check\n```\ntools/check\n```\n"
	want := []string{
		architecture + ": the picture has /wire in the box of scheduler, which has no such package",
		architecture + ": the picture has no tools/check",
	}
	if diff := cmp.Diff(want, checkPicture(picture, rooms)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// What the real table of packages forbids, so that an edit there does not lift one of these rules
// unnoticed.
func TestRooms_KeepApart(t *testing.T) {
	text := must.Get(os.ReadFile("../../" + architecture))(t)
	rooms := must.Get(parseRooms(string(text)))(t)
	const echo, wazero, other = "github.com/labstack/echo/v4", "github.com/tetratelabs/wazero", "github.com/x/y"
	host, scheduler, native := module+"/host", module+"/scheduler", module+"/native"
	for _, rule := range []struct {
		packages   string
		indirectly bool
		forbidden  []string
	}{
		{"scheduler/...", true, []string{host, host + "/api", native, other}},
		{"native/...", true, []string{host, host + "/engine", scheduler, other}},
		{"host/api", false, []string{native, host + "/engine", host + "/plugin", wazero}},
		{"host/plugin/...", false, []string{native, host + "/engine", host + "/api", echo}},
		{"host/chat", false, []string{native, host + "/engine", scheduler, other}},
		{"host/sampling", false, []string{native, host + "/engine", scheduler, other}},
		{"host/engine", false, []string{host, host + "/api", host + "/plugin", echo, wazero}},
		{"plugins/abi", false, []string{native, host, scheduler, other}},
	} {
		found := false
		for _, r := range rooms {
			if !within(rule.packages, r.name) {
				continue
			}
			found = true
			p := goPackage{ImportPath: module + "/" + r.name, Deps: rule.forbidden}
			if !rule.indirectly {
				p.Imports = rule.forbidden
			}
			if got := checkImports(p, parseLimits(r.may)); len(got) != len(rule.forbidden) {
				t.Errorf("%s may import %s; want none of %v, indirectly: %v", r.name, r.may, rule.forbidden, rule.indirectly)
			}
		}
		if !found {
			t.Errorf("the table has no %s", rule.packages)
		}
	}
}
