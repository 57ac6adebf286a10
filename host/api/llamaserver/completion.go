// SPDX-License-Identifier: MIT

package llamaserver

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/openai"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
)

// completionBody is POST /completion.
type completionBody struct {
	completion.CommonFields
	Model  string          `json:"model"`
	Prompt json.RawMessage `json:"prompt"`
	Stop   json.RawMessage `json:"stop"`

	// Three names of one thing; the first that is there counts.
	NPredict            *int `json:"n_predict"`
	MaxCompletionTokens *int `json:"max_completion_tokens"`
	MaxTokens           *int `json:"max_tokens"`

	// Two names of one thing, and of another.
	NCmpl    *int `json:"n_cmpl"`
	N        *int `json:"n"`
	NProbs   *int `json:"n_probs"`
	Logprobs *int `json:"logprobs"`

	PostSamplingProbs bool   `json:"post_sampling_probs"`
	NKeep             *int   `json:"n_keep"`
	NDiscard          int    `json:"n_discard"`
	NIndent           int    `json:"n_indent"`
	TMaxPredictMS     int64  `json:"t_max_predict_ms"`
	IDSlot            *int   `json:"id_slot"`
	NCacheReuse       int    `json:"n_cache_reuse"`
	ReasoningFormat   string `json:"reasoning_format"`
	BackendSampling   bool   `json:"backend_sampling"`

	Stream          bool     `json:"stream"`
	SSEPingInterval int      `json:"sse_ping_interval"`
	ResponseFields  []string `json:"response_fields"`
	ReturnTokens    bool     `json:"return_tokens"`
	ReturnProgress  bool     `json:"return_progress"`
	TimingsPerToken bool     `json:"timings_per_token"`
	Verbose         bool     `json:"verbose"`
}

func defaultBody() completionBody {
	return completionBody{CommonFields: completion.DefaultCommonFields(), TMaxPredictMS: -1, ReasoningFormat: "deepseek"}
}

func (a API) completion(c echo.Context) error {
	b := defaultBody()
	size, err := wire.ReadBody(c, &b)
	if err != nil {
		return err
	}
	return a.complete(c, &b, size, completion.Texts{JSON: b.Prompt})
}

// infillBody is POST /infill: a completion whose prompt is made of what surrounds a gap.
type infillBody struct {
	completionBody
	Prompt *string           `json:"prompt"`
	Prefix *string           `json:"input_prefix"`
	Suffix *string           `json:"input_suffix"`
	Extra  []completion.File `json:"input_extra"`
}

// infill fills in the middle.
func (a API) infill(c echo.Context) error {
	b := infillBody{completionBody: defaultBody()}
	size, err := wire.ReadBody(c, &b)
	if err != nil {
		return err
	}
	gap := completion.Infill{Prefix: b.Prefix, Suffix: b.Suffix, Extra: b.Extra}
	if b.Prompt != nil {
		gap.Prompt = *b.Prompt
	}
	return a.complete(c, &b.completionBody, size, gap)
}

// complete answers a completion.
func (a API) complete(c echo.Context, b *completionBody, size int, prompt completion.Source) error {
	if err := b.check(); err != nil {
		return err
	}
	b.clampParams()
	asked, err := b.asked(wire.CallerOf(c), size, prompt)
	if err != nil {
		return err
	}
	r, err := a.Prompt(c.Request().Context(), asked)
	if err != nil {
		return err
	}
	return a.Answer(c, r, newCompletionShape(r, b), b.Stream)
}

