// SPDX-License-Identifier: MIT

package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/plugins/abi"
)

func TestManifest_UnknownFields_AreKept(t *testing.T) {
	m := mustLoad(t, newTestRuntime(t), newGuest(`{"name":"guest","Hold":3,"telepathy":{"range":[1,2]}}`))
	if m.Manifest.Hold != 0 {
		t.Errorf("Hold was taken for hold: %d", m.Manifest.Hold)
	}
	text, err := json.Marshal(m.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	var shown map[string]any
	if err := json.Unmarshal(text, &shown); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	want := map[string]any{
		"name": "guest", "view": "none", "candidates": 256.0, "hold": 0.0, "place": "first", "Hold": 3.0,
		"telepathy": map[string]any{"range": []any{1.0, 2.0}},
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Error(diff)
	}
}

func TestManifest_Place_FollowsTheView(t *testing.T) {
	for text, want := range map[string]Place{
		`{"name":"a"}`: PlaceLast, `{"name":"a","view":"none"}`: PlaceFirst, `{"name":"a","view":"logits"}`: PlaceFirst,
		`{"name":"a","place":"first"}`: PlaceFirst, `{"name":"a","view":"none","place":"last"}`: PlaceLast,
	} {
		if m, err := parseManifest([]byte(text), true); err != nil || m.Place != want {
			t.Errorf("%s: %q, %v; want %q", text, m.Place, err, want)
		}
	}
}

// A misspelt export is never called; the plugin would load and do nothing.
func TestRuntime_Load_NamesMisspeltExports(t *testing.T) {
	for wrong, right := range map[string]string{
		"penstock_sampel": abi.ExportSample, "penstock_acept": abi.ExportAccept, "penstock_Stop": abi.ExportStop, "penstock_rewinds": abi.ExportRewind,
	} {
		g := plain().Function(abi.Signature{Name: wrong}, 0)
		_, err := newTestRuntime(t).Load(context.Background(), g.Wasm())
		if !errors.Is(err, ErrExport) || !strings.Contains(err.Error(), wrong+" ") || !strings.Contains(err.Error(), right+" ") {
			t.Errorf("%s: got %v, want it to name %s", wrong, err, right)
		}
	}
}

func TestRuntime_Load_OptionalImports(t *testing.T) {
	missing := abi.Signature{Name: abi.Optional + ".telepathy", Params: []abi.Type{"i64", "f32"}, Results: []abi.Type{"i32"}}
	g := plain()
	call := g.CallOf(missing)
	g.On(abi.ExportOpen, i32(0)).On(abi.ExportAccept, i64c(1), []byte{0x43, 0, 0, 0, 0}, call)
	s := use(t, g, 1)
	_, err := s.Accept(2)
	mustFault(t, err, abi.ExportAccept, CauseCall, "telepathy")
}
