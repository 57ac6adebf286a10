// SPDX-License-Identifier: MIT

// Command phrases is a plugin: it puts phrases into an answer, and steers its length and its words,
// as the processors of NVIDIA's logits-processor-zoo do.
package main

import (
	"bytes"
	"fmt"
	"math"

	"github.com/penstock/penstock/plugins/sdk/go/json"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[phrases](penstock.Manifest{
	Name:    "phrases",
	Version: "1.0.0",
	Summary: "inserts phrases at triggers, before the end, or where the model is unsure; steers length, time and words",
	Hold:    mostBack,
	Place:   penstock.Last,
	Biases:  mostBiases,
	Splice:  mostTokens,
	ConfigSchema: `{
		"title": "Phrases",
		"type": "object",
		"additionalProperties": false,
		"properties": {
			"min_tokens": {"title": "At least", "type": "integer", "minimum": 0, "maximum": 1000000, "default": 0, "description": "tokens before the answer may end"},
			"generation_length": {"title": "Length", "type": "object", "additionalProperties": false, "required": ["boost_factor"], "properties": {
				"boost_factor": {"title": "Boost", "type": "number", "minimum": -100, "maximum": 100, "description": "the end's logit grows by this times (tokens / 10) ^ p; below 0 answers become longer"},
				"p": {"title": "Power", "type": "number", "minimum": 0, "maximum": 10, "default": 2},
				"complete_sentences": {"title": "Whole sentences", "type": "boolean", "default": false, "description": "only behind a full stop or a line break"},
				"boost_token_str": {"title": "Instead of the end", "type": "string", "maxLength": 100, "default": "", "description": "one token, such as </think>"}}},
			"max_time": {"title": "Time", "type": "object", "additionalProperties": false, "required": ["max_time"], "properties": {
				"max_time": {"title": "At most", "type": "number", "exclusiveMinimum": 0, "maximum": 100000, "description": "seconds since the request came; then the answer ends"},
				"complete_sentences": {"title": "Whole sentences", "type": "boolean", "default": false, "description": "only behind a full stop or a line break"},
				"boost_token_str": {"title": "Instead of the end", "type": "string", "maxLength": 100, "default": "", "description": "one token, such as </think>"}}},
			"cite_from_prompt": {"title": "Words of the prompt", "type": "object", "additionalProperties": false, "properties": {
				"boost_factor": {"title": "Boost", "type": "number", "minimum": -100, "maximum": 100, "default": 1, "description": "what the logits of the prompt's tokens grow by"},
				"boost_eos": {"title": "The end too", "type": "boolean", "default": true},
				"conditional_boost_factor": {"title": "After the same token", "type": "number", "minimum": -100, "maximum": 100, "default": 0, "description": "what those grow by that follow the last token in the prompt"}}},
			"force_last_phrase": {"title": "Last phrase", "type": "object", "additionalProperties": false, "required": ["phrase"], "properties": {
				"phrase": {"title": "Phrase", "type": "string", "minLength": 1, "maxLength": 1000, "description": "comes where the answer would end, or where max_tokens is near"}}},
			"trigger_phrase": {"title": "Trigger", "type": "object", "additionalProperties": false, "required": ["phrase"], "anyOf": [{"required": ["trigger_token_phrase"]}, {"required": ["trigger_tokens"]}, {"required": ["trigger_time"]}], "properties": {
				"phrase": {"title": "Phrase", "type": "string", "minLength": 1, "maxLength": 1000},
				"trigger_token_phrase": {"title": "Where this comes", "type": "string", "minLength": 1, "maxLength": 60},
				"trigger_tokens": {"title": "After so many tokens", "type": "integer", "minimum": 1, "maximum": 1000000},
				"trigger_time": {"title": "After so many seconds", "type": "number", "exclusiveMinimum": 0, "maximum": 100000, "description": "since the request came, and since the phrase came last"},
				"trigger_count": {"title": "Times", "type": "integer", "minimum": 1, "maximum": 1000, "default": 1},
				"trigger_after": {"title": "Behind the trigger", "type": "boolean", "default": false, "description": "the phrase follows the trigger, in place of replacing it"}}},
			"prevent_hallucination": {"title": "Fallback", "type": "object", "additionalProperties": false, "properties": {
				"minp": {"title": "Unsure below", "type": "number", "exclusiveMinimum": 0, "maximum": 1, "default": 0.4, "description": "a token of a lower probability counts"},
				"tolerate": {"title": "Tolerated", "type": "integer", "minimum": 0, "maximum": 1000, "default": 1, "description": "so many such tokens; the next is replaced by the phrase"},
				"phrase": {"title": "Phrase", "type": "string", "minLength": 1, "maxLength": 1000, "default": "...I don't know actually.\n"}}}
		}
	}`,
})

func main() {}

const (
	mostBack   = 64   // tokens that a phrase replaces
	mostTokens = 1024 // of a phrase
)

// phrases is the plugin in one request.
type phrases struct {
	ends []penstock.Token

	least, prompt, most int // tokens: before the end, of the prompt, of the answer
	greedy              bool
	length              *length
	limit               *limit
	cite                *cite
	last                *phrase // nil: there is none
	trigger             *trigger
	fallback            *fallback
	planned             bool
	said                []*phrase // those that there are

	inserted []insertion // in their order
	amounts  amounts
	text     []byte
	piece    []byte
	weights  []float32
}

// phrase is a text as tokens.
type phrase struct {
	text   string
	tokens []penstock.Token
}

// insertion is a phrase that begins at a place in the history.
type insertion struct {
	of     *phrase
	at     int
	tokens []penstock.Token
}

type trigger struct {
	*phrase
	text  string
	token penstock.Token // that the text is; MediaToken, which never comes: it is none
	every int            // tokens; 0: they do not count
	time  float64        // milliseconds; 0: they do not count
	since int            // when the phrase came last
	count int
	after bool
}

type fallback struct {
	*phrase
	least    float32 // logarithm of a probability
	tolerate int
	unsure   []int // where in the history less likely tokens are, since the phrase came last
}

// Warm implements penstock.Warmer.
func (p *phrases) Warm(words *penstock.Vocabulary) error {
	for t := range penstock.Token(words.Len()) {
		if penstock.AttributesOf(t)&penstock.AttrEnd != 0 && len(p.ends) < 128 {
			p.ends = append(p.ends, t)
		}
	}
	return nil
}

func (p *phrases) read(config json.Value) *phrase {
	text := config.Get("phrase").Text()
	of := &phrase{text, penstock.Tokenize(text, penstock.ParseSpecial)}
	p.said = append(p.said, of)
	return of
}

// Plan implements penstock.Planner: it leaves out what a configuration does not need.
func (p *phrases) Plan(config json.Value, plan *penstock.Plan) error {
	p.planned, p.least = true, config.Get("min_tokens").Int()
	if c := config.Get("generation_length"); c.Kind() == json.Object {
		end, err := newClosing("generation_length", c, p.ends)
		if err != nil {
			return err
		}
		p.length = &length{end, c.Get("boost_factor").Float(), c.Get("p").Float()}
	}
	if c := config.Get("max_time"); c.Kind() == json.Object {
		end, err := newClosing("max_time", c, p.ends)
		if err != nil {
			return err
		}
		p.limit = &limit{end, 1000 * c.Get("max_time").Float()}
	}
	if c := config.Get("cite_from_prompt"); c.Kind() == json.Object {
		p.cite = newCite(c)
	}
	hold := 0
	if c := config.Get("force_last_phrase"); c.Kind() == json.Object {
		p.last = p.read(c)
	}
	if c := config.Get("trigger_phrase"); c.Kind() == json.Object {
		p.trigger = &trigger{phrase: p.read(c), text: c.Get("trigger_token_phrase").Text(), token: penstock.MediaToken,
			every: c.Get("trigger_tokens").Int(), time: 1000 * c.Get("trigger_time").Float(), count: c.Get("trigger_count").Int(), after: c.Get("trigger_after").Bool()}
		if tokens := penstock.Tokenize(p.trigger.text, penstock.ParseSpecial); len(tokens) == 1 {
			p.trigger.token = tokens[0]
		}
		if !p.trigger.after {
			hold = min(len(p.trigger.text), mostBack) // were each byte a token
		}
	}
	if c := config.Get("prevent_hallucination"); c.Kind() == json.Object {
		p.fallback = &fallback{phrase: p.read(c), least: float32(math.Log(c.Get("minp").Float())), tolerate: c.Get("tolerate").Int()}
		hold = max(hold, 1)
	}
	if plan == nil {
		return nil
	}
	plan.Hold, plan.NoLogprob, plan.NoHiddenState, plan.NoNotes = hold, p.fallback == nil, true, true
	if p.last == nil {
		plan.View, plan.Without = penstock.None, append(plan.Without, penstock.CallSample)
	}
	if p.trigger == nil && p.fallback == nil {
		plan.Without = append(plan.Without, penstock.CallAccept)
	}
	return nil
}

// Open implements penstock.Opener.
func (p *phrases) Open(r *penstock.Request) error {
	if !p.planned { // the host has no plans
		if err := p.Plan(r.Config, nil); err != nil {
			return err
		}
	}
	p.prompt, p.most = r.PromptTokens, r.MaxTokens
	p.greedy = r.Sampling().Get("temperature").Kind() == json.Number && r.Sampling().Get("temperature").Float() <= 0
	for _, of := range p.said {
		if len(of.tokens) == 0 || len(of.tokens) > mostTokens-64 {
			return fmt.Errorf("phrase: %.40q is %d tokens of this model; give one of 1 to %d", of.text, len(of.tokens), mostTokens-64)
		}
	}
	if p.cite != nil {
		p.cite.read(p.ends)
	}
	return nil
}

// times is how often a phrase was inserted.
func (p *phrases) times(of *phrase) (n int) {
	for _, i := range p.inserted {
		if i.of == of {
			n++
		}
	}
	return n
}

// Prepare implements penstock.Preparer.
func (p *phrases) Prepare(next *penstock.Next) {
	n := penstock.HistoryLen()
	if len(p.inserted) > 0 {
		if i := p.inserted[len(p.inserted)-1]; i.at <= n && n < i.at+len(i.tokens) {
			next.Force(i.tokens[n-i.at:]...)
			return
		}
	}
	if p.last != nil && p.most > 0 && n-p.prompt >= p.most-len(p.last.tokens) && n-p.prompt < p.most && p.times(p.last) == 0 {
		p.inserted = append(p.inserted, insertion{p.last, n, p.last.tokens})
		next.Force(p.last.tokens...)
		return
	}
	if l := p.limit; l != nil && len(l.tokens) > 0 && float64(penstock.Elapsed()) > l.milliseconds && l.may(n-p.prompt) {
		next.Force(l.tokens[0])
		return
	}
	p.amounts.clear()
	if p.cite != nil {
		p.cite.add(&p.amounts)
	}
	if p.length != nil {
		p.length.add(&p.amounts, n-p.prompt)
	}
	if n-p.prompt < p.least {
		for _, t := range p.ends {
			p.amounts.add(t, float32(math.Inf(-1)))
		}
	}
	for _, t := range p.amounts.tokens {
		next.Bias(t, p.amounts.of[t])
	}
}

// Sample implements penstock.Sampler. Where an end token is among the candidates, it draws itself,
// as the host would: if that comes, the last phrase begins in its place.
func (p *phrases) Sample(c *penstock.Candidates) penstock.Choice {
	ends := false
	for i, t := range c.IDs() {
		ends = ends || penstock.AttributesOf(t)&penstock.AttrEnd != 0 && !math.IsInf(float64(c.Logits()[i]), -1)
	}
	if !ends || p.times(p.last) > 0 {
		return penstock.Keep(c.Len())
	}
	t := c.IDs()[0]
	if !p.greedy {
		var sum float32
		p.weights, sum = c.Softmax(p.weights)
		t = c.Draw(p.weights, sum)
	}
	if penstock.AttributesOf(t)&penstock.AttrEnd != 0 {
		p.inserted = append(p.inserted, insertion{p.last, penstock.HistoryLen(), p.last.tokens})
		t = p.last.tokens[0]
	}
	return penstock.Take(t)
}

// Accept implements penstock.Accepter.
func (p *phrases) Accept(t penstock.Token) penstock.Accepted {
	n := penstock.HistoryLen()
	if len(p.inserted) > 0 {
		if i := p.inserted[len(p.inserted)-1]; n <= i.at+len(i.tokens) {
			return penstock.Continue // a phrase triggers none
		}
	}
	if f := p.fallback; f != nil {
		if l, known := penstock.Logprob(); known && l < f.least {
			f.unsure = append(f.unsure, n-1)
			if len(f.unsure) > f.tolerate {
				f.unsure = f.unsure[:0]
				return p.replace(f.phrase, 1, f.tokens)
			}
		}
	}
	g := p.trigger
	if g == nil || p.times(g.phrase) >= g.count {
		return penstock.Continue
	}
	start := p.prompt
	for _, i := range p.inserted {
		if i.of == g.phrase {
			start = i.at + len(i.tokens)
		}
	}
	late := g.time > 0 && float64(penstock.Elapsed()-g.since) > g.time
	if late || g.every > 0 && n-start >= g.every {
		if late {
			g.since = penstock.Elapsed()
		}
		p.inserted = append(p.inserted, insertion{g.phrase, n, g.tokens})
		return penstock.Continue
	}
	back, kept := p.found(t)
	switch {
	case back == 0:
	case g.after || back > mostBack:
		p.inserted = append(p.inserted, insertion{g.phrase, n, g.tokens})
	case kept == "":
		return p.replace(g.phrase, back, g.tokens)
	default:
		return p.replace(g.phrase, back, penstock.Tokenize(kept+g.phrase.text, penstock.ParseSpecial))
	}
	return penstock.Continue
}

func (p *phrases) replace(of *phrase, back int, tokens []penstock.Token) penstock.Accepted {
	p.inserted = append(p.inserted, insertion{of, penstock.HistoryLen() - back, tokens})
	return penstock.Splice(back, tokens...)
}

// found reports in how many of the last tokens the trigger is, of which the last completes it; 0:
// it is not there. kept is what the first of these has before it.
func (p *phrases) found(t penstock.Token) (back int, kept string) {
	g := p.trigger
	if t == g.token {
		return 1, ""
	}
	if g.text == "" {
		return 0, ""
	}
	p.piece = penstock.Piece(t, p.piece)
	if len(p.piece) == 0 {
		return 0, ""
	}
	p.text = penstock.AnswerText(-(len(g.text) + len(p.piece) - 1), p.text)
	at := bytes.Index(p.text, []byte(g.text))
	if at < 0 {
		return 0, ""
	}
	behind := len(p.text) - at // bytes from the trigger on
	tokens, length := penstock.HistoryFrom(-min(len(g.text)+1, penstock.HistoryLen()-p.prompt), nil), 0
	for length < behind && back < len(tokens) {
		back++
		p.piece = penstock.Piece(tokens[len(tokens)-back], p.piece)
		length += len(p.piece)
	}
	if length > behind {
		kept = string(p.piece[:length-behind])
	}
	return back, kept
}

// Rewind implements penstock.Rewinder. What was not drawn keeps its place.
func (p *phrases) Rewind(n int) error {
	for len(p.inserted) > 0 && p.inserted[len(p.inserted)-1].at >= n {
		p.inserted = p.inserted[:len(p.inserted)-1]
	}
	if f := p.fallback; f != nil {
		for len(f.unsure) > 0 && f.unsure[len(f.unsure)-1] >= n {
			f.unsure = f.unsure[:len(f.unsure)-1]
		}
	}
	return nil
}