// check refuses what is out of range, besides what completion does.
func (b *completionBody) check() error {
	for _, f := range []struct {
		name      string
		value     *int
		low, high int
	}{
		{"n_predict", b.NPredict, -1, math.MaxInt32}, {"max_completion_tokens", b.MaxCompletionTokens, -1, math.MaxInt32},
		{"max_tokens", b.MaxTokens, -1, math.MaxInt32}, {"n_keep", b.NKeep, -1, math.MaxInt32}, {"n_discard", &b.NDiscard, 0, math.MaxInt32},
		{"n_indent", &b.NIndent, 0, math.MaxInt32}, {"n_cache_reuse", &b.NCacheReuse, 0, math.MaxInt32},
		{"sse_ping_interval", &b.SSEPingInterval, -1, math.MaxInt32}, {"n_probs", b.NProbs, math.MinInt32, mostProbs},
		{"logprobs", b.Logprobs, math.MinInt32, mostProbs},
	} {
		if f.value != nil && (*f.value < f.low || *f.value > f.high) {
			return refusal.Invalid(f.name, "%s is %d; it must be from %d to %d", f.name, *f.value, f.low, f.high)
		}
	}
	if b.TMaxPredictMS < -1 {
		return refusal.Invalid("t_max_predict_ms", "t_max_predict_ms is %d; it must be at least -1", b.TMaxPredictMS)
	}
	if b.DrySequenceBreakers != nil && len(b.DrySequenceBreakers) == 0 {
		return refusal.Invalid("dry_sequence_breakers", "dry_sequence_breakers is empty; it must be a list of texts, or be left out")
	}
	switch b.ReasoningFormat {
	case "none", "auto", "deepseek", "deepseek-legacy":
		return nil
	}
	return refusal.Invalid("reasoning_format", "reasoning_format is %q; it must be none, auto, deepseek or deepseek-legacy", b.ReasoningFormat)
}

// The bounds of the alternatives reported with each token: before the sampler chain, and after it,
// where each sampler is looked at.
const (
	mostProbs      = 1000
	mostCandidates = 100
)

// clampParams moves sampling parameters into their ranges where llama-server does so. Fields that
// are not given stay unset: it is no number.
func (b *completionBody) clampParams() {
	unit := func(v float32) float32 { return max(0, min(v, 1)) }
	if b.TopK != sampling.Unset {
		b.TopK = max(0, b.TopK)
	}
	if b.Mirostat != sampling.Unset {
		b.Mirostat = max(0, min(b.Mirostat, 2))
	}
	b.TopP, b.MinP = unit(b.TopP), unit(b.MinP)
	b.XTCProbability, b.XTCThreshold = unit(b.XTCProbability), unit(b.XTCThreshold)
	b.Temperature, b.AdaptiveTarget = max(0, b.Temperature), max(-1, min(b.AdaptiveTarget, 1))
	if b.DryBase < 1 {
		b.DryBase = sampling.UnsetFields().DryBase
	}
}

// asked is the request that a body of size bytes is.
func (b *completionBody) asked(from completion.Caller, size int, prompt completion.Source) (completion.Asked, error) {
	a := completion.Asked{Caller: from, ModelName: b.Model, PromptField: "prompt", Common: b.CommonFields, Size: size, Source: prompt}
	a.Answers = completion.Answers{PerPrompt: firstGiven(1, b.NCmpl, b.N), OnePerSlot: "n_cmpl", Logprobs: -1, ReturnTokens: b.ReturnTokens, Keep: b.NKeep, Discard: b.NDiscard, Progress: b.ReturnProgress && b.Stream}
	if b.NCmpl == nil {
		a.OnePerSlot = "n"
	}
	if n := b.limit(); n >= 0 {
		n = max(1, n) // as llama-server does
		a.Limit = &n
	}
	if b.IDSlot != nil && *b.IDSlot != -1 {
		a.Slot = b.IDSlot
	}
	if n := max(0, firstGiven(0, b.NProbs, b.Logprobs)); n > 0 {
		a.Logprobs = n
		if b.NProbs != nil {
			a.LogprobsField = "n_probs"
		}
		if b.PostSamplingProbs {
			a.Candidates = n
		}
		if a.Candidates > mostCandidates {
			return a, refusal.Invalid("n_probs", "n_probs is %d; with post_sampling_probs it must be at most %d", n, mostCandidates)
		}
	}
	if most := time.Duration(b.TMaxPredictMS) * time.Millisecond; b.NIndent > 0 || most > 0 {
		a.Lines = completion.LineRule{Indent: b.NIndent, Most: max(0, most), Stream: b.Stream}
	}
	var err error
	a.Stops, err = completion.ReadStops(b.Stop, "stop")
	return a, err
}

