// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"

	"github.com/penstock/penstock/host/bench"
)

// schemaLoss is what schemas may take of the tokens a second of 8 streams, in percent.
const schemaLoss = 3

// itemSchemas are of what people ask for. Each %d is a number that no other request has, so that the server knows none of them.
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

// benchSchema is the schema of a request: a list that goes on for longer than the answer may.
func benchSchema(n int) json.RawMessage {
	return json.RawMessage(`{"type":"array","minItems":1000,"items":` + fmt.Sprintf(itemSchemas[n%len(itemSchemas)], n) + `}`)
}

// schemas measures 8 streams that each have a schema of their own, and the same without, in short turns on the same server. Nothing is
// guessed there, since guesses depend on the text, and that on the schema.
func (l *lab) schemas() error {
	fmt.Fprintln(l.log, countersSay())
	l.stopServers()
	s := &server{name: penstock, key: schemas}
	if err := l.start(s, l.command(penstock, l.one(), "--spec-type", "none")); err != nil {
		return err
	}
	plain := side{Target: bench.Target{Name: "without", Streamer: s.client}, pid: s.process.PID()}
	with := side{bench.Target{Name: "with", Streamer: bench.WithSchemas(s.client, benchSchema)}, plain.pid, 1 << 16}
	c := contest{name: "each another schema", pairs: 6, load: bench.Load{Seed: seedSchemas, Temperature: bench.Temperature, Classes: []bench.Class{
		{Name: "stream", Clients: 8, Requests: 8, PromptWords: 4, MaxTokens: 64}}}}
	var err error
	for round := 0; round < l.rounds && err == nil; round++ {
		err = l.duel(with, plain, c, round)
	}
	for _, f := range lossFigures {
		l.costsAtMost(c.name, f, schemaLoss)
	}
	return err
}
