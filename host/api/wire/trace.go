// SPDX-License-Identifier: MIT

package wire

import (
	"math"
	"strings"

	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// client is who injected or took back what no stage did.
const client = "client"

// TokenTrace is how a token came into an answer: who put it there, what the chain found and what
// each stage left of it.
type TokenTrace struct {
	ID        scheduler.Token `json:"id"`
	Token     string          `json:"token"`
	How       string          `json:"how"` // see chain.Origin
	By        string          `json:"by"`
	Before    survey          `json:"before"`
	Prepared  []preparedTrace `json:"prepared,omitempty"`
	Stages    []stageTrace    `json:"stages"`
	Accepted  []timed         `json:"accepted,omitempty"`
	Notes     []note          `json:"notes,omitempty"`
	TakenBack []takenBack     `json:"taken_back,omitempty"`
}

type note struct {
	By   string `json:"by"`
	Text string `json:"text"`
}

type timed struct {
	Name string  `json:"name"`
	MS   float64 `json:"ms"`
}

type preparedTrace struct {
	timed
	Allowed *int `json:"allowed,omitempty"`
	Banned  int  `json:"banned,omitempty"`
	Biased  int  `json:"biased,omitempty"`
}

type stageTrace struct {
	timed
	After survey `json:"after"`
}

// survey describes the candidates at one point of the chain: how many there are, and the most
// likely of them.
type survey struct {
	N      int         `json:"n"`
	Best   []candidate `json:"best"`
	Chosen *place      `json:"chosen,omitempty"` // where the token stands that the answer got; absent if it is no candidate
}

type candidate struct {
	ID    scheduler.Token `json:"id"`
	Token string          `json:"token"`
	Logit float32         `json:"logit"`
	P     float32         `json:"p"`
}

type place struct {
	Rank  int     `json:"rank"`
	Logit float32 `json:"logit"`
	P     float32 `json:"p"`
}

type takenBack struct {
	By     string       `json:"by"`
	Text   string       `json:"text"`
	Tokens []takenToken `json:"tokens"`
}

type takenToken struct {
	ID    scheduler.Token `json:"id"`
	Token string          `json:"token"`
	Trace *TokenTrace     `json:"trace,omitempty"`
}

// TraceOf describes how a token came into an answer; nil where the request did not ask.
func TraceOf(engine serving.Engine, token scheduler.Token, t *chain.Trace) *TokenTrace {
	if t == nil {
		return nil
	}
	out := &TokenTrace{ID: token, Token: engine.Piece(token), How: t.How.String(), By: nameOf(t.By), Before: surveyOf(engine, t.Before),
		Stages: make([]stageTrace, len(t.Stages)), Accepted: make([]timed, len(t.Accepted))}
	for i, st := range t.Stages {
		out.Stages[i] = stageTrace{timedOf(chain.Timed{Name: st.Name, Took: st.Took}), surveyOf(engine, st.After)}
	}
	for i, a := range t.Accepted {
		out.Accepted[i] = timedOf(a)
	}
	for _, n := range t.Notes {
		out.Notes = append(out.Notes, note{n.By, n.Text})
	}
	for _, p := range t.Prepared {
		one := preparedTrace{timed: timedOf(p.Timed), Banned: p.Banned, Biased: p.Biased}
		if p.Allowed >= 0 {
			one.Allowed = &p.Allowed
		}
		out.Prepared = append(out.Prepared, one)
	}
	for _, back := range t.TakenBack {
		out.TakenBack = append(out.TakenBack, takenBackOf(engine, back))
	}
	return out
}

func takenBackOf(engine serving.Engine, back chain.TakenBack) takenBack {
	out := takenBack{By: nameOf(back.By), Tokens: make([]takenToken, len(back.Tokens))}
	var text strings.Builder // the pieces of one character may be those of several tokens
	for i, taken := range back.Tokens {
		text.WriteString(engine.Piece(taken.Token))
		out.Tokens[i] = takenToken{taken.Token, engine.Piece(taken.Token), TraceOf(engine, taken.Token, taken.Trace)}
	}
	out.Text = text.String()
	return out
}

func nameOf(by string) string {
	if by == "" {
		return client
	}
	return by
}

func timedOf(t chain.Timed) timed { return timed{t.Name, milliseconds(t.Took)} }

func surveyOf(engine serving.Engine, v chain.Survey) survey {
	out := survey{N: v.Count, Best: make([]candidate, len(v.Best))}
	for i, b := range v.Best {
		out.Best[i] = candidate{ID: b.Token, Token: engine.Piece(b.Token), Logit: finite(b.Logit), P: b.P}
	}
	if c := v.Chosen; c.Rank > 0 {
		out.Chosen = &place{c.Rank, finite(c.Logit), c.P}
	}
	return out
}

// finite is a logit as JSON can have it: a plugin can choose a token that was banned.
func finite(logit float32) float32 {
	if math.Abs(float64(logit)) <= math.MaxFloat32 {
		return logit
	}
	return leastLogprob
}
