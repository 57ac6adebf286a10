// SPDX-License-Identifier: MIT

package chain

import (
	"math"
	"math/bits"
	"time"
)

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
	t.trace.Before = t.survey(v)
	t.enter()
}

// enter notes that a stage begins.
func (t *tracer) enter() {
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

// prepares notes what a stage has asked for since enter.
func (t *tracer) prepares(stage string, asked Prepared) {
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
		if math.IsInf(float64(b.Value), -1) {
			p.Banned++
		} else {
			p.Biased++
		}
	}
	t.prepared = append(t.prepared, p)
}

// restrict notes what masks and biases have left.
func (t *tracer) restrict(v *View) {
	if t != nil {
		took := time.Since(t.start) + t.preparing
		t.trace.Stages = append(t.trace.Stages, StageTrace{Name: prepareStage, Took: took, After: t.survey(v)})
	}
}

// leave notes what a stage has left.
func (t *tracer) leave(stage string, v *View) {
	if t == nil {
		return
	}
	took := time.Since(t.start)
	t.trace.Stages = append(t.trace.Stages, StageTrace{Name: stage, Took: took, After: t.survey(v)})
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

// survey looks at what is left. What has not changed since the last survey is not looked at again.
func (t *tracer) survey(v *View) Survey {
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