// limit is how many tokens to generate: -1 for as many as the server allows.
func (b *completionBody) limit() int {
	return firstGiven(-1, b.NPredict, b.MaxCompletionTokens, b.MaxTokens)
}

// firstGiven is the first value that is there.
func firstGiven(otherwise int, values ...*int) int {
	for _, v := range values {
		if v != nil {
			return *v
		}
	}
	return otherwise
}

// randomSeed is how llama.cpp writes that a seed is to be drawn.
const randomSeed = 1<<32 - 1

// legacyReasoning is the format that leaves reasoning in the content too.
const legacyReasoning = "deepseek-legacy"

// settings are generation_settings: what an answer is generated with.
type settings map[string]any

// samplingSettings describes sampling parameters; all other settings have their defaults.
func samplingSettings(p sampling.Params) settings {
	s := settings(p.Values())
	maps.Copy(s, settings{
		"seed": p.Seed, "max_tokens": -1, "n_predict": -1, "n_keep": 0, "n_discard": 0, "n_probs": 0, "stream": false,
		"timings_per_token": false, "post_sampling_probs": false, "backend_sampling": false, "lora": []any{},
		"chat_format": "Content-only", "reasoning_format": "none", "reasoning_in_content": false, "generation_prompt": "",
	})
	return s
}

// defaultSettings describes a request that sets nothing. Two lists are in an answer's settings
// only, as with llama-server.
func defaultSettings(m *serving.Model) settings {
	p := m.Defaults.Sampling.Params()
	if !m.Defaults.Sampling.Seeded() {
		p.Seed = randomSeed
	}
	s := samplingSettings(p)
	s["speculative.types"] = drafters(m)
	delete(s, "dry_sequence_breakers")
	delete(s, "preserved_tokens")
	return s
}

// drafters are what guesses tokens of a model's answers.
func drafters(m *serving.Model) string { return cmp.Or(m.Compute.Drafter, "none") }

// settings describes what one choice of a request with this body is computed with.
func (b *completionBody) settings(r *completion.Prompted, choice int) settings {
	p := r.Params.ForChoice(uint32(choice % r.PerPrompt))
	if b.Seed == nil && !r.Model.Defaults.Sampling.Seeded() || b.Seed != nil && *b.Seed < 0 {
		p.Seed = randomSeed
	}
	s := samplingSettings(p)
	maps.Copy(s, formatSettings(r, p))
	maps.Copy(s, settings{
		"stop": append(append([]string{}, r.Stops...), r.Rendered.Stops...), "logit_bias": biases(r),
		"lora": adapters(r.Adapters), "speculative.types": drafters(r.Model),
		"max_tokens": b.limit(), "n_predict": b.limit(), "n_keep": r.Shift().Keep, "n_discard": b.NDiscard, "n_probs": firstGiven(0, b.NProbs, b.Logprobs), "stream": b.Stream,
		"timings_per_token": b.TimingsPerToken, "post_sampling_probs": b.PostSamplingProbs, "backend_sampling": b.BackendSampling,
		"reasoning_format": b.ReasoningFormat, "reasoning_in_content": b.Stream && b.ReasoningFormat == legacyReasoning,
	})
	if format := r.Rendered.Format; format != "" {
		reasoning := r.Rendered.ReasoningFormat
		maps.Copy(s, settings{"chat_format": format, "reasoning_format": reasoning, "reasoning_in_content": b.Stream && reasoning == legacyReasoning,
			"generation_prompt": r.Rendered.GenerationPrompt})
	}
	if b.limit() == -1 && r.Model.Defaults.MaxTokens > 0 && b.unlimited() {
		s["n_predict"], s["max_tokens"] = r.Model.Defaults.MaxTokens, r.Model.Defaults.MaxTokens
	}
	return s
}

