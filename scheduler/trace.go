// SPDX-License-Identifier: MIT

package scheduler

import (
	"math"
	"time"

	"github.com/penstock/penstock/scheduler/chain"
)

// prepareStage names what applies the masks and biases that stages have prepared. Its time is that of preparing them,
// beside the forward pass, and of applying them.
const prepareStage = "prepare"

// tracer writes the trace of one job's next token. Its methods do nothing on nil: most jobs have none.
type tracer struct {
	most     int // tokens in each survey
	trace    *chain.Trace
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
func (t *tracer) begin(v *chain.View) {
	if t != nil {
		t.trace = &chain.Trace{Before: t.survey(v)}
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
func (t *tracer) restrict(v *chain.View) {
	if t != nil {
		took := time.Since(t.start) + t.prepared
		t.trace.Stages = append(t.trace.Stages, chain.StageTrace{Name: prepareStage, Took: took, After: t.survey(v)})
	}
}

// leave notes what a stage has left.
func (t *tracer) leave(s chain.Stage, v *chain.View) {
	if t == nil {
		return
	}
	took := time.Since(t.start)
	name := "stage"
	if n, ok := s.(chain.Named); ok {
		name = n.Name()
	}
	t.trace.Stages = append(t.trace.Stages, chain.StageTrace{Name: name, Took: took, After: t.survey(v)})
}

// take hands the trace over; nil where the chain was not asked.
func (t *tracer) take() *chain.Trace {
	if t == nil {
		return nil
	}
	trace := t.trace
	t.trace = nil
	return trace
}

// survey looks at what is left.
func (t *tracer) survey(v *chain.View) chain.Survey {
	if v.Chosen >= 0 {
		return chain.Survey{Count: 1, Best: []chain.Score{{Token: v.Chosen, Logit: logit(v, v.Chosen), P: 1}}}
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
	s := chain.Survey{Count: count, Best: make([]chain.Score, len(top))}
	for i, c := range top {
		s.Best[i] = chain.Score{Token: c.Token, Logit: c.Logprob, P: float32(math.Exp(float64(c.Logprob-highest)) / sum)}
	}
	return s
}

// each calls f for every candidate that can be drawn.
func each(v *chain.View, f func(Token, float32)) {
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
func logit(v *chain.View, t Token) float32 {
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
