// SPDX-License-Identifier: MIT

// Package estimator predicts how long a forward pass takes, and chooses from that how many prompt
// tokens and drafted tokens a tick computes.
//
// A tick without prompts may compute drafted tokens: drafts.go chooses how many. This is how the
// others choose:
//
// The prompt tokens that a tick computes are its chunk, whether they are of one prompt or of
// several. A larger chunk computes prompts faster, and the slots that generate wait longer for
// their next token. The default rule, DecodeMaximal, is this: of the chunks with which the tick
// stays within the target, take the one with the largest
//
//	n^s / t · e
//
// where n is the chunk, t the estimated duration of the tick, and s the share of the tick's time
// that prompts should get. s is 0.5 while any slot generates, or 0.45 where one pass computes
// both. (Where t is a + b·n, the largest n^s/t is where b·n, the prompt's part, is s·t.) e is the
// efficiency of the tick: how long its tokens would take at the lowest cost a token that any size
// of chunk has, divided by t. It matters because a token may cost more in a chunk of 64 than in
// one of 16 or of 512. In one pass, and while no slot generates, e is 1. Whatever the target,
// prompts get a least share of the tick's time: Demand.MinShare, and more where many short prompts
// wait.
//
// While no slot generates there is no target, and the strategy is not asked: s is 0.95, of chunks
// that have at most 512 tokens or take at most 100 ms. If slots of another model on the same
// machine generate, the target holds for these chunks, too.
//
// The estimate comes from the passes so far. So that it is right for sizes that are not in use, a
// size that was never measured is tried once, and now and then a tick takes the size next to the
// best one.
//
// # Why are the costs of decoding and of prefill learned separately?
//
// Each decode token needs a row of logits, which with a large vocabulary is half of its cost in a
// small model; a prompt token needs none. With one estimate for both, 16 streams and a chunk of
// 16 tokens would spoil each other's numbers.
//
// # Why is the chunk chosen by n^s/t · e?
//
// A fixed part of the measured time would stop prompts where the smallest pass takes longer than
// that. e keeps away from sizes whose kernels are slow. It counts only where prompts have a pass of
// their own: in one pass larger chunks always seem the more efficient ones, and the target was
// missed. While no slot generates, s of 0.95 gives a twentieth less than the best rate, and the
// chunk is bounded, since new requests wait for the end of the tick.
//
// # Why is a size next to the best one tried now and then?
//
// What a size costs is known from passes of that size. If its first pass was disturbed, it looks
// expensive, is never chosen again and so never known better. Measured, streams went on with
// chunks of 8 tokens where 16 had twice the prompts' rate. What a cell costs is taken from the
// nearest size that has run at depth. A size is tried only if the estimate keeps the target:
// where kernels differ by size, a smaller chunk may take longer.
//
// # Why is s smaller where one pass computes both?
//
// There the decode tokens have paid for the fixed cost of the pass, so a larger chunk looks
// cheap. With 4 streams and 2 long prompts on the simulated GPU, the old rule had a p99 ITL of 14
// ms and 5,100 prompt tokens/s; `s` of 0.6 has 25 ms and 8,600, 0.45 has 19 ms and 6,800, 0.4 has
// 16 ms and 6,200. On two cores in one pass 0.45 loses up to 8% of the old rule's prompt tokens/s
// with a p99 ITL up to 15% lower, and 0.4 loses up to 11%.
//
// # Is the plan right for a GPU?
//
// No GPU was available, so it is tried on virtual time, with the costs that follow from the
// published figures of an H100 and of Llama 3 with 8B and 70B parameters: schedulertest.Device,
// scheduler/latency_test.go. With 8 to 192 streams beside clients with prompts of 1,500 to 2,500
// tokens, and with 4 streams of 100,000 tokens beside prompts of 60,000 to 100,000, the p99 ITL
// is within 1.3 × targets of 25 to 150 ms. The machine is used to 1.01 to 1.60: it computes
// prompts while it reads the weights for the answers, which either alone would not.
package estimator

import (
	"math"
	"time"
)

// Estimator learns from the passes of one backend. It is used from one goroutine.
//
// It has one model for passes that only decode, one for those that also verify drafts, and one for
// all others. Each decode token has its row of logits, which in a small model with a large
// vocabulary is half of what it costs; in a chunk of a prompt only the last token has one.
type Estimator struct {
	decode, prefill model
	verify          model // passes with drafted tokens
	replan          replan
	separate        bool // decode tokens and prompt tokens are computed in two passes
	choices         int  // chunks chosen so far
	drafts          int  // lengths of drafts chosen so far
}

// New makes an estimator that has seen no pass yet. separate tells that a tick computes decode
// tokens and prompt tokens in two passes.
func New(separate bool) *Estimator { return &Estimator{separate: separate} }

// Pass is what a forward pass computes.
type Pass struct {
	Tokens int
	Cells  int // KV cells that the tokens attend to: their positions, summed
}

// Decode estimates a pass without prompt tokens.
func (e *Estimator) Decode(p Pass) time.Duration { return e.decode.predict(p) }

// Prefill estimates a pass with prompt tokens.
func (e *Estimator) Prefill(p Pass) time.Duration { return e.prefill.predict(p) }

// Prompt estimates how long it takes to compute the tokens of a prompt from one on up to another,
// so many in a pass. Before anything was measured it is zero.
func (e *Estimator) Prompt(from, to, chunk int) (total time.Duration) {
	for at := from; at < to; at += chunk {
		n := min(chunk, to-at)
		total += e.Prefill(Pass{Tokens: n, Cells: n*at + n*n/2})
	}
	return total
}

