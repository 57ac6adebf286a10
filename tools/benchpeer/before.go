// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"

	"github.com/penstock/penstock/host/bench"
)

// figure is one measured number by which a scenario is compared.
type figure struct {
	scenario, what string
	of             func(bench.Result) float64
	lower          bool // less is better
}

// figures has one figure for each row of a whole run in which Penstock is measured.
var figures = []figure{
	{"single", "1 stream, tokens/s", tokensPerSecond, false},
	{"8 streams", "8 streams, tokens/s", tokensPerSecond, false},
	{"16 streams", "16 streams, tokens/s", tokensPerSecond, false},
	{"late", "TTFT of a short prompt during a long prefill, ms", shortTTFT, true},
	{"prefix", "TTFT of a second request with the same prefix, ms", secondTTFT, true},
	{"mixed", mixedWork + ": p99 ITL, ms", streamITL, true},
	{"mixed", "the same: prompt tokens/s", promptTokensPerSecond, false},
	{"mixed", "the same: generated tokens/s", tokensPerSecond, false},
}

// compareBefore runs the work of a whole run on this binary and on that of an earlier commit, in turn.
func (l *lab) compareBefore() error {
	if l.before == "" {
		return errors.New("-before is not given: the penstock binary of an earlier commit")
	}
	short, err := l.targets(l.many(), penstock, earlier)
	if err != nil {
		return err
	}
	for round := range l.rounds {
		for _, s := range []bench.Scenario{bench.Single(seedSingle, 3), bench.Batch(seedBurst, "8 streams", 8), bench.Batch(seedBurst+100, "16 streams", 16)} {
			if err := l.round(short, s, round); err != nil {
				return err
			}
		}
	}
	long, err := l.targets(l.few(), penstock, earlier)
	if err != nil {
		return err
	}
	for round := range l.rounds {
		for _, s := range []bench.Scenario{lateLoad(round), prefixLoad(), l.mixedLoad("mixed", seedMixed)} {
			if err := l.round(long, s, round); err != nil {
				return err
			}
		}
	}
	for _, f := range figures {
		now, then := l.median(f.scenario, penstock, f.of), l.median(f.scenario, earlier, f.of)
		better := ratio(now, then)
		if f.lower {
			better = ratio(then, now)
		}
		l.report.Rows = append(l.report.Rows, row{Work: f.what, Measured: fmt.Sprintf("%.1f", now), Against: fmt.Sprintf("before: %.1f", then),
			Ratio: fmt.Sprintf("%.2f × better", better)})
	}
	return nil
}
