// SPDX-License-Identifier: MIT

package bench

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLatencyOf(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[len(hundred)-1-i] = time.Duration(i+1) * ms
	}
	for name, test := range map[string]struct {
		in   []time.Duration
		want Latency
	}{
		"none":    {nil, Latency{}},
		"one":     {[]time.Duration{5 * ms}, Latency{1, 5, 5, 5, 5}},
		"two":     {[]time.Duration{9 * ms, 1500 * time.Microsecond}, Latency{2, 1.5, 9, 9, 9}},
		"hundred": {hundred, Latency{100, 50, 95, 99, 100}},
		"101":     {append(hundred, 101*ms), Latency{101, 51, 96, 100, 101}},
	} {
		if diff := cmp.Diff(test.want, latencyOf(append([]time.Duration(nil), test.in...))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWindow_Overlap(t *testing.T) {
	zero := time.Unix(0, 0)
	at := func(s float64) time.Time { return zero.Add(time.Duration(s * float64(time.Second))) }
	w := window{at(10), at(20)}
	for _, test := range []struct{ from, to, want float64 }{
		{0, 10, 0}, {0, 20, 0.5}, {5, 25, 0.5}, {12, 14, 1}, {19, 23, 0.25}, {20, 30, 0}, {15, 15, 1}, {20, 20, 0},
	} {
		if got := w.overlap(at(test.from), at(test.to)); got != test.want {
			t.Errorf("overlap of [%v, %v) = %v, want %v", test.from, test.to, got, test.want)
		}
	}
}
