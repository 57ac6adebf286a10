// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/penstock/penstock/tools/lab/bench"
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

// schemaLoss is what schemas may take of the tokens a second of 8 streams, in percent.
const schemaLoss = 3

// itemSchemas are of what people ask for. Each %d is a number that no other request has, so that
// the server knows none of them.
var itemSchemas = []string{
	`{"type":"object","properties":{"id_%d":{"type":"string","pattern":"^[A-Z]{2}-[0-9]{4,8}$"},"placed":{"type":"string","format":"date-time"},"quantity":{"type":"integer","minimum":1,"maximum":999}},"required":["id_%[1]d","placed"],"additionalProperties":false}`,
	`{"type":"object","properties":{"city_%d":{"type":"string"},"unit":{"enum":["celsius","fahrenheit"]},"days":{"type":"integer"}},"required":["city_%[1]d"]}`,
	`{"type":"object","properties":{"title":{"type":"string","maxLength":80},"tags_%d":{"type":"array","items":{"type":"string"},"maxItems":5}},"required":["title","tags_%[1]d"],"additionalProperties":false}`,
	`{"oneOf":[{"type":"object","properties":{"kind":{"const":"text_%d"},"body":{"type":"string","minLength":1}},"required":["kind","body"],"additionalProperties":false},{"type":"object","properties":{"kind":{"const":"link"},"url":{"type":"string","format":"uri"}},"required":["kind","url"],"additionalProperties":false}]}`,
	`{"type":"object","properties":{"x_%d":{"type":"number"},"y":{"type":"number"},"label":{"type":"string"}},"required":["x_%[1]d","y"],"additionalProperties":false}`,
	`{"type":"object","patternProperties":{"^f%d_[a-z]+$":{"type":"boolean"}},"minProperties":2,"additionalProperties":false}`,
	`{"enum":["red_%d","green","blue","a very long name of a colour that nobody has seen"]}`,
	`{"type":"object","properties":{"name_%d":{"type":"string"},"mail":{"type":"string","format":"email"},"born":{"type":"string","format":"date"}},"required":["name_%[1]d","mail"]}`,
}

// textSchemas are of objects whose values are texts. There what a model with random weights writes
// mostly fits, as what a good model writes does elsewhere.
var textSchemas = []string{
	`{"type":"object","properties":{"title_%d":{"type":"string"},"body":{"type":"string"}},"required":["title_%[1]d","body"],"additionalProperties":false}`,
	`{"type":"object","properties":{"question_%d":{"type":"string"},"answer":{"type":"string"}},"required":["question_%[1]d","answer"]}`,
}

// schemasOf are those of requests, by their number: each a list that goes on for longer than the
// answer may. Beyond the first so many requests the schemas come again.
func schemasOf(items []string, most int) func(n int) json.RawMessage {
	return func(n int) json.RawMessage {
		n %= most
		return json.RawMessage(`{"type":"array","minItems":1000,"items":` + fmt.Sprintf(items[n%len(items)], n) + `}`)
	}
}

// schemaLoads are the schemas of the streams. The first are the worst case: with random weights
// two of three tokens have to be drawn again.
var schemaLoads = []struct {
	what   string
	schema func(n int) json.RawMessage
}{
	{"each answer a new schema", schemasOf(itemSchemas, math.MaxInt)},
	{"each answer a new schema, of texts", schemasOf(textSchemas, math.MaxInt)},
	{"each another schema, known from before", schemasOf(itemSchemas, len(itemSchemas))},
}

// schemas measures 8 streams that each have a schema of their own, and the same without, in short
// turns on the same server. Nothing is guessed there, since guesses depend on the text, and that
// on the schema.
func (l *lab) schemas() error {
	fmt.Fprintln(l.log, countersSay())
	l.stopServers()
	s := &server{name: penstock, key: schemas}
	if err := l.start(s, l.command(penstock, l.one(), "--spec-type", "none")); err != nil {
		return err
	}
	plain := side{Target: bench.Target{Name: "without", Streamer: s.client}, pid: s.process.PID()}
	var sides []side // each numbers its requests in all rounds
	for _, k := range schemaLoads {
		sides = append(sides, side{bench.Target{Name: "with", Streamer: bench.WithSchemas(s.client, k.schema)}, plain.pid, 1 << 16})
	}
	var err error
	for round := 0; round < l.rounds && err == nil; round++ {
		for i := 0; i < len(sides) && err == nil; i++ {
			c := contest{name: schemaLoads[i].what, pairs: 4, load: bench.Load{Seed: seedSchemas + uint64(100*i), Temperature: bench.Temperature,
				Classes: []bench.Class{{Name: "stream", Clients: 8, Requests: 8, PromptWords: 4, MaxTokens: 64}}}}
			err = l.duel(sides[i], plain, c, round)
		}
	}
	for _, k := range schemaLoads {
		for _, f := range lossFigures {
			l.costsAtMost(k.what, f, schemaLoss)
		}
	}
	return err
}
