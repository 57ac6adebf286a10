// SPDX-License-Identifier: MIT

package dev

import (
	"encoding/json"
	"slices"
)

// TracedAnswer is what a host answered.
type TracedAnswer struct {
	Text    string            `json:"text"`
	Reason  string            `json:"reason"`            // why it ended: stop, length, …
	Outputs []json.RawMessage `json:"outputs,omitempty"` // what the plugin handed to the client
	Tokens  []Token           `json:"tokens"`
}

// Token is one of an answer, with the candidates that the model and the stages had for it.
type Token struct {
	Piece  string  `json:"token"`
	How    string  `json:"how"` // chosen, forced, spliced or injected
	By     string  `json:"by"`
	Before Survey  `json:"before"` // what the model computed
	Stages []Stage `json:"stages"`
}

// Stage is what one stage of the sampler chain left.
type Stage struct {
	Name  string  `json:"name"`
	MS    float64 `json:"ms"`
	After Survey  `json:"after"`
}

// Survey is how many candidates there are, and the most likely of them.
type Survey struct {
	N    int         `json:"n"`
	Best []Candidate `json:"best"`
}

// Candidate is a token that may come next, with its probability.
type Candidate struct {
	Piece string  `json:"token"`
	P     float64 `json:"p"`
}

// choice is an answer as the API has it.
type choice struct {
	Message       struct{ Content string }
	FinishReason  string `json:"finish_reason"`
	Trace         []Token
	PluginOutputs []struct{ Value json.RawMessage } `json:"plugin_outputs"`
}

func (c choice) answer() *TracedAnswer {
	a := &TracedAnswer{Text: c.Message.Content, Reason: c.FinishReason, Tokens: c.Trace}
	for _, o := range c.PluginOutputs {
		a.Outputs = append(a.Outputs, o.Value)
	}
	return a
}

// Difference is where two answers part.
type Difference struct {
	Token  int   `json:"token"` // from 1: the first that is not the same; 0: all that both have are
	Before *Part `json:"before,omitempty"`
	After  *Part `json:"after,omitempty"`
}

// Part is one answer at the token at which two differ.
type Part struct {
	Piece string  `json:"token"`
	By    string  `json:"by"`
	Found *Survey `json:"found,omitempty"` // what the plugin found; nil: it did not look at this token's candidates
	Left  *Survey `json:"left,omitempty"`  // what it left
}

// compare finds the first token at which two answers differ. stage is the plugin's name in traces.
func compare(before, after *TracedAnswer, stage string) *Difference {
	n := min(len(before.Tokens), len(after.Tokens))
	at := 0
	for at < n && before.Tokens[at].Piece == after.Tokens[at].Piece {
		at++
	}
	if at == n && len(before.Tokens) == len(after.Tokens) {
		if before.Text == after.Text && before.Reason == after.Reason {
			return nil
		}
		return &Difference{} // a stop rule shows more or less of the same tokens
	}
	return &Difference{Token: at + 1, Before: before.part(at, stage), After: after.part(at, stage)}
}

// part is the answer at one token; nil where it has ended.
func (a *TracedAnswer) part(at int, stage string) *Part {
	if at >= len(a.Tokens) {
		return nil
	}
	t := a.Tokens[at]
	p := &Part{Piece: t.Piece, By: t.By}
	i := slices.IndexFunc(t.Stages, func(s Stage) bool { return s.Name == stage })
	if i < 0 {
		i = slices.IndexFunc(t.Stages, func(s Stage) bool { return s.Name == "prepare" }) // masks and biases
	}
	switch {
	case i == 0:
		p.Found, p.Left = &t.Before, &t.Stages[0].After
	case i > 0:
		p.Found, p.Left = &t.Stages[i-1].After, &t.Stages[i].After
	}
	return p
}