// formatSettings describes what the answer must look like: what the request gave, or the grammar
// of its chat's format. It was not refused, so there are no errors.
func formatSettings(r *completion.Prompted, p sampling.Params) settings {
	triggers, _ := r.Model.Engine.Triggers(context.Background(), p)
	preserved := append([]int32{}, r.Preserved...)
	slices.Sort(preserved)
	s := settings{"grammar": p.Grammar, "grammar_lazy": p.GrammarLazy, "grammar_triggers": append([]sampling.Trigger{}, triggers...),
		"preserved_tokens": preserved, "generation_prompt": p.GenerationPrompt}
	if len(p.JSONSchema) > 0 {
		s["json_schema"] = p.JSONSchema
	}
	if p.Regex != "" {
		s["regex"] = p.Regex
	}
	return s
}

// unlimited reports whether the body says nothing of the length of the answer.
func (b *completionBody) unlimited() bool {
	return b.NPredict == nil && b.MaxCompletionTokens == nil && b.MaxTokens == nil
}

// adapters lists the LoRA adapters that a request names.
func adapters(scales []serving.AdapterScale) []map[string]any {
	list := []map[string]any{}
	for _, s := range scales {
		entry := map[string]any{"id": s.ID, "scale": s.Scale}
		if s.Name != "" {
			entry = map[string]any{"name": s.Name, "scale": s.Scale}
		}
		list = append(list, entry)
	}
	return list
}

// tokenBias is one entry of logit_bias; null bans the token.
type tokenBias struct {
	Bias  *float32 `json:"bias"`
	Token int32    `json:"token"`
}

// biases lists the biases of a request by token, and after them those of the tokens that may not
// end the answer.
func biases(r *completion.Prompted) []tokenBias {
	list := []tokenBias{}
	for _, token := range slices.Sorted(maps.Keys(r.Params.LogitBias)) {
		entry := tokenBias{Token: token}
		if bias := r.Params.LogitBias[token]; bias >= lowest {
			entry.Bias = &bias
		}
		list = append(list, entry)
	}
	if r.Params.IgnoreEOS {
		for _, token := range r.Model.Vocabulary.Ends {
			list = append(list, tokenBias{Token: token})
		}
	}
	return list
}

// completionShape is a completion: a frame for each token, and a description of how the answer was
// generated.
type completionShape struct {
	request *completion.Prompted
	body    *completionBody
	fields  []string // response_fields
	states  map[int]*state
}

func newCompletionShape(r *completion.Prompted, b *completionBody) *completionShape {
	return &completionShape{request: r, body: b, fields: b.ResponseFields, states: map[int]*state{}}
}

// state is what is noted of one answer.
type state struct {
	partial     []byte            // the beginning of a character
	held        string            // text of tokens whose last character is incomplete
	newLine     bool              // text that was shown has one
	tokens      []scheduler.Token // the one that ended the answer included
	probs       []tokenProb
	begun       time.Time // its slot was given
	first, last time.Time // the first and the last token came
}

// partialAnswer is a frame of a stream.
type partialAnswer struct {
	Index     int               `json:"index"`
	Content   string            `json:"content"`
	Tokens    []scheduler.Token `json:"tokens"`
	Stop      bool              `json:"stop"`
	Slot      int               `json:"id_slot"` // always -1, as from llama-server
	Predicted int               `json:"tokens_predicted"`
	Evaluated int               `json:"tokens_evaluated"`
	wire.Measured
	Probs []tokenProb       `json:"completion_probabilities,omitempty"`
	Trace []wire.TokenTrace `json:"trace,omitempty"`
	wire.Branches
}

