// SPDX-License-Identifier: MIT

package examples

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/steadytest"
)

// Each is loaded by its sessions too, which find an export that is missing.
func TestGo_Load_ExportsOnlyWhatIsImplemented(t *testing.T) {
	exported := map[string]string{
		"min-p":               "sample",
		"dynamic-temperature": "sample",
		"answer-length":       "warm prepare",
		"no-repeat":           "sample",
		"prompt-lookup":       "draft",
		"reasoning-budget":    "prepare accept",
		"redact":              "messages",
		"repetition-stop":     "prepare accept rewind",
		"regex-stop":          "stop",
		"banned-phrases":      "prepare accept rewind",
		"beam":                "run",
		"best-of":             "run",
		"choice":              "run",
		"form":                "run",
		"guidance":            "run",
		"heal":                "warm run",
		"last-pictures":       "messages",
		"lookahead":           "run",
		"smc":                 "warm run",
		"transcript":          "template stop",
		"stdgo/min-p":         "sample",
	}
	for _, name := range steadytest.Some(t, slices.Sorted(maps.Keys(exported)), 6) {
		m := loaded(t, name, newWords())
		exports := strings.Fields("penstock_" + strings.ReplaceAll("abi_v1 describe open "+exported[name], " ", " penstock_"))
		got := slices.DeleteFunc(slices.Clone(m.Exports), func(e string) bool { return e == "_initialize" })
		slices.Sort(exports)
		slices.Sort(got)
		if !slices.Equal(got, exports) || m.Manifest.Name != strings.TrimPrefix(name, "stdgo/") || m.Manifest.Summary == "" {
			t.Errorf("%s is %q and exports %v, want %v", name, m.Manifest.Name, got, exports)
		}
	}
}

func BenchmarkGo_Sample(b *testing.B) {
	for _, c := range []struct{ name, config string }{
		{"min-p", `{}`}, {"min-p", `{"draw":true}`}, {"dynamic-temperature", `{}`}, {"stdgo/min-p", `{}`},
	} {
		b.Run(c.name+c.config, func(b *testing.B) { benchmarkSample(b, c.name, c.config) })
	}
}
