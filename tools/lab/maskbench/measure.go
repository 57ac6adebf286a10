// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/grammartest"
	"github.com/penstock/penstock/host/grammar/schema"
)

// What became of a schema.
const (
	passed    = "pass"
	forbidden = "forbidden" // a valid instance is not possible
	allowed   = "allowed"   // an invalid one is
	refused   = "refused"
)

// result is a schema's.
type result struct {
	Name     string `json:"name"`
	Result   string `json:"result"`
	Why      string `json:"why,omitempty"`      // the sentence of a refusal
	Instance string `json:"instance,omitempty"` // the first that is wrong, and how far it was followed
	Valid    int    `json:"valid"`              // instances that are valid
	Failed   int    `json:"failed,omitempty"`   // of these, those that are not possible
	Read     int64  `json:"read_us"`            // microseconds
	Slowest  int64  `json:"slowest_us"`         // of the masks
}

// times are of what was done, all schemas together.
type times struct {
	read, first, masks []time.Duration // read: schemas; first: from the schema to the first mask; masks: each
}

// bench measures.
type bench struct {
	options schema.Options
	tokens  *grammartest.Tokens // nil: bytes are followed
	clock   func() time.Duration
	times   times
	mask    []uint32
}

// measure measures one schema.
func (b *bench) measure(c *schemaCase) result {
	r := result{Name: c.Name, Result: passed}
	begun := b.clock()
	builder := grammar.NewBuilder()
	root, _, err := schema.Read(builder, c.Schema, b.options)
	var g *grammar.Grammar
	if err == nil {
		g, err = builder.Build(root)
	}
	took := b.clock() - begun
	r.Read = took.Microseconds()
	b.times.read = append(b.times.read, took)
	if err != nil {
		r.Result, r.Why = refused, err.Error()
		return r
	}
	if b.tokens != nil {
		if _, err := b.fill(g, g.Start()); err == nil {
			b.times.first = append(b.times.first, b.clock()-begun)
		}
	}
	for i := range c.Tests {
		t := &c.Tests[i]
		texts, err := t.texts()
		if err != nil {
			r.Result, r.Why = refused, "the data is no JSON: "+err.Error()
			return r
		}
		possible, end := false, ""
		for _, text := range texts {
			at, slowest, err := b.follow(g, text)
			r.Slowest = max(r.Slowest, slowest.Microseconds())
			if err == nil && at == len(text) {
				possible = true
				break
			}
			end = fmt.Sprintf("%.300s[HERE: %v]%.100s", text[:at], err, text[at:])
		}
		b.judge(&r, t, possible, end)
	}
	return r
}

// judge puts an instance into the result. What is allowed weighs more than what is forbidden.
func (b *bench) judge(r *result, t *instance, possible bool, end string) {
	if t.Valid {
		r.Valid++
	}
	switch {
	case possible == t.Valid:
	case t.Valid:
		r.Failed++
		if r.Result == passed {
			r.Result, r.Instance = forbidden, end
		}
	case r.Result != allowed:
		r.Result, r.Instance = allowed, fmt.Sprintf("%.400s", t.Data)
	}
}

// follow follows a text until it does not fit, and says how far it came: less than all of it where
// it may not end there, too.
func (b *bench) follow(g *grammar.Grammar, text []byte) (at int, slowest time.Duration, err error) {
	if b.tokens == nil {
		at, err = followBytes(g, text)
		return at, 0, err
	}
	s := g.Start()
	for _, token := range b.tokens.Of(string(text)) {
		took, err := b.fill(g, s)
		slowest = max(slowest, took)
		if err != nil {
			return at, slowest, err
		}
		next, ok, err := g.Token(s, b.tokens.Vocabulary, token)
		if err != nil || !ok || !b.has(token) {
			return at, slowest, err
		}
		s, at = next, at+len(b.tokens.Pieces[token])
	}
	took, err := b.fill(g, s)
	switch complete := g.Complete(s); {
	case err == nil && len(b.tokens.End) > 0 && complete != slices.ContainsFunc(b.tokens.End, b.has):
		return len(text) - 1, took, errors.New("the mask is wrong about the end")
	case !complete:
		return min(at, len(text)-1), max(slowest, took), err
	}
	return at, max(slowest, took), err
}

// has reports whether the mask has a token.
func (b *bench) has(token int32) bool { return b.mask[token/32]>>(token%32)&1 == 1 }

