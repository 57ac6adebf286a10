// SPDX-License-Identifier: MIT

package chain

import (
	"math"
	"time"
)

// prepareStage names what applies the masks and biases that stages have prepared. Its time is that of preparing them,
// beside the forward pass, and of applying them.
const prepareStage = "prepare"

// tracer writes the trace of the next token. Its methods do nothing on nil: most answers have none.
type tracer struct {
	most      int // tokens in each survey
	trace     *Trace
	preparing time.Duration
	start     time.Time
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

// prepared notes that the stages have prepared.
func (t *tracer) prepared() {
	if t != nil {
		t.preparing = time.Since(t.start)
	}
}

// restrict notes what masks and biases have left.
func (t *tracer) restrict(v *View) {
	if t != nil {
		took := time.Since(t.start) + t.preparing
		t.trace.Stages = append(t.trace.Stages, StageTrace{Name: prepareStage, Took: took, After: t.survey(v)})
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
	t.trace.Stages = append(t.trace.Stages, StageTrace{Name: name, Took: took, After: t.survey(v)})
}

// finish hands the trace over; nil if no trace is wanted.
func (t *tracer) finish() *Trace {
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
		return Survey{Count: 1, Best: []Score{{Token: v.Chosen, Logit: logit(v, v.Chosen), P: 1}}}
	}
	top := make([]Candidate, 0, t.most+1)
	count, highest := 0, float32(math.Inf(-1))
	each(v, func(token Token, logit float32) {
		count++
		highest = max(highest, logit)
		if len(top) < t.most || logit > top[len(top)-1].Logprob {
			top = insert(top, Candidate{token, logit}, t.most)
		}
	})
	sum := 0.0
	each(v, func(_ Token, logit float32) { sum += math.Exp(float64(logit - highest)) })
	s := Survey{Count: count, Best: make([]Score, len(top))}
	for i, c := range top {
		s.Best[i] = Score{Token: c.Token, Logit: c.Logprob, P: float32(math.Exp(float64(c.Logprob-highest)) / sum)}
	}
	return s
}

// each calls f for every candidate that can be drawn.
func each(v *View, f func(Token, float32)) {
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

// logit is that of a token: among the candidates, or, if it is none of them, in the row.
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
