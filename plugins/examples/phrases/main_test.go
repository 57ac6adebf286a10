// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

const (
	end penstock.Token = iota
	cat
	sat
	dot
	think
	bye
	half // the first half of a trigger, behind something else
	rest // the second, before something else
	line
)

func request(config string) plugintest.Request {
	return plugintest.Request{Config: config, Pieces: []string{"", " cat", " sat", ".", "</think>", " bye", " so wa", "it! ", "\n"},
		Attributes: map[penstock.Token]penstock.Attributes{end: penstock.AttrControl | penstock.AttrEnd},
		Prompt:     []penstock.Token{cat, sat, cat, dot}, Sampling: `{"temperature":1}`}
}

// answer lets a session take tokens, each after what Prepare forces. It returns the answer.
func answer(s *plugintest.Session, tokens ...penstock.Token) []penstock.Token {
	forced := func() {
		for f := s.Prepare().Forced; len(f) > 0; f = s.Prepare().Forced {
			for _, t := range f {
				s.Accept(t)
			}
		}
	}
	for _, t := range tokens {
		forced()
		s.Accept(t)
	}
	forced()
	return s.History[len(s.Prompt):]
}

func TestPhrases_TriggerPhrase_WhereItComes(t *testing.T) {
	for name, c := range map[string]struct {
		config       string
		tokens, want []penstock.Token
	}{
		"behind a token":         {`{"phrase":" bye.","trigger_token_phrase":"</think>","trigger_after":true}`, []penstock.Token{cat, think, cat, think, cat}, []penstock.Token{cat, think, bye, dot, cat, think, cat}},
		"twice":                  {`{"phrase":" bye","trigger_token_phrase":"</think>","trigger_after":true,"trigger_count":2}`, []penstock.Token{think, think, think}, []penstock.Token{think, bye, think, bye, think}},
		"in place of a token":    {`{"phrase":" bye.","trigger_token_phrase":"</think>"}`, []penstock.Token{cat, think, cat, think}, []penstock.Token{cat, bye, dot, cat, think}},
		"in place of a text":     {`{"phrase":"\n bye","trigger_token_phrase":" wait!"}`, []penstock.Token{cat, half, rest, cat}, []penstock.Token{cat, 9, line, bye, cat}},
		"behind a text":          {`{"phrase":" bye","trigger_token_phrase":"wait","trigger_after":true}`, []penstock.Token{half, rest, cat}, []penstock.Token{half, rest, bye, cat}},
		"the prompt's is not":    {`{"phrase":" bye","trigger_token_phrase":"cat."}`, []penstock.Token{sat, cat, sat}, []penstock.Token{sat, cat, sat}},
		"nor that of a phrase":   {`{"phrase":" cat bye","trigger_token_phrase":" cat","trigger_count":3}`, []penstock.Token{cat, sat}, []penstock.Token{cat, bye, sat}},
		"after tokens":           {`{"phrase":" bye","trigger_tokens":2,"trigger_count":2}`, []penstock.Token{cat, cat, cat, cat, cat, cat}, []penstock.Token{cat, cat, bye, cat, cat, bye, cat, cat}},
		"by tokens or by a text": {`{"phrase":" bye","trigger_tokens":3,"trigger_token_phrase":"</think>","trigger_after":true}`, []penstock.Token{think, cat, cat, cat}, []penstock.Token{think, bye, cat, cat, cat}},
	} {
		r := request(`{"trigger_phrase":` + c.config + `}`)
		r.Pieces = append(r.Pieces, " so")
		if got := answer(plugintest.Open[phrases](t, r), c.tokens...); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestPhrases_ForceLastPhrase(t *testing.T) {
	inf := float32(math.Inf(-1))
	for name, c := range map[string]struct {
		sampling string
		ids      []penstock.Token
		logits   []float32
		want     penstock.Token // that is taken; cat: nothing is
	}{
		"no end among them": {`{}`, []penstock.Token{sat, cat}, []float32{2, 1}, cat},
		"an impossible one": {`{}`, []penstock.Token{sat, end}, []float32{2, inf}, cat},
		"greedy, the end":   {`{"temperature":0}`, []penstock.Token{end, sat}, []float32{2, 1}, bye},
		"greedy, another":   {`{"temperature":0}`, []penstock.Token{sat, end}, []float32{2, 1.9}, sat},
		"drawn":             {`{"temperature":1}`, []penstock.Token{end, sat}, []float32{50, 1}, bye},
		"drawn, another":    {`{"temperature":1}`, []penstock.Token{sat, end}, []float32{50, 1}, sat},
	} {
		r := request(`{"force_last_phrase":{"phrase":" bye."}}`)
		r.Sampling = c.sampling
		s := plugintest.Open[phrases](t, r)
		s.Accept(sat)
		token, took := s.Sample(c.ids, c.logits).Token()
		if took != (c.want != cat) || took && token != c.want {
			t.Errorf("%s: it took %d, %v", name, token, took)
			continue
		}
		if token != bye || !took {
			continue
		}
		s.Accept(bye)
		if got := answer(s); !slices.Equal(got, []penstock.Token{sat, bye, dot}) {
			t.Errorf("%s: the answer is %v", name, got)
		}
		if token, took := s.Sample([]penstock.Token{end, sat}, []float32{50, 1}).Token(); took {
			t.Errorf("%s: behind the phrase it takes %d, want it to let the answer end", name, token)
		}
		s.Rewind(len(s.Prompt) + 1)
		if token, took := s.Sample([]penstock.Token{end, sat}, []float32{50, 1}).Token(); !took || token != bye {
			t.Errorf("%s: where the phrase was taken back it takes %d, %v", name, token, took)
		}
	}
	r := request(`{"force_last_phrase":{"phrase":" bye."}}`)
	r.MaxTokens = 5
	if got, want := answer(plugintest.Open[phrases](t, r), cat, cat, cat), []penstock.Token{cat, cat, cat, bye, dot}; !slices.Equal(got, want) {
		t.Errorf("near max_tokens the answer is %v, want %v", got, want)
	}
}

// TestPhrases_ForceLastPhrase_DrawsAsOften has the end come as often as the candidates say.
func TestPhrases_ForceLastPhrase_DrawsAsOften(t *testing.T) {
	const runs = 800
	ended := 0
	for seed := range uint64(runs) {
		r := request(`{"force_last_phrase":{"phrase":" bye."}}`)
		r.Seed = seed
		token, took := plugintest.Open[phrases](t, r).Sample([]penstock.Token{sat, end, line}, []float32{0, 0, float32(math.Log(2))}).Token()
		if !took {
			t.Fatal("it took no token")
		}
		if token == bye {
			ended++
		}
	}
	if ended < runs/4-60 || ended > runs/4+60 {
		t.Errorf("the last phrase came %d times of %d, want a quarter", ended, runs)
	}
}

func TestPhrases_PreventHallucination(t *testing.T) {
	r := request(`{"prevent_hallucination":{"minp":0.5,"tolerate":1,"phrase":" bye."}}`)
	s := plugintest.Open[phrases](t, r)
	take := func(token penstock.Token, p float64) bool {
		l := float32(math.Log(p))
		s.Logprob = &l
		return s.Accept(token).Splice
	}
	for i, c := range []struct {
		p      float64
		splice bool
	}{{0.9, false}, {0.4, false}, {0.6, false}, {0.3, true}, {0.1, false}, {0.1, true}} {
		if got := take(cat, c.p); got != c.splice {
			t.Errorf("token %d of probability %v: it was replaced: %v", i, c.p, got)
		}
	}
	if got, want := s.History[len(s.Prompt):], []penstock.Token{cat, cat, cat, bye, dot, cat, bye, dot}; !slices.Equal(got, want) {
		t.Errorf("the answer is %v, want %v", got, want)
	}
	take(cat, 0.1)
	s.Rewind(len(s.History) - 1)
	if take(cat, 0.1) {
		t.Error("an unsure token that was taken back counts")
	}
}

func TestPhrases_Boosts(t *testing.T) {
	inf := float32(math.Inf(-1))
	for name, c := range map[string]struct {
		config string
		tokens []penstock.Token
		want   map[penstock.Token]float32
	}{
		"length, the square":         {`{"generation_length":{"boost_factor":0.5}}`, []penstock.Token{cat, cat, cat, cat}, map[penstock.Token]float32{end: 0.08}},
		"length, below 0":            {`{"generation_length":{"boost_factor":-1,"p":1}}`, []penstock.Token{cat, cat}, map[penstock.Token]float32{end: -0.2}},
		"not within a sentence":      {`{"generation_length":{"boost_factor":1,"p":1,"complete_sentences":true}}`, []penstock.Token{cat, cat}, nil},
		"behind a sentence":          {`{"generation_length":{"boost_factor":1,"p":1,"complete_sentences":true}}`, []penstock.Token{cat, dot}, map[penstock.Token]float32{end: 0.2}},
		"another token":              {`{"generation_length":{"boost_factor":1,"p":0,"boost_token_str":"</think>"}}`, []penstock.Token{cat}, map[penstock.Token]float32{think: 1}},
		"not once it has come":       {`{"generation_length":{"boost_factor":1,"p":0,"boost_token_str":"</think>"}}`, []penstock.Token{think, cat}, nil},
		"the prompt's tokens":        {`{"cite_from_prompt":{"boost_factor":2}}`, []penstock.Token{bye}, map[penstock.Token]float32{end: 2, cat: 2, sat: 2, dot: 2}},
		"without the end":            {`{"cite_from_prompt":{"boost_eos":false}}`, nil, map[penstock.Token]float32{cat: 1, sat: 1, dot: 1}},
		"those that follow the last": {`{"cite_from_prompt":{"boost_factor":-1,"boost_eos":false,"conditional_boost_factor":4}}`, []penstock.Token{cat}, map[penstock.Token]float32{cat: -1, sat: 3, dot: 3}},
		"at least":                   {`{"min_tokens":3}`, []penstock.Token{cat, cat}, map[penstock.Token]float32{end: inf}},
		"long enough":                {`{"min_tokens":2}`, []penstock.Token{cat, cat}, nil},
		"both":                       {`{"min_tokens":3,"generation_length":{"boost_factor":1},"cite_from_prompt":{}}`, []penstock.Token{cat}, map[penstock.Token]float32{end: inf, cat: 1, sat: 1, dot: 1}},
	} {
		s := plugintest.Open[phrases](t, request(c.config))
		answer(s, c.tokens...)
		if got := s.Prepare().Bias; !maps.EqualFunc(got, c.want, func(a, b float32) bool { return a == b || math.Abs(float64(a-b)) < 1e-6 }) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestPhrases_Time(t *testing.T) {
	s := plugintest.Open[phrases](t, request(`{"trigger_phrase":{"phrase":" bye","trigger_time":1.5,"trigger_count":2}}`))
	for _, ms := range []int{1400, 1501, 2000, 3001, 3002, 9000} {
		s.Elapsed = ms
		answer(s, cat)
	}
	if got, want := s.History[len(s.Prompt):], []penstock.Token{cat, cat, bye, cat, cat, cat, bye, cat}; !slices.Equal(got, want) {
		t.Errorf("the answer is %v, want %v", got, want)
	}
	for config, want := range map[string][]penstock.Token{
		`{"max_time":2}`: {end},
		`{"max_time":2,"boost_token_str":"</think>"}`: {think},
		`{"max_time":2,"complete_sentences":true}`:    nil,
		`{"max_time":3}`: nil,
	} {
		s := plugintest.Open[phrases](t, request(`{"max_time":`+config+`}`))
		s.Accept(cat)
		if s.Elapsed = 2001; !slices.Equal(s.Prepare().Forced, want) {
			t.Errorf("%s: after a word %v is forced, want %v", config, s.Prepare().Forced, want)
		}
		if s.Accept(dot); strings.Contains(config, "sentences") && !slices.Equal(s.Prepare().Forced, []penstock.Token{end}) {
			t.Errorf("%s: behind a sentence %v is forced", config, s.Prepare().Forced)
		}
	}
}

func TestPhrases_Plan_SaysWhatIsNeeded(t *testing.T) {
	for config, want := range map[string]string{
		`{"min_tokens":3}`: `"hold":0`,
		`{"trigger_phrase":{"phrase":" bye","trigger_token_phrase":"wait"}}`: `"hold":4`,
		`{"prevent_hallucination":{"phrase":"."}}`:                           `"hold":1`,
		`{"force_last_phrase":{"phrase":" bye"}}`:                            `"hold":0`,
	} {
		s := plugintest.Open[phrases](t, request(config))
		sampled := strings.Contains(config, "last")
		if !strings.Contains(s.Planned, want) || strings.Contains(s.Planned, "penstock_sample") != sampled {
			t.Errorf("%s: the plan is %s", config, s.Planned)
		}
	}
	_, err := plugintest.TryOpen[phrases](t, request(`{"generation_length":{"boost_factor":1,"boost_token_str":" cat sat"}}`))
	if !errors.Is(err, plugintest.ErrRefused) || !strings.Contains(err.Error(), "boost_token_str") {
		t.Errorf("got %v, want a refusal", err)
	}
}
