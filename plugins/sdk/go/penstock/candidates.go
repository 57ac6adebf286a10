// SPDX-License-Identifier: MIT

package penstock

import "github.com/penstock/penstock/plugins/sdk/go/math32"

// Candidates are the tokens that may come next, best first, with their logits as the earlier stages
// left them. If the plugin's view is None, there are none.
type Candidates struct {
	ids    []Token
	logits []float32
}

// Len is how many there are.
func (c *Candidates) Len() int { return len(c.logits) }

// IDs are the tokens, in the order of Logits. They may be moved together with their logits.
func (c *Candidates) IDs() []Token { return c.ids }

// Logits are the logits, to be read and edited; −Inf bans a candidate.
func (c *Candidates) Logits() []float32 { return c.logits }

// Ban removes candidate i.
func (c *Candidates) Ban(i int) { c.logits[i] = banned }

// First are the first k of them, in the same memory: for a sampler that drops the others and draws
// from the rest. The sampler reports this to the host with Keep(k), or with the token that it
// takes.
func (c *Candidates) First(k int) Candidates { return Candidates{c.ids[:k], c.logits[:k]} }

// Highest is the highest logit; −Inf if there is none.
func (c *Candidates) Highest() float32 { return highest(c.logits) }

// Softmax writes to buffer[:0] a weight for each logit, exp(logit − highest), and returns the
// weights and their sum; a probability is weight / sum. Pass the last result to reuse its memory.
func (c *Candidates) Softmax(buffer []float32) (weights []float32, sum float32) {
	return softmax(c.logits, buffer)
}

// Draw draws a token with the probabilities that weights stand for, as Softmax gives them, with
// the request's seed.
func (c *Candidates) Draw(weights []float32, sum float32) Token { return c.ids[draw(weights, sum)] }

// Row is the logits of the whole vocabulary, as the stages before left them.
type Row struct{ logits []float32 }

// Len is how many tokens there are.
func (r *Row) Len() int { return len(r.logits) }

// Logits are the logits by token, to be read and edited; −Inf bans a token.
func (r *Row) Logits() []float32 { return r.logits }

// Ban takes a token out.
func (r *Row) Ban(t Token) { r.logits[t] = banned }

// Highest is the highest logit; −Inf if there is none.
func (r *Row) Highest() float32 { return highest(r.logits) }

// Softmax is that of Candidates, over the whole row.
func (r *Row) Softmax(buffer []float32) (weights []float32, sum float32) {
	return softmax(r.logits, buffer)
}

// Draw is that of Candidates, over the whole row.
func (r *Row) Draw(weights []float32, sum float32) Token { return Token(draw(weights, sum)) }

func highest(logits []float32) float32 {
	best := banned
	for _, x := range logits {
		if x > best {
			best = x
		}
	}
	return best
}

func softmax(logits, buffer []float32) (weights []float32, sum float32) {
	if cap(buffer) < len(logits) {
		buffer = make([]float32, len(logits))
	}
	weights = buffer[:len(logits)]
	best := highest(logits)
	for i, x := range logits {
		weights[i] = math32.Exp(x - best)
		sum += weights[i]
	}
	return weights, sum
}

// draw is the first index at which the weights so far are more than a random share of their sum.
func draw(weights []float32, sum float32) int {
	left := Uniform() * sum
	last := 0
	for i, w := range weights {
		if w == 0 {
			continue
		}
		last = i
		if left < w {
			break
		}
		left -= w
	}
	return last
}
