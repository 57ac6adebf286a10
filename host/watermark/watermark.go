// SPDX-License-Identifier: MIT

// Package watermark finds the watermark of plugins/examples/watermark in texts, and says how
// rarely text without it shows as much.
//
// A key and the last tokens before a token give it a number (key.number). In text without the mark
// these numbers are random, and independent as long as no context counts twice, which the test of
// a text makes sure of: numbers that repeat with a repeated phrase would be taken for a mark. So
// the p-values are exact, as in Fernandez et al., "Three Bricks to Consolidate Watermarks for Large
// Language Models" (2023), and not those of a normal approximation.
package watermark

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// The schemes of the plugin.
const (
	Gumbel = "gumbel"
	Green  = "green"
)

// The bounds and the defaults of a Config.
const (
	MaxContext     = 8
	DefaultContext = 4
	MinGamma       = 0.01
	MaxGamma       = 0.5
	DefaultGamma   = 0.25
)

// Config is what a text has been marked with: the plugin's configuration, as far as the text
// depends on it in a way that a test has to know.
type Config struct {
	Key     string  // 64 hexadecimal digits
	Scheme  string  // Gumbel or Green
	Context int     // tokens that decide the number of the next
	Gamma   float64 // of Green: the share of tokens that are green
}

// Error says which part of a Config is wrong.
type Error struct {
	Field   string // as in the plugin's configuration
	Message string
}

func (e *Error) Error() string { return e.Message }

// Detector tests texts for one watermark. It may be used by several goroutines at once.
type Detector struct {
	key       key
	green     bool
	width     int
	threshold uint16 // a token is green if its half is below it
}

// New makes the detector of a configuration.
//
// # Errors
//
//   - an [*Error] for a field that cannot be used.
func New(c Config) (*Detector, error) {
	k, err := parseKey(c.Key)
	switch {
	case err != nil:
		return nil, &Error{"key", err.Error()}
	case c.Scheme != Gumbel && c.Scheme != Green:
		return nil, &Error{"scheme", fmt.Sprintf("scheme is %.40q; it must be gumbel or green", c.Scheme)}
	case c.Context < 1 || c.Context > MaxContext:
		return nil, &Error{"context", fmt.Sprintf("context is %d; it must be from 1 to %d, as in the plugin's configuration", c.Context, MaxContext)}
	case !(c.Gamma >= MinGamma && c.Gamma <= MaxGamma):
		return nil, &Error{"gamma", fmt.Sprintf("gamma is %v; it must be from %v to %v, as in the plugin's configuration", c.Gamma, MinGamma, MaxGamma)}
	}
	d := &Detector{green: c.Scheme == Green, width: c.Context, threshold: uint16(c.Gamma * (1 << 16))}
	scheme := uint32(0)
	if d.green {
		scheme = 1
	}
	d.key = k.after(scheme, uint32(d.width))
	return d, nil
}

// Result is what a text shows.
type Result struct {
	Tokens   int     `json:"tokens"`   // of the text
	Scored   int     `json:"scored"`   // of these, those with a context that the text has not had before
	Score    float64 `json:"score"`    // of Green: how many are green; of Gumbel: the sum of −ln(1 − u)
	Expected float64 `json:"expected"` // the score of text without the mark, on average
	PValue   float64 `json:"p_value"`  // the probability of such a score, or a higher one, without the mark
}

// Detect tests a text, which may be a part of a longer one: its first tokens have no context and
// do not count.
func (d *Detector) Detect(tokens []int32) Result {
	r := Result{Tokens: len(tokens)}
	seen := make(map[[MaxContext]int32]struct{}, len(tokens))
	words := make([]uint32, d.width)
	for i := d.width; i < len(tokens); i++ {
		var context [MaxContext]int32
		copy(context[:], tokens[i-d.width:i])
		if _, repeated := seen[context]; repeated {
			continue
		}
		seen[context] = struct{}{}
		for j := range words {
			words[j] = uint32(context[j])
		}
		r.Scored++
		switch k, token := d.key.after(words...), uint32(tokens[i]); {
		case !d.green:
			r.Score -= math.Log(1 - (float64(k.number(token))+0.5)/(1<<32))
		case k.half(token) < d.threshold:
			r.Score++
		}
	}
	if d.green {
		gamma := float64(d.threshold) / (1 << 16)
		r.Expected = gamma * float64(r.Scored)
		r.PValue = binomialTail(r.Scored, int(r.Score), gamma)
	} else {
		r.Expected = float64(r.Scored)
		r.PValue = gammaTail(r.Scored, r.Score)
	}
	return r
}

