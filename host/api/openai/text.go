// SPDX-License-Identifier: MIT

package openai

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
)

// textBody is POST /v1/completions.
type textBody struct {
	AnswerFields
	Prompt   json.RawMessage `json:"prompt"`
	Suffix   string          `json:"suffix"`
	Echo     bool            `json:"echo"`
	BestOf   *int            `json:"best_of"`
	Logprobs *int            `json:"logprobs"`
}

// asked is the request that a body of size bytes is.
func (b *textBody) asked(from completion.Caller, size int) (completion.Asked, error) {
	a, err := b.AnswerFields.asked(from, size, b.Echo)
	if err != nil {
		return a, err
	}
	a.PromptField, a.Source = "prompt", completion.Texts{JSON: b.Prompt, Suffix: b.Suffix, Echo: b.Echo}
	if top := b.Logprobs; top != nil {
		if *top < 0 || *top > MaxLogprobs {
			return a, refusal.Invalid("logprobs", "logprobs is %d; it must be from 0 to %d", *top, MaxLogprobs)
		}
		a.Logprobs = *top
	}
	if a.PromptLogprobs = b.Echo && b.Logprobs != nil; a.PromptLogprobs && b.Suffix != "" {
		return a, refusal.Unsupported("suffix", "suffix is set with echo and logprobs; the prompt that fills in the middle is not the text that is echoed: leave out one of the three")
	}
	return a, b.askBest(&a)
}

// askBest has best_of answers generated to each prompt, of which the n most likely are shown.
func (b *textBody) askBest(a *completion.Asked) error {
	switch best := b.BestOf; {
	case best == nil || *best == a.PerPrompt:
	case *best < a.PerPrompt || *best > maxChoices:
		return refusal.Invalid("best_of", "best_of is %d; it must be from n (%d) to %d", *best, a.PerPrompt, maxChoices)
	case b.Stream:
		return refusal.Invalid("best_of", "best_of is %d, more than n (%d), which cannot be streamed: the best answer is known when all have ended", *best, a.PerPrompt)
	default:
		a.PerPrompt, a.Logprobs = *best, max(a.Logprobs, 0)
	}
	return nil
}

// textShape is OpenAI's text completion.
type textShape struct {
	answerHeads
	body    *textBody
	prompts []echoed           // with which the answers begin; none: they do not
	states  map[int]*textState // by choice
}

type textAnswer = answerFrame[textChoice]

type textChoice struct {
	Index        int        `json:"index"`
	Text         string     `json:"text"`
	Logprobs     *textProbs `json:"logprobs"`
	FinishReason *string    `json:"finish_reason"`
	additions
}

// textState is what the frames of a choice have described.
type textState struct {
	prompt int      // tokens of the prompt
	answer *offsets // of the answer's tokens
}

func newTextShape(h answerHeads, b *textBody) textShape {
	return textShape{h, b, echoesOf(h.request), map[int]*textState{}}
}

// state is what the frames of a choice have described so far.
func (s textShape) state(c *completion.Choice) *textState {
	st := s.states[c.Index]
	if st == nil {
		st = &textState{prompt: 1, answer: s.echo(c).answerOffsets()} // the prompt's first token comes with its text
		s.states[c.Index] = st
	}
	return st
}

func (s textShape) answer(choices ...textChoice) *textAnswer {
	return &textAnswer{head: s.head("text_completion"), Choices: choices, Usage: s.noUsage()}
}

// echo is the prompt of a choice where it is to begin the answer; else it is empty.
func (s textShape) echo(c *completion.Choice) *echoed {
	if !s.body.Echo {
		return &echoed{}
	}
	return &s.prompts[c.Index/s.request.PerPrompt]
}

// Start implements wire.Shape: a prompt that is echoed is the first text.
func (s textShape) Start(c *completion.Choice) []any {
	p := s.echo(c)
	if p.text == "" && !p.scored {
		return nil
	}
	return []any{s.answer(textChoice{Index: c.Index, Text: p.text, Logprobs: p.first(s.request.Model.Engine)})}
}

// Part implements wire.Shape.
func (s textShape) Part(c *completion.Choice, d completion.Delta) []any {
	engine, st := s.request.Model.Engine, s.state(c)
	if told := d.Event.Prompt; told != nil {
		probs := s.echo(c).part(engine, st.prompt, told)
		st.prompt += len(told)
		return []any{s.answer(textChoice{Index: c.Index, Logprobs: probs})}
	}
	more := wire.DetailsOf(c, d)
	return []any{s.answer(textChoice{Index: c.Index, Text: d.Content, Logprobs: textProbsOf(engine, more.Probs, st.answer), additions: additions{Trace: more.Traces, Branches: more.Branches}})}
}

