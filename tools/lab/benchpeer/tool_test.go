// SPDX-License-Identifier: MIT

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseGeneration(t *testing.T) {
	got, err := parseGeneration([]byte(`[{"n_gen": 128, "avg_ts": 176.25, "samples_ts": [176.25]}]`))
	if err != nil || got != 176.25 {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "[]", "error: no model", `[{"avg_ts": 0}]`, `[{"avg_ts": 1},{"avg_ts": 2}]`} {
		if _, err := parseGeneration([]byte(bad)); err == nil {
			t.Errorf("%q is taken for a result", bad)
		}
	}
}

func TestParseBatches(t *testing.T) {
	got, err := parseBatches([]byte("loading\n" + `{"pp": 20, "tg": 8, "pl": 2, "t_pp": 0.5, "t_tg": 0.5, "t": 1.0}` + "\n" + `{"pp": 20, "tg": 8, "pl": 4, "t": 1.6}` + "\n\n"))
	if diff := cmp.Diff(map[int]float64{2: 16, 4: 20}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, err := parseBatches([]byte(`{"pl": 2, "tg": 8}`)); err == nil {
		t.Error("a result without a time is taken")
	}
}

func TestParseTick(t *testing.T) {
	us, allocations, err := parseTick([]byte("goos: linux\nBenchmarkTick/slots=64-2 \t   61234\t     18512 ns/op\t      1650 backend-ns/op\t      12 B/op\t       0 allocs/op\n"+
		"BenchmarkTick/slots=8-2 \t   61234\t     999 ns/op\t      12 B/op\t       7 allocs/op\n"+
		"BenchmarkTick/slots=64-2 \t   61234\t     29000 ns/op\t      12 B/op\t       0 allocs/op\n"+
		"BenchmarkTick/slots=640-2 \t   61234\t     10 ns/op\t      12 B/op\t       9 allocs/op\nPASS\n"), 64)
	if us != 18.512 || allocations != 0 || err != nil {
		t.Errorf("%v µs, %v allocations, %v", us, allocations, err)
	}
	for _, bad := range []string{"", "PASS", "BenchmarkTick/slots=8-2 1 1 ns/op 1 B/op 1 allocs/op", "BenchmarkTick/slots=64-2 1 x ns/op 1 B/op 1 allocs/op"} {
		if _, _, err := parseTick([]byte(bad), 64); err == nil {
			t.Errorf("%q is taken for a result", bad)
		}
	}
}