// ObserveDecode learns from a pass without prompt tokens.
func (e *Estimator) ObserveDecode(p Pass, took time.Duration) { e.decode.observe(p, took) }

// ObservePrefill learns from a pass with prompt tokens.
func (e *Estimator) ObservePrefill(p Pass, took time.Duration) { e.prefill.observe(p, took) }

// model predicts the duration of a pass from its tokens and the KV cells they attend to.
//
// It is a piecewise linear regression. At each of a fixed set of sizes, the knots, the duration in
// seconds is
//
//	perToken · tokens + perDepth · cells/1024
//
// with coefficients of that knot's own: what a token or a cell costs depends on the size of the
// pass, since other sizes have other kernels and use the processor's caches differently. Between
// two knots the prediction is interpolated, linear in the logarithm of the size.
//
// Every pass moves the coefficients of the two knots around its size one step of normalised least
// mean squares (NLMS). That keeps no history and solves no equations, follows a machine that
// becomes slower or faster, and its step does not depend on how large the inputs are.
type model struct {
	knots [knotCount]knot
}

// knot has the coefficients for passes of about one size.
type knot struct {
	perToken     float64 // seconds for each token
	perDepth     float64 // seconds for each 1,024 cells
	measured     bool    // there was a pass of about this size
	measuredDeep bool    // there was one deep enough to tell the two coefficients apart
}

const (
	knotCount    = 25   // two an octave, up to 4,096 tokens
	depthUnit    = 1024 // cells; it makes the two inputs, and so the two coefficients, of similar size
	deep         = 256  // cells a token from which a pass tells what a cell costs
	learningRate = 0.25 // the part of an error that one pass at a knot corrects
	outlier      = 2    // a pass that took longer than so many times its estimate was disturbed, and counts as so many times
)

// sizes are the tokens in a pass at each knot.
var sizes = func() (s [knotCount]int) {
	for i := range s {
		s[i] = int(math.Round(math.Exp2(float64(i) / 2)))
	}
	return s
}()

// predict estimates a pass. Before anything was measured it is zero.
func (m *model) predict(p Pass) time.Duration {
	if p.Tokens <= 0 {
		return 0
	}
	i, fraction := locate(p.Tokens)
	a, b := m.known(i).predict(p), m.known(min(i+1, knotCount-1)).predict(p)
	return time.Duration((a + (b-a)*fraction) * float64(time.Second))
}

func (k knot) predict(p Pass) float64 {
	return float64(p.Tokens)*k.perToken + float64(p.Cells)/depthUnit*k.perDepth
}

// observe learns from a pass that took d. Each of the two knots around its size learns in
// proportion to how near it is.
func (m *model) observe(p Pass, d time.Duration) {
	if p.Tokens <= 0 || d <= 0 {
		return
	}
	i, fraction := locate(p.Tokens)
	m.learn(i, p, d.Seconds(), 1-fraction)
	if i+1 < knotCount {
		m.learn(i+1, p, d.Seconds(), fraction)
	}
}

// learn moves knot i towards a pass that was measured, in seconds. A knot's first pass starts from
// its nearest neighbour's coefficients and takes twice the usual step: a disturbed first pass shall
// not put off a size forever.
func (m *model) learn(i int, p Pass, took, weight float64) {
	if weight < 0.1 {
		return
	}
	before, now := m.knots[i], m.known(i)
	now.measuredDeep = before.measuredDeep || p.Cells >= deep*p.Tokens
	rate := weight * learningRate
	switch {
	case !now.measured: // the first pass of all
		now.perToken = took / float64(p.Tokens)
	case !before.measured:
		rate = 2 * learningRate
		fallthrough
	default:
		now.step(p, min(took, outlier*now.predict(p)), rate)
	}
	now.measured = true
	m.knots[i] = now
}

// step is one step of NLMS: the error goes to the two coefficients in proportion to their inputs.
func (k *knot) step(p Pass, took, rate float64) {
	n, depth := float64(p.Tokens), float64(p.Cells)/depthUnit
	gain := rate * (took - k.predict(p)) / (n*n + depth*depth)
	k.perToken = max(k.perToken+gain*n, 0)
	k.perDepth = max(k.perDepth+gain*depth, 0)
}

// known is knot i; what was not measured there is taken from the nearest knot where it was.
func (m *model) known(i int) knot {
	k := m.nearest(i, func(k *knot) bool { return k.measured })
	if !k.measuredDeep {
		if other := m.nearest(i, func(k *knot) bool { return k.measuredDeep }); other.measuredDeep {
			k.perDepth = other.perDepth
		}
	}
	return k
}

// nearest is the wanted knot that is nearest to i; zero if there is none. Of two as near it is the
// smaller one: its tokens cost more, so that the first guess is cautious.
func (m *model) nearest(i int, wanted func(*knot) bool) knot {
	for distance := range knotCount {
		for _, other := range [2]int{i - distance, i + distance} {
			if other >= 0 && other < knotCount && wanted(&m.knots[other]) {
				return m.knots[other]
			}
		}
	}
	return knot{}
}

// measured tells whether there was a pass of about n tokens.
func (m *model) measured(n int) bool {
	return m.knots[nearestKnot(n)].measured
}

// locate gives the knot at or below n and how far n lies towards the next one, by logarithm.
func locate(n int) (i int, fraction float64) {
	x := min(2*math.Log2(float64(n)), knotCount-1)
	i = int(x)
	for i+1 < knotCount && sizes[i+1] <= n { // the sizes are rounded
		i++
	}
	return i, max(x-float64(i), 0)
}

// nearestKnot is the knot next to n.
func nearestKnot(n int) int {
	i, fraction := locate(n)
	if fraction > 0.5 && i+1 < knotCount {
		i++
	}
	return i
}
