// SPDX-License-Identifier: MIT

package chain

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// Trace is how a token came into an answer: who put it there, what the chain found, and what each
// stage left of it.
type Trace struct {
	How Origin
	By  string // name of the stage that chose, forced or spliced it; empty if the client injected it

	Before   Survey // the raw row; empty for a token that took no row: one of a splice, or an injected one
	Prepared []PreparedTrace
	Stages   []StageTrace
	Accepted []Timed // stages whose calls can take long, as they were told of the token

	Notes []Note // what stages say of the token

	TakenBack []TakenBack // just before the token, in order
}

// Origin is what brought a token into an answer.
type Origin uint8

// The origins of a token.
const (
	Chosen   Origin = iota // by a stage's Apply
	Forced                 // by a stage's Prepare
	Spliced                // by a stage's Accept
	Injected               // by the client
)

// String is the wire name: chosen, forced, spliced, injected.
func (o Origin) String() string { return [...]string{"chosen", "forced", "spliced", "injected"}[o] }

// PreparedTrace is what one stage asked for before the token was drawn.
type PreparedTrace struct {
	Timed
	Allowed int // tokens that its mask allows; −1: it has none
	Banned  int // tokens that its biases ban
	Biased  int // tokens with another bias
}

// StageTrace is what one stage did. What it found is what the one before it left.
type StageTrace struct {
	Name  string
	Took  time.Duration
	After Survey // with a chosen token, that one alone
}

// Timed is how long a call of a stage took.
type Timed struct {
	Name string
	Took time.Duration
}

// Note is what a stage says of a token.
type Note struct{ By, Text string }

// TakenBack are tokens that were taken back together.
type TakenBack struct {
	By     string // name of the stage; empty if the client did
	Tokens []TakenToken
}

// TakenToken is a token that was taken back. The trace of one that a client had seen is not kept.
type TakenToken struct {
	Token Token
	Trace *Trace
}

// Survey is what a chain has to choose from at one point.
type Survey struct {
	Count  int     // tokens with a finite logit
	Best   []Score // the most likely of them, most likely first, as many as Request.Trace asks for
	Chosen Ranked  // of the token that the answer got in the end
}

// Score is a token with its logit and its probability among all that are left.
type Score struct {
	Token Token
	Logit float32
	P     float32
}

// Ranked is where a token stands among the candidates.
type Ranked struct {
	Rank  int // 1 is the most likely; 0: it is no candidate
	Logit float32
	P     float32
}

// note has a trace tell what a stage says of the token.
func (l *link) note(trace *Trace) {
	if l.traits.Notes == nil {
		return
	}
	for _, text := range l.traits.Notes() {
		trace.Notes = append(trace.Notes, Note{l.name, text})
	}
}

// TakeNotes has the trace of a token tell what the stages say of it that are not told of it: it
// ends the answer, or another stage has put others in its place.
func (c *Chain) TakeNotes(trace *Trace) {
	for i := range c.links {
		if trace != nil {
			c.links[i].note(trace)
		}
	}
}

// StageName is the name of a stage in traces.
func (c *Chain) StageName(i int) string { return c.links[i].name }

// Traced reports whether the tokens of the answer have traces.
func (c *Chain) Traced() bool { return c.tracer != nil }

// Origin is the trace of a token that was not drawn from a row; nil if no traces are wanted.
func (c *Chain) Origin(how Origin, by string) *Trace {
	if c.tracer == nil {
		return nil
	}
	return &Trace{How: how, By: by}
}

// prepareStage names what applies the masks and biases that stages have prepared. Its time is that
// of preparing them, beside the forward pass, and of applying them.
const prepareStage = "prepare"

// tracer writes the trace of the next token. Its methods do nothing on nil: most answers have none.
type tracer struct {
	most      int // tokens in each survey
	trace     *Trace
	prepared  []PreparedTrace
	preparing time.Duration
	start     time.Time

	points    []int // the snapshot of each survey of the trace: before, then the stages
	snapshots []snapshot
	used      int // of snapshots; the others are memory for later
}

func newTracer(most int) *tracer {
	if most <= 0 {
		return nil
	}
	return &tracer{most: most}
}

// begin notes what the chain finds.
func (t *tracer) begin(v *View) {
	if t == nil {
		return
	}
	t.points, t.used = t.points[:0], 0
	t.trace = &Trace{Prepared: t.prepared}
	t.trace.Before = t.surveyView(v)
	t.noteStage()
}

// noteStage notes that a stage begins.
func (t *tracer) noteStage() {
	if t != nil {
		t.start = time.Now()
	}
}

// clear forgets what was prepared.
func (t *tracer) clear() {
	if t != nil {
		t.prepared, t.preparing = nil, 0
	}
}

// notePrepared notes what a stage has asked for since noteStage.
func (t *tracer) notePrepared(stage string, asked Prepared) {
	if t == nil {
		return
	}
	took := time.Since(t.start)
	t.preparing += took
	p := PreparedTrace{Timed: Timed{stage, took}, Allowed: -1}
	if len(asked.Mask) > 0 {
		p.Allowed = 0
		for _, word := range asked.Mask {
			p.Allowed += bits.OnesCount32(word)
		}
	}
	for _, b := range asked.Bias {
		if b.bans() {
			p.Banned++
		} else {
			p.Biased++
		}
	}
	t.prepared = append(t.prepared, p)
}

// noteRestricted notes what masks and biases have left.
func (t *tracer) noteRestricted(v *View) {
	if t != nil {
		took := time.Since(t.start) + t.preparing
		t.trace.Stages = append(t.trace.Stages, StageTrace{Name: prepareStage, Took: took, After: t.surveyView(v)})
	}
}