// binomialTail is the probability of k or more of n, each of probability p.
func binomialTail(n, k int, p float64) float64 {
	if k <= 0 {
		return 1
	}
	logs := func(i int) float64 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(i + 1))
		c, _ := math.Lgamma(float64(n - i + 1))
		return a - b - c + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p)
	}
	return sumOfExp(k, n+1, logs)
}

// gammaTail is the probability that the sum of n exponential variables of mean 1 is x or more: the
// probability that a Poisson variable of mean x is below n.
func gammaTail(n int, x float64) float64 {
	if n == 0 {
		return 1
	}
	logs := func(i int) float64 {
		b, _ := math.Lgamma(float64(i + 1))
		return float64(i)*math.Log(x) - x - b
	}
	return sumOfExp(0, n, logs)
}

// sumOfExp (log-sum-exp) adds the exponentials of the terms from one to before another; they may be
// too small for a float64 one by one. It is from the smallest float64 above 0 to 1.
func sumOfExp(from, to int, logs func(int) float64) float64 {
	most := math.Inf(-1)
	for i := from; i < to; i++ {
		most = max(most, logs(i))
	}
	sum := 0.0
	for i := from; i < to; i++ {
		sum += math.Exp(logs(i) - most)
	}
	return min(1, max(math.SmallestNonzeroFloat64, math.Exp(most+math.Log(sum))))
}

// key is a secret, from which those of contexts are derived: src/keyed.rs of
// plugins/examples/watermark computes the same, and both tests read its testdata/words.json.
type key [8]uint32

// blockNumbers is how many numbers a block has.
const blockNumbers = 16

func parseKey(text string) (k key, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != 4*len(k) {
		return k, errors.New("key must have 64 hexadecimal digits, as `openssl rand -hex 32` prints")
	}
	for i := range k {
		k[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	return k, nil
}

// after is the key for what follows after some words: a cascade of blocks, each the key of the
// next. All lists of words that a key is used with must have the same length.
func (k key) after(words ...uint32) key {
	for len(words) > 0 {
		input := [4]uint32{1<<32 - 1, 1<<32 - 1, 1<<32 - 1, 1<<32 - 1} // which is no token
		words = words[copy(input[:], words):]
		block := k.block(input)
		copy(k[:], block[:])
	}
	return k
}

// number computes the number of a token: 32 bits, each as likely 0 as 1.
func (k key) number(token uint32) uint32 {
	return k.block([4]uint32{token / blockNumbers})[token%blockNumbers]
}

// half is a number of a token of 16 bits, of which a block has twice as many: the plugin needs them
// for all of a vocabulary.
func (k key) half(token uint32) uint16 {
	word := k.block([4]uint32{token / (2 * blockNumbers)})[token/2%blockNumbers]
	return uint16(word >> (16 * (token % 2)))
}

// block is the block function of ChaCha (Bernstein, 2008) with 8 rounds.
func (k *key) block(input [4]uint32) (x [blockNumbers]uint32) {
	copy(x[:], []uint32{0x61707865, 0x3320646e, 0x79622d32, 0x6b206574})
	copy(x[4:], k[:])
	copy(x[12:], input[:])
	begin := x
	for range 4 {
		for i := range 4 {
			quarterRound(&x, i, i+4, i+8, i+12)
		}
		for i := range 4 {
			quarterRound(&x, i, (i+1)%4+4, (i+2)%4+8, (i+3)%4+12)
		}
	}
	for i := range x {
		x[i] += begin[i]
	}
	return x
}

func quarterRound(x *[blockNumbers]uint32, a, b, c, d int) {
	x[a] += x[b]
	x[d] = bits.RotateLeft32(x[d]^x[a], 16)
	x[c] += x[d]
	x[b] = bits.RotateLeft32(x[b]^x[c], 12)
	x[a] += x[b]
	x[d] = bits.RotateLeft32(x[d]^x[a], 8)
	x[c] += x[d]
	x[b] = bits.RotateLeft32(x[b]^x[c], 7)
}