// Event implements wire.Detailed.
func (s *completionShape) Event(c *completion.Choice, d completion.Delta) []any {
	st := s.states[c.Index]
	if st == nil {
		st = &state{begun: time.Now()}
		s.states[c.Index] = st
	}
	switch d.Event.Kind {
	case scheduler.KindStarted:
		return s.progress(c, st, c.Start.CachedTokens)
	case scheduler.KindProgress:
		return s.progress(c, st, d.Event.Computed)
	case scheduler.KindToken:
		return s.token(c, st, d.Event.Token, d.Content, answer.Details{Logprobs: d.Event.Logprobs, Trace: d.Event.Trace})
	case scheduler.KindBranches:
		return s.branches(c, st, d)
	case scheduler.KindEnd:
		return s.end(c, st, d.Content)
	}
	return nil
}

func (s *completionShape) progress(c *completion.Choice, st *state, computed int) []any {
	if !s.request.Progress {
		return nil
	}
	took := time.Since(st.begun)
	p := &partialAnswer{Index: c.Index, Tokens: []scheduler.Token{0}, Slot: -1, Evaluated: c.Start.PromptTokens}
	p.Progress = &wire.Progress{Total: c.Start.PromptTokens, Cache: c.Start.CachedTokens, Processed: computed, TimeMS: took.Milliseconds()}
	if s.body.TimingsPerToken {
		t := wire.TimingsOf(scheduler.End{Usage: scheduler.Usage{Prompt: computed, Cached: c.Start.CachedTokens}, Timing: scheduler.Timing{Prefill: took}})
		p.Timings = &t
	}
	return []any{p}
}

// branches is the frame of what has become of a program's branches.
func (s *completionShape) branches(c *completion.Choice, st *state, d completion.Delta) []any {
	told := wire.DetailsOf(c, d).Branches
	if told.IsEmpty() {
		return nil
	}
	return []any{&partialAnswer{Index: c.Index, Tokens: []scheduler.Token{}, Slot: -1, Predicted: len(st.tokens), Evaluated: c.Start.PromptTokens, Branches: told}}
}

// token is the frame of a token; none while its character is incomplete. What text it has then
// comes with the next frame.
func (s *completionShape) token(c *completion.Choice, st *state, t scheduler.Token, text string, d answer.Details) []any {
	st.last = time.Now()
	if st.first.IsZero() {
		st.first = st.last
	}
	st.tokens = append(st.tokens, t)
	st.partial = append(st.partial, s.request.Model.Engine.Shown(t)...)
	if n := unfinishedBytes(st.partial); n > 0 {
		st.partial = append(st.partial[:0], st.partial[len(st.partial)-n:]...)
		st.held += text
		return nil
	}
	st.partial = st.partial[:0]
	text, st.held = st.held+text, ""
	st.noteShown(text)
	tokens := []scheduler.Token{}
	if s.request.ShowsTokens() {
		tokens = append(tokens, t)
	}
	p := &partialAnswer{Index: c.Index, Content: text, Tokens: tokens, Slot: -1, Predicted: len(st.tokens), Evaluated: c.Start.PromptTokens}
	if s.body.TimingsPerToken {
		p.Timings = st.timings(c)
	}
	if s.request.Candidates > 0 && d.Trace != nil && len(d.Trace.Stages) > 0 || s.request.Candidates == 0 && d.Logprobs != nil {
		prob := probOf(s.request, t, text, d)
		p.Probs = []tokenProb{prob}
		if !s.body.Stream {
			st.probs = append(st.probs, prob)
		}
	}
	if trace := wire.TraceOf(s.request.Model.Engine, t, d.Trace); trace != nil && s.request.Params.Trace {
		p.Trace = []wire.TokenTrace{*trace}
	}
	return []any{p}
}

// end is the frame of the token that ended the answer, if one did, and the last frame. The last
// has text that was held back until then.
func (s *completionShape) end(c *completion.Choice, st *state, text string) (frames []any) {
	if e := c.End.EndToken; e != nil {
		frames, text = s.token(c, st, e.Token, text, e.Details), ""
	}
	text, st.held = st.held+text, ""
	st.noteShown(text)
	final := s.describeEnd(c, st)
	final["content"], final["tokens"] = text, []scheduler.Token{}
	return append(frames, pickFields(final, s.fields))
}