// leave notes what a stage has left.
func (t *tracer) leave(stage string, v *View) {
	if t == nil {
		return
	}
	took := time.Since(t.start)
	t.trace.Stages = append(t.trace.Stages, StageTrace{Name: stage, Took: took, After: t.surveyView(v)})
}

// finish hands the trace of a token over; nil if no trace is wanted.
func (t *tracer) finish(token Token) *Trace {
	if t == nil || token < 0 {
		return nil
	}
	trace := t.trace
	t.trace = nil
	places := make([]Ranked, t.used)
	for i := range places {
		places[i] = t.snapshots[i].place(token)
	}
	for i, point := range t.points {
		if i == 0 {
			trace.Before.Chosen = places[point]
		} else {
			trace.Stages[i-1].After.Chosen = places[point]
		}
	}
	if last := len(trace.Stages) - 1; last >= 0 {
		chosen := &trace.Stages[last].After
		chosen.Chosen = Ranked{Rank: 1, Logit: chosen.Best[0].Logit, P: 1}
		trace.By = trace.Stages[last].Name
	}
	return trace
}

// forced is the trace of a token that a stage has forced: what it found instead.
func (t *tracer) forced(row *Row, token Token, by string) *Trace {
	if t == nil {
		return nil
	}
	t.begin(&View{Row: row.Copy(), N: -1, Chosen: -1})
	trace := t.finish(token)
	trace.How, trace.By = Forced, by
	return trace
}

// surveyView looks at what is left. What has not changed since the last survey is not looked at
// again.
func (t *tracer) surveyView(v *View) Survey {
	if v.Chosen >= 0 {
		return Survey{Count: 1, Best: []Score{{Token: v.Chosen, Logit: logit(v, v.Chosen), P: 1}}}
	}
	if t.used == 0 || !t.snapshots[t.used-1].same(v) {
		if t.used == len(t.snapshots) {
			t.snapshots = append(t.snapshots, snapshot{})
		}
		t.snapshots[t.used].take(v, t.most)
		t.used++
	}
	t.points = append(t.points, t.used-1)
	s := &t.snapshots[t.used-1]
	return Survey{Count: s.count, Best: s.best}
}

// logit finds the logit of a token: among the candidates or, if it is none of them, in the row.
func logit(v *View, t Token) float32 {
	if v.N > 0 {
		for i, id := range v.ID[:v.N] {
			if id == t {
				return v.Logit[i]
			}
		}
	}
	if int(t) < len(v.Row) {
		return v.Row[t]
	}
	return banned[0]
}

// snapshot is what a chain had to choose from at one point, kept until the token is known: only
// then can its place be found.
type snapshot struct {
	ids    []Token // nil: logits are those of the whole row
	logits []float32
	whole  bool

	count   int
	best    []Score
	highest float32
	sum     float64 // of exp(logit − highest)
}

// same reports whether the view still is what the snapshot shows: most stages of a usual chain
// change nothing. A native stage lists the whole row as candidates; that changes nothing either.
func (s *snapshot) same(v *View) bool {
	if v.N < 0 {
		return s.whole && slices.Equal(s.logits, v.Row)
	}
	if !slices.Equal(s.logits, v.Logit[:v.N]) {
		return false
	}
	if !s.whole {
		return slices.Equal(s.ids, v.ID[:v.N])
	}
	for i, id := range v.ID[:v.N] {
		if id != Token(i) {
			return false
		}
	}
	return true
}

// take makes it show the view, with the most likely candidates. A row has up to 256k tokens, and
// the tick waits, so the loops call nothing but what they must.
func (s *snapshot) take(v *View, most int) {
	if s.whole = v.N < 0; s.whole {
		s.ids, s.logits = s.ids[:0], append(s.logits[:0], v.Row...)
	} else {
		s.ids, s.logits = append(s.ids[:0], v.ID[:v.N]...), append(s.logits[:0], v.Logit[:v.N]...)
	}
	top := make([]Candidate, 0, most+1)
	least := float32(math.Inf(-1)) // of top, once that is full
	s.count = 0
	for i, logit := range s.logits {
		if !finite(logit) {
			continue
		}
		if s.count++; logit > least {
			if top = insert(top, Candidate{s.token(i), logit}, most); len(top) == most {
				least = top[most-1].Logprob
			}
		}
	}
	s.best = make([]Score, len(top))
	if s.count == 0 {
		return
	}
	s.highest, s.sum = top[0].Logprob, 0
	for _, logit := range s.logits {
		if finite(logit) {
			s.sum += math.Exp(float64(logit - s.highest))
		}
	}
	for i, c := range top {
		s.best[i] = Score{Token: c.Token, Logit: c.Logprob, P: s.p(c.Logprob)}
	}
}

// place is where a token stands.
func (s *snapshot) place(t Token) Ranked {
	at := int(t)
	if !s.whole {
		at = slices.Index(s.ids, t)
	}
	if at < 0 || at >= len(s.logits) || !finite(s.logits[at]) {
		return Ranked{}
	}
	p := Ranked{Rank: 1, Logit: s.logits[at], P: s.p(s.logits[at])}
	for _, logit := range s.logits {
		if logit > p.Logit && finite(logit) {
			p.Rank++
		}
	}
	return p
}

// token is the i-th candidate.
func (s *snapshot) token(i int) Token {
	if s.whole {
		return Token(i)
	}
	return s.ids[i]
}

func (s *snapshot) p(logit float32) float32 {
	return float32(math.Exp(float64(logit-s.highest)) / s.sum)
}

// finite reports whether a candidate with the logit can be drawn.
func finite(logit float32) bool { return logit-logit == 0 }