// Last implements wire.Shape.
func (s textShape) Last(c *completion.Choice) []any {
	reason := c.FinishReason()
	choice := textChoice{Index: c.Index, FinishReason: &reason, additions: additions{PluginOutputs: wire.OutputsOf(c)}}
	if p, ok := endProb(s.request.Model.Engine, c.End.EndToken); ok && s.request.PromptLogprobs {
		choice.Logprobs = textProbsOf(s.request.Model.Engine, []wire.TokenProb{p}, s.state(c).answer)
	}
	a := s.answer(choice)
	a.Timings, a.Recording, a.Receipt = timingsOf(c.End), c.Request.RecordingID(), c.Receipt()
	return []any{a}
}

// Closing implements wire.Shape.
func (s textShape) Closing(choices []*completion.Choice) []any {
	if !s.sendUsage {
		return nil
	}
	a := s.answer()
	a.Choices, a.Usage = []textChoice{}, s.usage(choices)
	return []any{a}
}

// Whole implements wire.Shape.
func (s textShape) Whole(choices []*completion.Choice, wholes []*wire.Whole) any {
	a := s.answer()
	shown := s.body.choices() // of those to each prompt
	for i := 0; i < len(choices); i += s.request.PerPrompt {
		all := wholes[i : i+s.request.PerPrompt]
		for _, k := range mostLikely(all, shown) {
			c, w := choices[i+k], all[k]
			reason := c.FinishReason()
			choice := textChoice{Index: len(a.Choices), Text: s.echo(c).text + w.Content.String(), FinishReason: &reason, additions: additions{w.Traces, w.Branches, wire.OutputsOf(c)}}
			if s.body.Logprobs != nil {
				choice.Logprobs = s.probs(c, w)
			}
			a.Choices = append(a.Choices, choice)
		}
	}
	a.Usage, a.Timings = s.usage(choices), timingsOf(choices[0].End)
	a.Recording, a.Receipt = s.request.RecordingID(), wire.ReceiptOf(choices)
	return a
}

// probs describes the tokens of a whole choice.
func (s textShape) probs(c *completion.Choice, w *wire.Whole) *textProbs {
	engine, p := s.request.Model.Engine, s.echo(c)
	probs := textProbsOf(engine, w.Probs, p.answerOffsets())
	if !p.scored {
		return probs
	}
	all := p.first(engine)
	all.join(p.part(engine, 1, w.Prompt))
	if probs != nil {
		all.join(probs)
	}
	if end, ok := endProb(engine, c.End.EndToken); ok {
		all.add(end, utf8.RuneCountInString(p.text+w.Content.String()))
	}
	return all
}

// mostLikely finds the indices of the n answers whose tokens are the most likely on average, the
// most likely first; all in order if there are no more than n.
func mostLikely(all []*wire.Whole, n int) []int {
	indices := make([]int, len(all))
	for i := range indices {
		indices[i] = i
	}
	if n >= len(all) {
		return indices
	}
	mean := func(i int) float64 {
		sum := 0.0
		for _, p := range all[i].Probs {
			sum += float64(p.Logprob)
		}
		return sum / float64(max(1, len(all[i].Probs)))
	}
	slices.SortStableFunc(indices, func(a, b int) int { return cmp.Compare(mean(b), mean(a)) })
	return indices[:n]
}

// textProbs is logprobs of a text completion, OpenAI's older shape.
type textProbs struct {
	Tokens  []string             `json:"tokens"`
	Values  []*float32           `json:"token_logprobs"`
	Top     []map[string]float32 `json:"top_logprobs"`
	Offsets []int                `json:"text_offset"`
}

// textProbsOf describes the tokens of an answer, which begin in its text where at says.
func textProbsOf(engine serving.Engine, probs []wire.TokenProb, at *offsets) *textProbs {
	if len(probs) == 0 {
		return nil
	}
	t := &textProbs{}
	for _, p := range probs {
		t.add(p, at.next(engine.Shown(p.ID)))
	}
	return t
}

