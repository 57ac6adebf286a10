// SPDX-License-Identifier: MIT

// Command min-p is a plugin: it drops the tokens that are much less likely than the likeliest.
package main

import (
	"github.com/penstock/penstock/plugins/sdk/go/math32"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/sampler"
)

func init() {
	p := &minP{}
	penstock.Register(penstock.Manifest{
		Name:    "min-p",
		Version: "1.0.0",
		Summary: "drops tokens less likely than min_p times the likeliest",
		ConfigSchema: `{
			"type": "object",
			"additionalProperties": false,
			"properties": {
				"min_p": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.05},
				"draw": {"type": "boolean", "default": false, "description": "choose the token too, instead of leaving that to later stages"}
			}
		}`,
	}, p.open)
	sampler.Register(p)
}

func main() {}

// minP is the plugin in one request.
type minP struct {
	margin  float32 // how far below the highest logit a token may be; −Inf if as far as it likes
	draw    bool
	weights []float32
}

func (p *minP) open() error {
	config, err := penstock.Config()
	if err != nil {
		return err
	}
	// A probability is at least min_p times another where its logit is at most log(min_p) lower.
	p.margin = math32.Log(float32(config.Get("min_p").Number(0.05)))
	p.draw = config.Get("draw").Bool(false)
	return nil
}

// Sample implements sampler.Sampler.
func (p *minP) Sample(v sampler.View) penstock.Token {
	least := v.Highest() + p.margin
	for i, x := range v.Logit {
		if x < least {
			v.Ban(i)
		}
	}
	if !p.draw {
		return sampler.Edited
	}
	var sum float32
	p.weights, sum = v.Softmax(p.weights)
	return v.Draw(p.weights, sum)
}
