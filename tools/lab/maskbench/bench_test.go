// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"io"
	"os"
	"testing"
	"time"

	"github.com/penstock/penstock/host/grammar/grammartest"
	"github.com/penstock/penstock/tools/must"
)

// dataEnv names a file in MaskBench's form. Without it the benchmark has a few schemas of its own.
const dataEnv = "PENSTOCK_MASKBENCH"

// own are schemas as people write them, with valid instances.
const own = `{"name": "order", "schema": {"type": "object", "properties": {"id": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4,8}$"}, "placed": {"type": "string", "format": "date-time"}, "lines": {"type": "array", "minItems": 1, "items": {"type": "object", "properties": {"article": {"type": "string", "maxLength": 80}, "quantity": {"type": "integer", "minimum": 1, "maximum": 999}, "price": {"type": "number"}}, "required": ["article", "quantity"], "additionalProperties": false}}}, "required": ["id", "lines"], "additionalProperties": false}, "tests": [{"valid": true, "data": {"id": "AB-12345", "placed": "2026-05-17T08:30:00Z", "lines": [{"article": "A chair of beech, with arms", "quantity": 4, "price": 129.5}, {"article": "Felt pads", "quantity": 16}]}}]}
{"name": "weather", "schema": {"type": "object", "properties": {"city": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]}, "days": {"type": "integer", "minimum": 1, "maximum": 14}}, "required": ["city"]}, "tests": [{"valid": true, "data": {"city": "Château-d'Œx", "unit": "celsius", "days": 3}}]}
{"name": "tree", "schema": {"$defs": {"node": {"type": "object", "properties": {"v": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}}, "required": ["v"], "additionalProperties": false}}, "$ref": "#/$defs/node"}, "tests": [{"valid": true, "data": {"v": 1, "kids": [{"v": 2, "kids": []}, {"v": 3, "kids": [{"v": -4}]}]}}]}
{"name": "either", "schema": {"oneOf": [{"type": "object", "properties": {"kind": {"const": "text"}, "body": {"type": "string", "minLength": 1}}, "required": ["kind", "body"], "additionalProperties": false}, {"type": "object", "properties": {"kind": {"const": "link"}, "url": {"type": "string", "format": "uri"}}, "required": ["kind", "url"], "additionalProperties": false}]}, "tests": [{"valid": true, "data": {"kind": "link", "url": "https://example.org/a?b=c#d"}}]}
`

// BenchmarkMasks follows the valid and the invalid instances of schemas: each in a new grammar,
// token by token, with a mask for each. PENSTOCK_MASKBENCH is a file of schemas,
// PENSTOCK_GRAMMAR_VOCABULARY one whose tokens the masks are over. Reading, first masks and masks
// are as in the tool's report; the times are the processor's.
func BenchmarkMasks(b *testing.B) {
	data := []byte(own)
	if path := os.Getenv(dataEnv); path != "" {
		data = must.Get(os.ReadFile(path))(b)
	}
	clock, err := processorClock()
	if err != nil {
		b.Skip(err)
	}
	m := &bench{tokens: grammartest.Load(b, "../../.."), clock: clock}
	for b.Loop() {
		must.Get(measureAll(m, bytes.NewReader(data), 1, false))(b)
	}
	for name, times := range map[string][]time.Duration{"read": m.times.read, "first": m.times.first, "mask": m.times.masks} {
		mean, at := moments(times)
		b.ReportMetric(mean, name+"-mean-µs")
		b.ReportMetric(at(.5), name+"-p50-µs")
		b.ReportMetric(at(.99), name+"-p99-µs")
	}
}

// The benchmark's own schemas pass.
func TestRun_OwnSchemas(t *testing.T) {
	results, err := measureAll(&bench{clock: func() time.Duration { return 0 }}, bytes.NewReader([]byte(own)), 1, false)
	if err != nil || len(results) != 4 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for _, r := range results {
		if r.Result != passed {
			t.Errorf("%+v", r)
		}
	}
	if err := report(io.Discard, results, &times{}); err != nil {
		t.Error(err)
	}
}
