// SPDX-License-Identifier: MIT

package load

import (
	"errors"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
)

func TestManifest_Place_FollowsTheView(t *testing.T) {
	for text, want := range map[string]Place{
		`{"name":"a"}`: PlaceLast, `{"name":"a","view":"none"}`: PlaceFirst, `{"name":"a","view":"logits"}`: PlaceFirst,
		`{"name":"a","place":"first"}`: PlaceFirst, `{"name":"a","view":"none","place":"last"}`: PlaceLast,
	} {
		if m, err := ParseManifest([]byte(text), []string{abi.ExportSample}); err != nil || m.Place != want {
			t.Errorf("%s: %q, %v; want %q", text, m.Place, err, want)
		}
	}
}

func TestParseManifest_Defaults(t *testing.T) {
	with, err := ParseManifest([]byte(`{"name":"a"}`), []string{abi.ExportSample})
	if err != nil || with.View != ViewCandidates || with.Candidates != 256 || with.Hold != 0 {
		t.Errorf("%+v, %v", with, err)
	}
	if without, err := ParseManifest([]byte(`{"name":"a"}`), nil); err != nil || without.View != ViewNone {
		t.Errorf("%+v, %v", without, err)
	}
}

func TestParseManifest_Refuses(t *testing.T) {
	deep := func(n int) string {
		return `{"name":"a","config_schema":` + strings.Repeat(`{"not":`, n) + `{}` + strings.Repeat(`}`, n) + `}`
	}
	for text, want := range map[string]string{
		`{}`:             `name is ""`,
		`{"name":"A"}`:   "[a-z0-9]",
		`{"name":"a/b"}`: "[a-z0-9]",
		`{"name":"` + strings.Repeat("a", 65) + `"}`:  "[a-z0-9]",
		`{"name":"a","view":"all"}`:                   `view is "all"`,
		`{"name":"a","candidates":0}`:                 "candidates is 0",
		`{"name":"a","candidates":4097}`:              "candidates is 4097",
		`{"name":"a","hold":-1}`:                      "hold is -1",
		`{"name":"a","hold":257}`:                     "hold is 257",
		`{"name":"a","hold":1.5}`:                     "hold",
		`{"name":"a","place":"middle"}`:               `place is "middle"`,
		`{"name":"a","view":"logits","place":"last"}`: "must stand before",
		`{"name":"a"}{}`:                              "one JSON object",
		`{"name":"a"`:                                 "one JSON object",
		`[]`:                                          "array",
		"{\"name\":\"\xff\"}":                         "UTF-8",
		deep(80):                                      "64 levels",
		`{"name":"a","summary":"` + strings.Repeat("a", 2000) + `"}`: "1024 bytes",
	} {
		if _, err := ParseManifest([]byte(text), []string{abi.ExportSample}); !errors.Is(err, plugin.ErrManifest) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %v, want %q", text, err, want)
		}
	}
	if _, err := ParseManifest([]byte(deep(60)), []string{abi.ExportSample}); err != nil {
		t.Errorf("60 levels: %v", err)
	}
}

func TestCompileSchema_Refuses(t *testing.T) {
	for _, text := range []string{`{"type":"strange"}`, `{"pattern":"("}`, `7`, `{"$ref":"#/nowhere"}`} {
		if _, err := compileSchema([]byte(text)); !errors.Is(err, plugin.ErrManifest) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}
