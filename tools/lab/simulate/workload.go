// SPDX-License-Identifier: MIT

package main

import (
	"math"
	"math/rand/v2"
	"sort"
	"time"

	"github.com/penstock/penstock/scheduler"
)

// workload says what conversations are like.
type workload struct {
	turns           float64 // of a conversation, on average; the number is geometric
	message, answer length
	systems         int     // system prompts, each shared by the conversations that begin with it
	popularity      float64 // the k-th of them begins 1/k^popularity times as many conversations as the first (Zipf's law)
	system          length

	wordsPerToken float64
	read, typed   float64 // words a minute
	pasted        int     // the most tokens of a message that were typed
}

// length is a log-normal distribution of numbers of tokens.
type length struct {
	mean, sigma float64 // sigma is that of the logarithm
	most        int
}

// chats are like those of LMSYS-Chat-1M (Zheng and others, 2023, arXiv:2309.11998, table 1), which
// has on average 2.0 turns, 69.5 tokens in a message and 214.5 in an answer. People read 238 words
// a minute (Brysbaert, 2019, doi:10.1016/j.jml.2019.104047) and type 52 (Dhakal and others, 2018,
// doi:10.1145/3173574.3174220), and a token is three quarters of an English word. Such papers give
// no system prompts, and sigma is not in that table: these are assumptions.
var chats = workload{
	turns: 2.0, message: length{69.5, 1.2, 4096}, answer: length{214.5, 0.8, 2048},
	systems: 200, popularity: 1, system: length{800, 0.8, 3000},
	wordsPerToken: 0.75, read: 238, typed: 52, pasted: 200,
}

// draw draws a length.
func (l length) draw(rng *rand.Rand) int {
	n := math.Exp(math.Log(l.mean) - l.sigma*l.sigma/2 + l.sigma*rng.NormFloat64())
	return min(max(int(n+0.5), 1), l.most)
}

// population is a workload with its system prompts, from which conversations are drawn.
type population struct {
	workload
	seed    uint64
	lengths []int     // of the system prompts
	weights []float64 // up to each of them
	cycle   time.Duration
}

// answering is about how long a user waits for an answer and reads along, in the estimate of how
// many messages users send.
const answering = 10 * time.Second

func newPopulation(w workload, seed uint64) *population {
	p := &population{workload: w, seed: seed}
	rng := rand.New(rand.NewPCG(seed, 0))
	total := 0.0
	for k := range w.systems {
		total += math.Pow(float64(k+1), -w.popularity)
		p.lengths, p.weights = append(p.lengths, w.system.draw(rng)), append(p.weights, total)
	}
	const samples = 20_000
	for range samples {
		p.cycle += (w.thinking(w.answer.draw(rng), w.message.draw(rng)) + answering) / samples
	}
	return p
}

// rate is how many conversations begin a second, given how many users are active at once: each
// sends a message every cycle.
func (p *population) rate(users int) float64 { return float64(users) / p.cycle.Seconds() / p.turns }

// thinking is how long a user reads an answer and types the next message.
func (w *workload) thinking(answer, message int) time.Duration {
	reading := float64(answer) * w.wordsPerToken / w.read
	typing := float64(min(message, w.pasted)) * w.wordsPerToken / w.typed
	return time.Duration((reading + typing) * float64(time.Minute))
}

// conversation is one, up to the message that is sent next.
type conversation struct {
	number  uint64 // from 1
	rng     *rand.Rand
	system  int // which system prompt
	begin   int // its tokens
	told    int // tokens since: messages and answers, the next message included
	message int // of told, the next message
	answer  int // tokens of the answer to it
	left    int // turns after this one
}

// converse draws conversation number n. It is the same whatever the fleet and the router do.
func (p *population) converse(n uint64) *conversation {
	rng := rand.New(rand.NewPCG(p.seed, n))
	c := &conversation{number: n, rng: rng}
	c.system = sort.SearchFloat64s(p.weights, rng.Float64()*p.weights[len(p.weights)-1])
	c.begin = p.lengths[c.system]
	for rng.Float64() > 1/p.turns {
		c.left++
	}
	p.ask(c)
	return c
}

// underWay draws conversation number n after one or more of its messages were answered. How many
// are left does not depend on how many there were: their number is geometric.
func (p *population) underWay(n uint64) *conversation {
	c := p.converse(n)
	left := c.left
	for again := true; again; again = c.rng.Float64() > 1/p.turns {
		p.follow(c)
	}
	c.left = left
	return c
}

// ask draws the next message and the length of its answer.
func (p *population) ask(c *conversation) {
	c.message, c.answer = p.message.draw(c.rng), p.answer.draw(c.rng)
	c.told += c.message
}

// follow goes on after an answer: how long until the next message is sent.
func (p *population) follow(c *conversation) time.Duration {
	answer := c.answer
	c.left--
	c.told += answer
	p.ask(c)
	return p.thinking(answer, c.message)
}

// prompt is what is sent: system prompt, messages and answers.
func (p *population) prompt(c *conversation) []scheduler.Token {
	tokens := make([]scheduler.Token, 0, c.begin+c.told)
	tokens = appendText(tokens, uint64(c.system+1), c.begin)
	return appendText(tokens, uint64(p.systems)+c.number, c.told)
}

// known is how much of the prompt a fleet with one cache without limits would have. The last token
// of an answer is in no cache, for nothing was computed after it.
func (c *conversation) known() int {
	if c.told == c.message {
		return c.begin
	}
	return c.begin + c.told - c.message - 1
}

// vocabulary is how many tokens there are. So many that each conversation has its own: two prompts
// agree exactly as far as they are the same text.
const vocabulary = 1 << 31

// first is the token with which text number n begins. No two texts begin alike.
func first(n uint64) scheduler.Token { return scheduler.Token(n * 0x9E3779B1 % vocabulary) }

// next is the token after t, in all texts and answers: a linear congruential generator, which
// returns to t after all others.
func next(t scheduler.Token) scheduler.Token {
	return scheduler.Token((uint64(t)*1664525 + 1013904223) % vocabulary)
}

// appendText appends the first n tokens of a text.
func appendText(to []scheduler.Token, text uint64, n int) []scheduler.Token {
	for t := first(text); n > 0; n-- {
		to = append(to, t)
		t = next(t)
	}
	return to
}

// block is how many tokens a digest is of.
const block = 64

// digest names the prefix that ends with a block, by the name of the prefix before it. A token
// determines those after it, so the last one of a block stands for all of them.
func digest(before uint64, last scheduler.Token) uint64 {
	h := (before ^ uint64(last)) * 0x9E3779B97F4A7C15
	return h ^ h>>29
}

// digests are the names of the prefixes of a prompt, the shortest first.
func digests(to []uint64, prompt []scheduler.Token) []uint64 {
	before := uint64(0)
	for end := block; end <= len(prompt); end += block {
		before = digest(before, prompt[end-1])
		to = append(to, before)
	}
	return to
}
