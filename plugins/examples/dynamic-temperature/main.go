// SPDX-License-Identifier: MIT

// Command dynamic-temperature is a plugin: it is cool where the model is sure and warm where it is
// not.
package main

import (
	"github.com/penstock/penstock/plugins/sdk/go/math32"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[dynamic](penstock.Manifest{
	Name:    "dynamic-temperature",
	Version: "1.0.0",
	Summary: "a temperature between min and max that grows with the entropy of the candidates",
	ConfigSchema: `{
		"type": "object",
		"additionalProperties": false,
		"properties": {
			"min": {"type": "number", "minimum": 0.01, "maximum": 100, "default": 0.5, "description": "the temperature where one candidate has all the probability"},
			"max": {"type": "number", "minimum": 0.01, "maximum": 100, "default": 1.5, "description": "the temperature where all candidates have the same"},
			"exponent": {"type": "number", "minimum": 0.01, "maximum": 100, "default": 1, "description": "the higher it is, the longer the temperature stays near min"}
		}
	}`,
})

func main() {}

// dynamic is the plugin in one request.
type dynamic struct {
	min, max, exponent float32
	weights            []float32
}

// Open implements penstock.Opener.
func (d *dynamic) Open(r *penstock.Request) error {
	d.min = float32(r.Config.Get("min").Float())
	d.max = float32(r.Config.Get("max").Float())
	d.exponent = float32(r.Config.Get("exponent").Float())
	return nil
}

// Sample implements penstock.Sampler.
func (d *dynamic) Sample(c *penstock.Candidates) penstock.Choice {
	inverse := 1 / d.temperature(c)
	logits := c.Logits()
	for i := range logits {
		logits[i] *= inverse // −Inf stays what it is
	}
	return penstock.Edited
}

// temperature goes from min, where one candidate has all the probability, to max, where all have
// the same.
func (d *dynamic) temperature(c *penstock.Candidates) float32 {
	var sum float32
	d.weights, sum = c.Softmax(d.weights)
	var entropy float32
	left := 0
	for _, w := range d.weights {
		if w > 0 {
			p := w / sum
			entropy -= float32(p * math32.Log(p))
			left++
		}
	}
	if left < 2 {
		return d.min
	}
	share := entropy / math32.Log(float32(left))
	if share <= 0 {
		return d.min
	}
	share = min(share, 1)
	return d.min + float32((d.max-d.min)*math32.Exp(d.exponent*math32.Log(share)))
}