// Whole implements wire.Shape: a list, if there are several answers.
func (s *completionShape) Whole(choices []*completion.Choice, wholes []*wire.Whole) any {
	all := make([]any, len(choices))
	for i, c := range choices {
		st := s.states[c.Index]
		final := s.describeEnd(c, st)
		final["content"], final["tokens"] = wholes[i].Content.String(), []scheduler.Token{}
		if s.body.ReturnTokens {
			final["tokens"] = append([]scheduler.Token{}, st.tokens...)
		}
		if probs := s.wholeProbs(c, st); len(probs) > 0 {
			final["completion_probabilities"] = probs
		}
		if len(wholes[i].Traces) > 0 {
			final["trace"] = wholes[i].Traces
		}
		if told := wholes[i].Branches; !told.IsEmpty() {
			final["branches"], final["branches_left_out"] = told.Branches, told.LeftOut
		}
		all[i] = pickFields(final, s.fields)
	}
	if len(all) == 1 {
		return all[0]
	}
	return all
}

// wholeProbs are the probabilities of an answer's tokens, without as many as the stop string that
// ended it has.
func (s *completionShape) wholeProbs(c *completion.Choice, st *state) []tokenProb {
	if c.End.Stop == "" {
		return st.probs
	}
	word, err := s.request.Model.Encoder().Plain(context.Background(), c.End.Stop)
	if err != nil {
		return st.probs
	}
	return st.probs[:max(0, len(st.probs)-len(word))]
}

// Start implements wire.Shape.
func (*completionShape) Start(*completion.Choice) []any { return nil }

// Part implements wire.Shape.
func (*completionShape) Part(*completion.Choice, completion.Delta) []any { return nil }

// Last implements wire.Shape.
func (*completionShape) Last(*completion.Choice) []any { return nil }

// Closing implements wire.Shape.
func (*completionShape) Closing([]*completion.Choice) []any { return nil }

// Framing implements wire.Shape.
func (*completionShape) Framing() wire.Framing { return wire.Events }

// Describe is the shape of a completion for a request that came by OpenAI's API, which shows it
// beside its own.
func Describe(r *completion.Prompted, of *openai.AnswerFields) wire.Detailed {
	b := defaultBody()
	b.CommonFields, b.Stream, b.ReturnProgress, b.TimingsPerToken = r.Common, of.Stream, of.ReturnProgress, of.TimingsPerToken
	if r.MaxTokens > 0 {
		b.NPredict = &r.MaxTokens
	}
	if r.Logprobs > 0 {
		b.NProbs = &r.Logprobs
	}
	return newCompletionShape(r, &b)
}

// lowest is the least number that JSON can hold in 32 bits; it stands for the logarithm of nothing.
const lowest = -math.MaxFloat32

// tokenProb is a token with its probability, as a logarithm unless it is one after the sampler
// chain.
type tokenProb struct {
	ID         scheduler.Token `json:"id"`
	Token      string          `json:"token"`
	Bytes      []int           `json:"bytes"`
	Logprob    *float32        `json:"logprob,omitempty"`
	Prob       *float32        `json:"prob,omitempty"`
	TopLogprob []tokenProb     `json:"top_logprobs,omitempty"`
	TopProb    []tokenProb     `json:"top_probs,omitempty"`
}

func newTokenProb(t scheduler.Token, text string) tokenProb {
	bytes := make([]int, len(text))
	for i := range len(text) {
		bytes[i] = int(text[i])
	}
	return tokenProb{ID: t, Token: text, Bytes: bytes}
}

