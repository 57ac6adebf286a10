// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/penstock/penstock/host/bench"
)

// pluginLoss bounds what plugins may cost 8 streams. One chooses among candidates, in TinyGo and in Rust; the other says beforehand
// which tokens are allowed.
var pluginLoss = []struct {
	what, plugins string
	most          float64 // percent
}{
	{"min-p (TinyGo) chooses among candidates", `[{"name": "min-p"}]`, 1},
	{"min-p-rust chooses among candidates", `[{"name": "min-p-rust"}]`, 1},
	{"grammar masks each token", `[{"name": "grammar", "config": {"grammar": "root ::= [a-z ]+"}}]`, 2},
}

// plugins measures 8 streams with and without a plugin, on the same server.
func (l *lab) plugins() error {
	l.stopServers()
	s := &server{name: penstock, key: "plugins"}
	if err := l.start(s, l.command(penstock, l.many(), "--plugin-dir", l.pluginDir)); err != nil {
		return err
	}
	targets := []bench.Target{{Name: penstock, Streamer: s.client}}
	for _, p := range pluginLoss {
		targets = append(targets, bench.Target{Name: p.what, Streamer: bench.WithPlugins(s.client, json.RawMessage(p.plugins))})
	}
	load := bench.Batch(seedPlugins, "plugins", 8)
	load.Load.Classes[0].Requests = 0 // new requests as old ones end: a burst's beginning would hide a percent
	load.Load.Warmup, load.Load.Duration = time.Second, l.window/2
	for round := range l.rounds {
		if err := l.round(targets, load, round); err != nil {
			return err
		}
	}
	for _, p := range pluginLoss {
		plain, with := l.median("plugins", penstock, tokensPerSecond), l.median("plugins", p.what, tokensPerSecond)
		loss := 100 * (1 - ratio(with, plain))
		l.report.Rows = append(l.report.Rows, row{Work: "8 streams with a plugin each: " + p.what, Measured: fmt.Sprintf("%.1f", with),
			Against: fmt.Sprintf("without: %.1f", plain), Ratio: fmt.Sprintf("%.1f%% less", loss), Required: fmt.Sprintf("at most %.0f%% less", p.most),
			Reached: yesNo(loss <= p.most)})
	}
	return nil
}
