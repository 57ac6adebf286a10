// SPDX-License-Identifier: MIT

package dev

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
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

// findDifference finds the first token at which two answers differ. stage is the plugin's name in
// traces.
func findDifference(before, after *TracedAnswer, stage string) *Difference {
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
	return &Difference{Token: at + 1, Before: before.partAt(at, stage), After: after.partAt(at, stage)}
}

// partAt shows the answer at one token; nil: it has ended before.
func (a *TracedAnswer) partAt(at int, stage string) *Part {
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

// shownCandidates is how many candidates are listed.
const shownCandidates = 5

// Print writes a round for people.
func (r Round) Print(to io.Writer) error {
	if r.Error != "" {
		what := "not loaded, the last build stays"
		if r.Plugin != "" {
			what = r.Plugin + " is loaded, but the question was not answered"
		}
		_, err := fmt.Fprintf(to, "%s: %s\n", what, r.Error)
		return err
	}
	fmt.Fprintf(to, "%s: built in %.1f s, loaded in %.0f ms, asked in %.0f ms\n", r.Plugin, r.BuildMS/1000, r.LoadMS, r.AnswerMS)
	if r.Difference == nil {
		fmt.Fprintf(to, "  the answer is the same: %s\n", r.After)
	} else {
		fmt.Fprintf(to, "  before: %s\n  after:  %s\n", r.Before, r.After)
	}
	for _, o := range r.After.Outputs {
		fmt.Fprintf(to, "  output: %s\n", o)
	}
	return r.Difference.print(to)
}

// String is an answer in one line.
func (a *TracedAnswer) String() string {
	return fmt.Sprintf("%s [%s after %d tokens]", strconv.Quote(a.Text), a.Reason, len(a.Tokens))
}

// print tells where two answers part.
func (d *Difference) print(to io.Writer) error {
	if d == nil || d.Token == 0 {
		return nil
	}
	fmt.Fprintf(to, "  the first difference is token %d: %s before, %s after\n", d.Token, d.Before, d.After)
	for _, side := range []struct {
		name string
		part *Part
	}{{"before", d.Before}, {"after", d.After}} {
		if p := side.part; p != nil && p.Found != nil {
			fmt.Fprintf(to, "    %s: the plugin found %d candidates and left %d\n", side.name, p.Found.N, p.Left.N)
			if err := printCandidates(to, *p.Found, *p.Left); err != nil {
				return err
			}
		}
	}
	return nil
}

// String is the token, and who put it there.
func (p *Part) String() string {
	if p == nil {
		return "the end"
	}
	return fmt.Sprintf("%q by %s", p.Piece, p.By)
}

// printCandidates writes the most likely candidates side by side.
func printCandidates(to io.Writer, found, left Survey) error {
	table := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0)
	for i := range shownCandidates {
		if line := []string{formatCandidate(found, i), formatCandidate(left, i)}; line[0]+line[1] != "" {
			fmt.Fprintf(table, "      %s\n", strings.Join(line, "\t"))
		}
	}
	return table.Flush()
}

func formatCandidate(s Survey, i int) string {
	if i >= len(s.Best) {
		return ""
	}
	return fmt.Sprintf("%5.1f%% %q", 100*s.Best[i].P, s.Best[i].Piece)
}