// add appends a token that begins at a character of the text. Its alternatives contain it; of
// those with the same text the most likely counts.
func (t *textProbs) add(p wire.TokenProb, offset int) {
	top := make(map[string]float32, len(p.Top)+1)
	for _, alternative := range append(p.Top[:len(p.Top):len(p.Top)], p) {
		if l, there := top[alternative.Token]; !there || l < alternative.Logprob {
			top[alternative.Token] = alternative.Logprob
		}
	}
	t.Tokens = append(t.Tokens, p.Token)
	t.Values = append(t.Values, &p.Logprob)
	t.Top = append(t.Top, top)
	t.Offsets = append(t.Offsets, offset)
}

// join appends what another describes.
func (t *textProbs) join(other *textProbs) {
	t.Tokens, t.Values = append(t.Tokens, other.Tokens...), append(t.Values, other.Values...)
	t.Top, t.Offsets = append(t.Top, other.Top...), append(t.Offsets, other.Offsets...)
}

// echoed is a prompt with which an answer begins.
type echoed struct {
	text   string
	tokens []scheduler.Token
	scored bool  // the log-probabilities of its tokens are told
	at     []int // where those begin in the text, once that is told
}

// echoesOf are the prompts with which the answers to a request begin; none where they do not.
func echoesOf(r *completion.Prompted) []echoed {
	prompts := make([]echoed, len(r.Texts))
	for i, text := range r.Texts {
		prompts[i] = echoed{text: text, tokens: r.Prompts[i], scored: r.PromptLogprobs}
	}
	return prompts
}

// offsets are where the prompt's tokens begin in its text. They are counted when the first is told:
// by then the prompt is known to fit the context.
func (p *echoed) offsets(engine serving.Engine) []int {
	if p.at == nil {
		p.at = promptOffsets(engine, p.text, p.tokens)
	}
	return p.at
}

// first describes a prompt's first token, which has no probability.
func (p *echoed) first(engine serving.Engine) *textProbs {
	if !p.scored {
		return nil
	}
	return &textProbs{Tokens: []string{engine.Piece(p.tokens[0])}, Values: []*float32{nil}, Top: []map[string]float32{nil}, Offsets: p.offsets(engine)[:1]}
}

// part describes the prompt's tokens from number i on that events tell of.
func (p *echoed) part(engine serving.Engine, i int, told []scheduler.PromptToken) *textProbs {
	t := &textProbs{}
	for k, prob := range wire.PromptProbabilities(engine, told) {
		t.add(prob, p.offsets(engine)[i+k])
	}
	return t
}

// answerOffsets counts from the end of the prompt.
func (p *echoed) answerOffsets() *offsets { return &offsets{utf8.RuneCountInString(p.text)} }

// endProb describes the token that ended an answer, which is no part of its text. Clients that
// score a prompt ask for one token besides, and count on it.
func endProb(engine serving.Engine, end *answer.EndToken) (wire.TokenProb, bool) {
	if end == nil {
		return wire.TokenProb{}, false
	}
	return wire.Probability(engine, scheduler.Event{Token: end.Token, Logprobs: end.Logprobs})
}

// offsets count the characters of a text in which tokens follow each other, as clients do that cut
// the text there. A token that begins within a character begins where that does.
type offsets struct{ begun int } // characters

// next is where a token with this text begins, which is then part of the text.
func (o *offsets) next(text string) int {
	at := o.begun
	if text != "" && !utf8.RuneStart(text[0]) {
		at = max(at-1, 0)
	}
	for i := range len(text) {
		if utf8.RuneStart(text[i]) {
			o.begun++
		}
	}
	return at
}

// promptOffsets are where the tokens of a prompt begin in its text as the client gave it. Tokens
// that the model wants before the text have none of it, nor has a space that its vocabulary puts
// there.
func promptOffsets(engine serving.Engine, text string, tokens []scheduler.Token) []int {
	var count offsets
	at := make([]int, len(tokens))
	for i, t := range tokens {
		n := firstTokenBytes(engine, text, t)
		at[i] = count.next(text[:n])
		text = text[n:]
	}
	return at
}

// firstTokenBytes is how many bytes of a text its first token has.
func firstTokenBytes(engine serving.Engine, text string, t scheduler.Token) int {
	piece, shown := engine.Piece(t), engine.Shown(t)
	for _, s := range []string{piece, shown, strings.TrimPrefix(piece, " ")} {
		if s != "" && strings.HasPrefix(text, s) {
			return len(s)
		}
	}
	if shown == "" { // a control token that the text does not name
		return 0
	}
	return min(len(piece), len(text))
}
