// SPDX-License-Identifier: MIT

package api

import (
	"math"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// maxTraced is how many candidates a trace shows at each point.
const maxTraced = 10

// tokenTrace is how a token came to be: what the chain found and what each stage left of it.
type tokenTrace struct {
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

// trace describes how the token of e came to be; nil where the request did not ask, or nothing chose it.
func (s *service) trace(e scheduler.Event) *tokenTrace {
	if e.Trace == nil {
		return nil
	}
	p := &tokenTrace{ID: e.Token, Token: s.Engine.Piece(e.Token), Before: s.survey(e.Trace.Before)}
	for _, st := range e.Trace.Stages {
		p.Stages = append(p.Stages, stageTrace{Name: st.Name, MS: milliseconds(st.Took), After: s.survey(st.After)})
	}
	return p
}

func (s *service) survey(v chain.Survey) survey {
	out := survey{N: v.Count, Best: make([]candidate, len(v.Best))}
	for i, b := range v.Best {
		logit := float32(leastLogprob) // JSON has no infinity: a plugin can choose a token that was banned
		if math.Abs(float64(b.Logit)) <= math.MaxFloat32 {
			logit = b.Logit
		}
		out.Best[i] = candidate{ID: b.Token, Token: s.Engine.Piece(b.Token), Logit: logit, P: b.P}
	}
	return out
}
