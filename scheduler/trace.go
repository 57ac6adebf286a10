// SPDX-License-Identifier: MIT

package scheduler

import (
	"math"
	"time"
)

// Trace is how a token came to be: what the chain found, and what each stage left of it.
type Trace struct {
	Before Survey // the raw row
	Stages []StageTrace
}

// StageTrace is what one stage did. What it found is what the one before it left.
type StageTrace struct {
	Name  string
	Took  time.Duration
	After Survey // with a chosen token, that one alone
}

// Survey is what a chain has to choose from at one point.
type Survey struct {
	Count int     // tokens with a finite logit
	Best  []Score // the most likely of them, most likely first, as many as Request.Trace asks for
}

// Score is a token with its logit and its probability among all that are left.
type Score struct {
	Token Token
	Logit float32
	P     float32
}

// Named is a stage that a trace can name.
type Named interface {
	Name() string
}

// prepareStage names what applies the masks and biases that stages have prepared. Its time is that of preparing them,
// beside the forward pass, and of applying them.
const prepareStage = "prepare"

// tracer writes the trace of one job's next token. Its methods do nothing on nil: most jobs have none.
type tracer struct {
	most     int // tokens in each survey
	trace    *Trace
	prepared time.Duration
	start    time.Time
}

func newTracer(most int) *tracer {
	if most <= 0 {
		return nil
	}
	return &tracer{most: most}
}

// begin notes what the chain finds.
func (t *tracer) begin(v *View) {
	if t != nil {
		t.trace = &Trace{Before: t.survey(v)}
		t.enter()
	}
}

// enter notes that a stage begins.
func (t *tracer) enter() {
	if t != nil {
		t.start = time.Now()
	}
}

// prepare notes that the stages have prepared.
func (t *tracer) prepare() {
	if t != nil {
		t.prepared = time.Since(t.start)
	}
}

// restrict notes what masks and biases have left.
func (t *tracer) restrict(v *View) {
	if t != nil {
		took := time.Since(t.start) + t.prepared
		t.trace.Stages = append(t.trace.Stages, StageTrace{prepareStage, took, t.survey(v)})
	}
}

// leave notes what a stage has left.
func (t *tracer) leave(s Stage, v *View) {
	if t == nil {
		return
	}
	took := time.Since(t.start)
	name := "stage"
	if n, ok := s.(Named); ok {
		name = n.Name()
	}
	t.trace.Stages = append(t.trace.Stages, StageTrace{name, took, t.survey(v)})
}

// take hands the trace over; nil where the chain was not asked.
func (t *tracer) take() *Trace {
	if t == nil {
		return nil
	}
	trace := t.trace
	t.trace = nil
	return trace
}

// survey looks at what is left.
func (t *tracer) survey(v *View) Survey {
	if v.Chosen >= 0 {
		return Survey{1, []Score{{v.Chosen, v.logit(v.Chosen), 1}}}
	}
	top := make([]Candidate, 0, t.most+1)
	count, highest := 0, float32(math.Inf(-1))
	v.each(func(token Token, logit float32) {
		count++
		highest = max(highest, logit)
		if len(top) < t.most || logit > top[len(top)-1].Logprob {
			top = insert(top, Candidate{token, logit}, t.most)
		}
	})
	sum := 0.0
	v.each(func(_ Token, logit float32) { sum += math.Exp(float64(logit - highest)) })
	s := Survey{Count: count, Best: make([]Score, len(top))}
	for i, c := range top {
		s.Best[i] = Score{c.Token, c.Logprob, float32(math.Exp(float64(c.Logprob-highest)) / sum)}
	}
	return s
}

// each calls f for every candidate that can be drawn.
func (v *View) each(f func(Token, float32)) {
	logits := v.Row
	if v.N >= 0 {
		logits = v.Logit[:v.N]
	}
	for i, logit := range logits {
		switch {
		case !(math.Abs(float64(logit)) <= math.MaxFloat32):
		case v.N < 0:
			f(Token(i), logit)
		default:
			f(v.ID[i], logit)
		}
	}
}

// logit is that of a token: among the candidates, or where it is none of them in the row.
func (v *View) logit(t Token) float32 {
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
