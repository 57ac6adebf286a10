// SPDX-License-Identifier: MIT

package penstock

import (
	"errors"
	"math"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
	"github.com/penstock/penstock/plugins/sdk/go/math32"
)

// Choice is a sampler's decision: Edited, Biased, or a result of Keep or Take.
type Choice int32

// Decision is another name of Choice, which is not to be confused with the Choice of a Request.
type Decision = Choice

// Edited leaves the choice to later stages: the view was edited, or left as it was.
const Edited Choice = abi.SampleEdited

// Keep leaves the choice to later stages, which only see the first k candidates as they were shown:
// edits are ignored. It costs less than Edited, since nothing is read back. A k below 1 counts as
// 1; with a whole row it has no effect.
func Keep(k int) Choice { return Choice(-1 - max(k, 1)) }

// Take takes a token and ends the chain.
func Take(t Token) Choice { return Choice(t) }

// Token is the token that is taken, if one is.
func (c Choice) Token() (Token, bool) { return Token(c), c >= 0 }

var errBind = errors.New("the host refused a buffer that the plugin's methods need")

// bindWords allocates a buffer and passes it to the host. It is allocated at run time, since a
// large static array would be written out in the module.
func bindWords(kind int32, n int) []uint32 {
	w := make([]uint32, n)
	if abi.Bind(kind, unsafe.Pointer(&w[0]), int32(4*n)) != abi.BindOk {
		return nil
	}
	return w
}

// view is what the sampler sees, in memory that is allocated when a request is opened.
var view struct {
	sampler    Sampler
	row        RowSampler
	ids        []Token
	logits     []float32
	keeps      bool // the host knows the answer of Keep
	candidates Candidates
	whole      Row
}

func beginSample(value any) {
	guest.Sample, view.sampler, view.row = nil, nil, nil
	if s, ok := value.(Sampler); ok {
		view.sampler, guest.Sample = s, sampleCandidates
	}
	if r, ok := value.(RowSampler); ok {
		view.row, guest.Sample = r, sampleRow
	}
}

// bindView allocates the view's memory.
func bindView() bool {
	view.ids, view.logits = nil, nil
	switch {
	case guest.Sample == nil || manifest.View == None:
		return true
	case view.row != nil:
		w := bindWords(abi.BufferLogits, max(1, VocabSize()))
		view.logits = unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(w))), len(w))
		return w != nil
	}
	view.keeps = Feature("sample_keep")
	n := manifest.Candidates
	if n == 0 {
		n = abi.LimitDefaultCandidates
	}
	w := bindWords(abi.BufferCandidates, 2*n)
	if w == nil {
		return false
	}
	view.ids, view.logits = w[:n], unsafe.Slice((*float32)(unsafe.Pointer(&w[n])), n)
	return true
}

func sampleCandidates(n int32) int32 {
	c := &view.candidates
	c.ids, c.logits = view.ids[:n], view.logits[:n]
	biases[0] = 0
	choice := view.sampler.Sample(c)
	if choice == Biased {
		return applyBiases(c.ids, c.logits)
	}
	if choice < Edited && !view.keeps {
		for i := int(-1 - choice); i < len(c.logits); i++ {
			c.logits[i] = banned
		}
		return int32(Edited)
	}
	return int32(choice)
}

func sampleRow(n int32) int32 {
	view.whole.logits = view.logits[:n]
	biases[0] = 0
	choice := view.row.SampleRow(&view.whole)
	if choice == Biased {
		return applyBiases(nil, view.whole.logits)
	}
	return int32(choice)
}

var banned = float32(math.Inf(-1))

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

// Biased is an answer of Sample and SampleRow: the amounts of Bias are added to the logits as the
// earlier stages left them. Edits of the view are ignored, and no token is dropped, not even those
// outside the candidates. On a host without this answer, the candidates are edited instead, and
// tokens outside them are dropped as usual.
const Biased Choice = abi.SampleBiased

// Bias adds an amount to a token's logit, if Sample answers Biased; −Inf bans the token. It returns
// false if there is no room for another entry: the manifest's Biases sets how many there are.
func (c *Candidates) Bias(t Token, amount float32) bool { return addBias(t, amount) }

// Bias is like Candidates.Bias.
func (r *Row) Bias(t Token, amount float32) bool { return addBias(t, amount) }

// biases is the buffer: the number of entries, then the token and the amount of each.
var biases []uint32

func addBias(t Token, amount float32) bool {
	at := 1 + 2*int(biases[0])
	if at+2 > len(biases) {
		return false
	}
	biases[at], biases[at+1] = t, math.Float32bits(amount)
	biases[0]++
	return true
}

func bindBias() bool {
	if guest.Prepare == nil && guest.Sample == nil {
		return true
	}
	room := manifest.Biases
	if room == 0 {
		room = defaultRoom
	}
	biases = bindWords(abi.BufferBias, 1+2*room)
	return biases != nil
}

// applyBiases is the answer Biased for this host.
func applyBiases(ids []Token, logits []float32) int32 {
	if Feature("sample_bias") {
		return int32(Biased)
	}
	for i := range int(biases[0]) {
		t, amount := biases[1+2*i], math.Float32frombits(biases[2+2*i])
		for k := range logits {
			if ids == nil && Token(k) == t || ids != nil && ids[k] == t {
				logits[k] += amount
			}
		}
	}
	return int32(Edited)
}

// Random returns 64 random bits that depend on the request's seed, the plugin's place in the chain,
// the position in the conversation and the number of earlier calls there. A replay draws the same.
func Random() uint64 { return uint64(abi.Random()) }

// Uniform draws from the multiples of 2⁻²⁴ in [0, 1).
func Uniform() float32 { return float32(Random()>>40) * (1.0 / (1 << 24)) }
