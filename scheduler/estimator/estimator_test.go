// SPDX-License-Identifier: MIT

package estimator

import (
	"math"
	"testing"
	"time"
)

// The cost of a pass that is 1 ms a token and 1 ms for each 1,024 cells.
func plainCost(p Pass) time.Duration {
	return time.Duration(p.Tokens)*time.Millisecond + time.Duration(p.Cells)*time.Millisecond/depthUnit
}

func at(tokens, depth int) Pass { return Pass{Tokens: tokens, Cells: tokens * (depth + tokens/2)} }

// A size that ran only without depth costs as much more for each cell as the nearest one of which
// that is known.
func TestModel_DepthOfOneSize_CountsForOthers(t *testing.T) {
	var m model
	for range 20 {
		m.observe(at(64, 0), plainCost(at(64, 0)))
	}
	for i := range 200 {
		p := at(8, 100*(i%15))
		m.observe(p, plainCost(p))
	}
	got, want := m.predict(at(64, 1000)), plainCost(at(64, 1000))
	if math.Abs(got.Seconds()/want.Seconds()-1) > 0.1 {
		t.Errorf("64 tokens after 1000 are said to take %v, they take %v", got, want)
	}
}

// A pass that was held up by something else counts little, and is made good soon.
func TestModel_OneDisturbedPass_IsForgotten(t *testing.T) {
	var m model
	p := at(16, 300)
	for range 50 {
		m.observe(p, plainCost(p))
	}
	m.observe(p, 50*plainCost(p))
	if got := m.predict(p); got > plainCost(p)*4/3 {
		t.Errorf("after one disturbed pass %v, before %v", got, plainCost(p))
	}
	for range 20 {
		m.observe(p, plainCost(p))
	}
	if got := m.predict(p); got > plainCost(p)*102/100 {
		t.Errorf("long after a disturbed pass %v, before %v", got, plainCost(p))
	}
}

// A prompt takes as long as its passes, each deeper than the one before.
func TestEstimator_Prompt_IsTheSumOfItsPasses(t *testing.T) {
	e := New(true)
	if got := e.Prompt(0, 5000, 512); got != 0 {
		t.Errorf("before anything was measured: %v", got)
	}
	for range 200 {
		for _, depth := range []int{0, 4096} {
			p := Pass{Tokens: 512, Cells: 512 * (depth + 256)}
			e.ObservePrefill(p, time.Duration(p.Tokens)*time.Millisecond+time.Duration(p.Cells)*time.Microsecond)
		}
	}
	want := 4608*time.Millisecond + 4608*4608/2*time.Microsecond
	if got := e.Prompt(0, 4608, 512); got < want*9/10 || got > want*11/10 {
		t.Errorf("%v, want about %v", got, want)
	}
	if got, rest := e.Prompt(0, 4608, 512)-e.Prompt(0, 1024, 512), e.Prompt(1024, 4608, 512); got != rest {
		t.Errorf("the rest takes %v, as a part %v", rest, got)
	}
}
