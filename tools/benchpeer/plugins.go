// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"

	"github.com/penstock/penstock/host/bench"
)

// pluginLoss bounds what plugins may cost 8 streams. One chooses among candidates, in TinyGo and in
// Rust; the other says beforehand which tokens are allowed.
var pluginLoss = []struct {
	what, plugins string
	most          float64 // percent
}{
	{"min-p (TinyGo) chooses among candidates", `[{"name": "min-p"}]`, 1},
	{"min-p-rust chooses among candidates", `[{"name": "min-p-rust"}]`, 1},
	{"grammar masks each token", `[{"name": "grammar", "config": {"grammar": "root ::= [a-z ]+"}}]`, 2},
}

// lossFigures are compared with and without a plugin, or schemas.
var lossFigures = []figure{
	{"tokens/s", func(t turn) float64 { return t.Total.TokensPerSecond }, false},
	{"tokens/s by the median ITL", func(t turn) float64 { return 8 * ratio(1000, t.Class("stream").ITL.P50) }, false},
	{"tokens a second of processor time", func(t turn) float64 { return ratio(t.Total.Tokens, t.Took.CPU) }, false},
	{"tokens a million instructions", func(t turn) float64 { return ratio(t.Total.Tokens, t.Took.Instructions/1e6) }, false},
}

// plugins measures 8 streams with and without a plugin in short turns, on the same server. Nothing
// is guessed there, since guesses depend on the text, and that on the plugin.
func (l *lab) plugins() error {
	fmt.Fprintln(l.log, countersSay())
	l.stopServers()
	s := &server{name: penstock, key: "plugins"}
	if err := l.start(s, l.command(penstock, l.one(), "--plugin-dir", l.pluginDir, "--spec-type", "none")); err != nil {
		return err
	}
	plain := side{Target: bench.Target{Name: "without", Streamer: s.client}, pid: s.process.PID()}
	// A prompt of a few words leaves nearly all time to tokens.
	load := bench.Load{Seed: seedPlugins, Temperature: bench.Temperature, Classes: []bench.Class{
		{Name: "stream", Clients: 8, Requests: 8, PromptWords: 4, MaxTokens: 64}}}
	err := l.withPlugins(plain, load)
	for _, p := range pluginLoss {
		for _, f := range lossFigures {
			l.costsAtMost(p.what, f, p.most)
		}
	}
	return err
}

// withPlugins runs all rounds. The sides have other prompts, as long as one another's: the server
// has those of the first turn in its cache.
func (l *lab) withPlugins(plain side, load bench.Load) error {
	for round := range l.rounds {
		for i, p := range pluginLoss {
			load.Seed = seedPlugins + uint64(100*i)
			with := side{bench.Target{Name: "with", Streamer: bench.WithPlugins(plain.Streamer, json.RawMessage(p.plugins))}, plain.pid, 1 << 16}
			if err := l.duel(with, plain, contest{name: p.what, load: load, pairs: 4}, round); err != nil {
				return err
			}
		}
	}
	return nil
}

// costsAtMost adds a row for what a plugin, or schemas, may take from a figure, in percent.
func (l *lab) costsAtMost(what string, f figure, most float64) {
	c := l.compared(what, "with", "without", f)
	if c.n == 0 {
		return // it is not measured here
	}
	less := func(ratio float64) float64 { return 100 * (1 - ratio) }
	r := row{Work: "8 streams: " + what + ": " + f.what, Measured: digits(c.ours), Against: "without: " + digits(c.theirs),
		Ratio:    fmt.Sprintf("%.1f%% less, %s", less(c.ratio), c.pairs()),
		Required: fmt.Sprintf("at most %.0f%% less", most), Reached: "undecided"}
	if c.known() {
		r.Ratio = fmt.Sprintf("%.1f%% less (%.1f to %.1f), %s", less(c.ratio), less(c.high), less(c.low), c.pairs())
		if less(c.low) <= most || less(c.high) > most {
			r.Reached = yesNo(less(c.low) <= most)
		}
	}
	l.report.Rows = append(l.report.Rows, r)
}
