// SPDX-License-Identifier: MIT

package wire

import (
	"math"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// TokenTrace is how a token came to be: what the chain found and what each stage left of it.
type TokenTrace struct {
	ID     scheduler.Token `json:"id"`
	Token  string          `json:"token"`
	Before survey          `json:"before"`
	Stages []stageTrace    `json:"stages"`
}

type stageTrace struct {
	Name  string  `json:"name"`
	MS    float64 `json:"ms"`
	After survey  `json:"after"`
}

// survey describes the candidates at one point of the chain: how many there are, and the most likely of them.
type survey struct {
	N    int         `json:"n"`
	Best []candidate `json:"best"`
}

type candidate struct {
	ID    scheduler.Token `json:"id"`
	Token string          `json:"token"`
	Logit float32         `json:"logit"`
	P     float32         `json:"p"`
}

// TraceOf describes how the token of e came to be; nil where the request did not ask, or nothing chose it.
func TraceOf(engine completion.Engine, e scheduler.Event) *TokenTrace {
	if e.Trace == nil {
		return nil
	}
	p := &TokenTrace{ID: e.Token, Token: engine.Piece(e.Token), Before: surveyOf(engine, e.Trace.Before)}
	for _, st := range e.Trace.Stages {
		p.Stages = append(p.Stages, stageTrace{Name: st.Name, MS: milliseconds(st.Took), After: surveyOf(engine, st.After)})
	}
	return p
}

func surveyOf(engine completion.Engine, v chain.Survey) survey {
	out := survey{N: v.Count, Best: make([]candidate, len(v.Best))}
	for i, b := range v.Best {
		logit := float32(leastLogprob) // JSON has no infinity: a plugin can choose a token that was banned
		if math.Abs(float64(b.Logit)) <= math.MaxFloat32 {
			logit = b.Logit
		}
		out.Best[i] = candidate{ID: b.Token, Token: engine.Piece(b.Token), Logit: logit, P: b.P}
	}
	return out
}
