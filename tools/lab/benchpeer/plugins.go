// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"sync/atomic"

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

// loss is something that costs streams.
type loss struct {
	what   string
	most   float64 // percent of their tokens a second
	change func(*bench.Request)
}

// lossFigures are compared with and without a plugin, or schemas.
var lossFigures = []figure{
	{"tokens/s", func(t turn) float64 { return t.Total.TokensPerSecond }, false},
	{"tokens/s by the median ITL", func(t turn) float64 { return 8 * ratio(1000, t.Class("stream").ITL.P50) }, false},
	{"tokens a second of processor time", func(t turn) float64 { return ratio(t.Total.Tokens, t.Took.CPU) }, false},
	{"tokens a million instructions", func(t turn) float64 { return ratio(t.Total.Tokens, t.Took.Instructions/1e6) }, false},
}

// plugins measures streams with and without a plugin.
func (l *lab) plugins() error {
	var all []loss
	for _, p := range pluginLoss {
		all = append(all, loss{p.what, p.most, func(r *bench.Request) { r.Plugins = json.RawMessage(p.plugins) }})
	}
	return l.losses(all, seedPlugins, "--plugin-dir", l.pluginDir)
}

// losses measures 8 streams with something and without in short turns, on the same server. Nothing
// is guessed there, since guesses depend on the text, and that on what the streams have. The sides
// have other prompts, as long as one another's: the server has those of the first turn in its
// cache. What was measured before an error has its rows, too.
func (l *lab) losses(all []loss, seed uint64, flags ...string) error {
	fmt.Fprintln(l.log, countersSay())
	l.stopServers()
	s := &server{name: penstock, key: all[0].what}
	if err := l.start(s, l.command(penstock, l.one(), append(flags, "--spec-type", "none")...)); err != nil {
		return err
	}
	plain := side{Target: bench.Target{Name: "without", Streamer: s.client}, pid: s.process.PID()}
	var err error
	for round := 0; round < l.rounds && err == nil; round++ {
		for i := 0; i < len(all) && err == nil; i++ {
			with := side{bench.Target{Name: "with", Streamer: bench.With(s.client, all[i].change)}, plain.pid, 1 << 16}
			// A prompt of a few words leaves nearly all time to tokens.
			err = l.duel(with, plain, contest{name: all[i].what, pairs: 4, load: bench.Load{Seed: seed + uint64(100*i), Temperature: bench.Temperature,
				Classes: []bench.Class{{Name: "stream", Clients: 8, Requests: 8, PromptWords: 4, MaxTokens: 64}}}}, round)
		}
	}
	for _, x := range all {
		for _, f := range lossFigures {
			l.costsAtMost(x.what, f, x.most)
		}
	}
	return err
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
// answer may. After most requests the schemas come again.
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

// schemas measures streams that each have a schema of their own, and the same without.
func (l *lab) schemas() error {
	var all []loss
	for _, k := range schemaLoads {
		var sent atomic.Int64 // in all rounds
		all = append(all, loss{k.what, schemaLoss, func(r *bench.Request) { r.Schema = k.schema(int(sent.Add(1) - 1)) }})
	}
	return l.losses(all, seedSchemas)
}