// probOf describes a token, which has sent a text, and what else was likely.
func probOf(r *completion.Prompted, t scheduler.Token, text string, d answer.Details) tokenProb {
	p := newTokenProb(t, text)
	if r.Candidates > 0 {
		p.Prob = new(float32)
		for _, s := range drawnFrom(d.Trace) {
			if s.Token == t {
				*p.Prob = s.P
			}
			if s.P > 0 && len(p.TopProb) < r.Candidates {
				one := newTokenProb(s.Token, r.Model.Engine.Shown(s.Token))
				one.Prob = &s.P
				p.TopProb = append(p.TopProb, one)
			}
		}
		return p
	}
	p.Logprob = logOf(d.Logprobs.Token)
	for _, c := range d.Logprobs.Top {
		one := newTokenProb(c.Token, r.Model.Engine.Shown(c.Token))
		one.Logprob = logOf(c.Logprob)
		p.TopLogprob = append(p.TopLogprob, one)
	}
	return p
}

// drawnFrom are the candidates among which the token was drawn: what the stage before the last has
// left.
func drawnFrom(t *chain.Trace) []chain.Score {
	switch {
	case t == nil || len(t.Stages) == 0:
		return nil
	case len(t.Stages) == 1: // a chain that could not be taken apart
		return t.Stages[0].After.Best
	}
	return t.Stages[len(t.Stages)-2].After.Best
}

func logOf(v float32) *float32 {
	v = max(v, lowest) // NaN stays, which no row has
	return &v
}

// describeEnd describes an answer at its end, but for its text.
func (s *completionShape) describeEnd(c *completion.Choice, st *state) map[string]any {
	prompt, err := s.request.Model.Engine.Detokenize(c.Request.TextTokens(c.Index / s.request.PerPrompt))
	if err != nil {
		prompt = "" // the tokens were computed, so they have a text
	}
	final := map[string]any{
		"index": c.Index, "id_slot": c.Start.Slot, "stop": true, "model": s.request.Model.Name,
		"tokens_predicted": c.End.Usage.Generated, "tokens_evaluated": c.End.Usage.Prompt, "tokens_cached": c.End.Usage.Context,
		"generation_settings": s.body.settings(c.Request.Prompted, c.Index), "prompt": prompt,
		"has_new_line": st.newLine, "truncated": c.End.Truncated, "stop_type": c.StopType(), "stopping_word": c.End.Stop,
		"timings": wire.TimingsOf(c.End),
	}
	if id := c.Request.RecordingID(); id != "" {
		final["recording"] = id
	}
	if signed := c.Receipt(); signed != "" {
		final["receipt"] = signed
	}
	if plugin := c.StoppedBy(); plugin != "" {
		final["stopped_by"] = plugin
	}
	if outputs := wire.OutputsOf(c); outputs != nil {
		final["plugin_outputs"] = outputs
	}
	return final
}

// pickFields takes fields out of an object; "a/b" is the field b of the object a. Those that are
// not there are left out. Without any it takes the whole object.
func pickFields(object map[string]any, fields []string) map[string]any {
	if len(fields) == 0 {
		return object
	}
	picked := map[string]any{}
	for _, field := range fields {
		var at any = object
		for name := range strings.SplitSeq(field, "/") {
			switch o := at.(type) {
			case map[string]any:
				at = o[name]
			case settings:
				at = o[name]
			default:
				at = nil
			}
		}
		if at != nil {
			picked[field] = at
		}
	}
	return picked
}

// noteShown notes that text was shown.
func (st *state) noteShown(text string) { st.newLine = st.newLine || strings.Contains(text, "\n") }

// timings measures an answer that has not ended.
func (st *state) timings(c *completion.Choice) *wire.Timings {
	t := wire.TimingsOf(scheduler.End{
		Usage:  scheduler.Usage{Prompt: c.Start.PromptTokens, Cached: c.Start.CachedTokens, Generated: len(st.tokens)},
		Timing: scheduler.Timing{Prefill: st.first.Sub(st.begun), Decode: max(st.last.Sub(st.first), time.Microsecond)},
	})
	return &t
}

// unfinishedBytes is the length of an unfinished but so far valid character at the end of text.
func unfinishedBytes(text []byte) int {
	for n := 1; n <= min(utf8.UTFMax-1, len(text)); n++ {
		if c := text[len(text)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(text[len(text)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
