// SPDX-License-Identifier: MIT

// Command min-p is a plugin: it drops the tokens that are much less likely than the likeliest.
package main

import (
	"github.com/penstock/penstock/plugins/sdk/go/math32"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[minP](penstock.Manifest{
	Name:    "min-p",
	Version: "1.0.0",
	Summary: "drops tokens less likely than min_p times the likeliest",
	ConfigSchema: `{
		"type": "object",
		"additionalProperties": false,
		"properties": {
			"min_p": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.05, "description": "the share of the highest probability that a token needs"},
			"draw": {"type": "boolean", "default": false, "description": "choose the token too, instead of leaving that to later stages"}
		}
	}`,
})

func main() {}

// minP is the plugin in one request.
type minP struct {
	margin  float32 // how far below the highest logit a token may be; −Inf if as far as it likes
	draw    bool
	weights []float32
}

// Open implements penstock.Opener.
func (p *minP) Open(r *penstock.Request) error {
	// A probability is at least min_p times another where its logit is at most log(min_p) lower.
	p.margin = math32.Log(float32(r.Config.Get("min_p").Float()))
	p.draw = r.Config.Get("draw").Bool()
	return nil
}

// Sample implements penstock.Sampler. The candidates come best first, so those that are likely
// enough are the first ones.
func (p *minP) Sample(c *penstock.Candidates) penstock.Choice {
	logits := c.Logits()
	least := logits[0] + p.margin
	kept := 1
	for kept < len(logits) && logits[kept] >= least {
		kept++
	}
	if !p.draw {
		return penstock.Keep(kept)
	}
	left, sum := c.First(kept), float32(0)
	p.weights, sum = left.Softmax(p.weights)
	return penstock.Take(left.Draw(p.weights, sum))
}