// followBytes is follow without tokens.
func followBytes(g *grammar.Grammar, text []byte) (at int, err error) {
	s := g.Start()
	for ; at < len(text); at++ {
		next, ok, err := g.Advance(s, text[at:at+1])
		if err != nil || !ok {
			return at, err
		}
		s = next
	}
	if !g.Complete(s) {
		return max(0, at-1), nil
	}
	return at, nil
}

// fill makes the mask, and notes how long it took.
func (b *bench) fill(g *grammar.Grammar, s grammar.State) (time.Duration, error) {
	if b.mask == nil {
		b.mask = make([]uint32, b.tokens.Words())
	}
	before := b.clock()
	err := g.Mask(s, b.tokens.Vocabulary, b.mask)
	took := b.clock() - before
	b.times.masks = append(b.times.masks, took)
	return took, err
}

// schemaCase is a line of the data.
type schemaCase struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Tests  []instance      `json:"tests"`
}

// instance is a text that a schema must take, or must not.
type instance struct {
	Valid bool            `json:"valid"`
	Data  json.RawMessage `json:"data"`
}

// isTool reports whether the schema may be that of a tool's arguments.
func (c *schemaCase) isTool() bool {
	var s struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(c.Schema, &s) != nil || s.Type != "object" {
		return false
	}
	for _, t := range c.Tests {
		if t.Valid && !bytes.HasPrefix(t.Data, []byte("{")) {
			return false
		}
	}
	return true
}

// texts are the ways in which an instance is written, members in its order: with a blank behind
// each comma and colon, and without.
func (t *instance) texts() ([][]byte, error) {
	var all [][]byte
	for _, blanks := range []bool{true, false} {
		v := jsontext.Value(bytes.Clone(t.Data))
		err := v.Format(jsontext.SpaceAfterColon(blanks), jsontext.SpaceAfterComma(blanks), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// particular is what differs between sentences of one kind: places, quotations and numbers.
var particular = regexp.MustCompile(`#[^ ]*: |"[^"]*"|'[^']*'|[0-9][0-9,.]*`)

// report writes the counts, the reasons of refusals and the times.
func report(out io.Writer, results []result, t *times) error {
	counts, whys := map[string]int{}, map[string]int{}
	valid, failed := 0, 0
	for i := range results {
		r := &results[i]
		counts[r.Result]++
		valid, failed = valid+r.Valid, failed+r.Failed
		if r.Result == refused {
			whys[particular.ReplaceAllString(r.Why, "…")]++
		}
	}
	total := max(1, len(results))
	for _, name := range []string{passed, forbidden, allowed, refused} {
		if _, err := fmt.Fprintf(out, "%-10s %6d  %5.1f %%\n", name, counts[name], 100*float64(counts[name])/float64(total)); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "of %d valid instances of schemas that were read %d are not possible (%.2f %%)\n", valid, failed, 100*float64(failed)/float64(max(1, valid)))
	byCount := func(a, b string) int { return cmp.Or(whys[b]-whys[a], cmp.Compare(a, b)) }
	for _, why := range slices.SortedFunc(maps.Keys(whys), byCount) {
		fmt.Fprintf(out, "%6d  %.160s\n", whys[why], why)
	}
	for _, row := range []struct {
		name  string
		times []time.Duration
	}{{"schema read", t.read}, {"first mask", t.first}, {"mask", t.masks}} {
		if len(row.times) > 0 {
			fmt.Fprintf(out, "%-12s %s\n", row.name, summary(row.times))
		}
	}
	return nil
}

// summary is the mean and the quantiles of some times, in microseconds.
func summary(all []time.Duration) string {
	mean, at := moments(all)
	return fmt.Sprintf("n %d, mean %.1f µs, p50 %.1f, p90 %.1f, p99 %.1f, p99.9 %.1f, max %.1f", len(all), mean, at(.5), at(.9), at(.99), at(.999), at(1))
}

// moments sorts some times, and returns their mean and what their quantiles are, in microseconds.
func moments(all []time.Duration) (mean float64, quantile func(float64) float64) {
	slices.Sort(all)
	var sum time.Duration
	for _, d := range all {
		sum += d
	}
	at := func(q float64) float64 { return micros(all[min(len(all)-1, int(q*float64(len(all))))]) }
	return micros(sum) / float64(len(all)), at
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
