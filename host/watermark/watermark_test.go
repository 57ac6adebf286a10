// SPDX-License-Identifier: MIT

package watermark

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

var secret = strings.Repeat("5a", 32)

// TestKey_Block_IsChaCha8 has the first block of the stream that the key and the nonce 0 give in
// the test vectors of the estream project's candidates.
func TestKey_Block_IsChaCha8(t *testing.T) {
	var got []byte
	for _, word := range new(key).block([4]uint32{}) {
		got = binary.LittleEndian.AppendUint32(got, word)
	}
	const want = "3e00ef2f895f40d67f5bb8e81f09a5a12c840ec3ce9a7f3b181be188ef711a1e984ce172b9216f419f445367456d5619314a42a3da86b001387bfdb80e0cfe42"
	if hex.EncodeToString(got) != want {
		t.Errorf("%x, want %s", got, want)
	}
}

// TestKey_Number_IsThePlugins has numbers that the test of the plugin has, too.
func TestKey_Number_IsThePlugins(t *testing.T) {
	raw := must.Get(os.ReadFile(filepath.Join("..", "..", "plugins", "examples", "watermark", "testdata", "words.json")))(t)
	var cases []struct {
		Key     string
		Words   [][]uint32
		Token   uint32
		Numbers []uint32
		Halves  []uint16
	}
	if err := json.Unmarshal(raw, &cases); err != nil || len(cases) < 3 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, c := range cases {
		k := must.Get(parseKey(c.Key))(t)
		for _, words := range c.Words {
			k = k.after(words...)
		}
		var got []uint32
		var halves []uint16
		for i := range c.Numbers {
			got, halves = append(got, k.number(c.Token+uint32(i))), append(halves, k.half(c.Token+uint32(i)))
		}
		if !slices.Equal(got, c.Numbers) || !slices.Equal(halves, c.Halves) {
			t.Errorf("after %v: %v and %v, want %v and %v", c.Words, got, halves, c.Numbers, c.Halves)
		}
	}
}

func TestNew_Wrong_NamesTheField(t *testing.T) {
	good := Config{secret, Green, 4, 0.25}
	must.Get(New(good))(t)
	for field, change := range map[string]func(*Config){
		"key":     func(c *Config) { c.Key = "swordfish" },
		"scheme":  func(c *Config) { c.Scheme = "red" },
		"context": func(c *Config) { c.Context = 9 },
		"gamma":   func(c *Config) { c.Gamma = math.NaN() },
	} {
		c := good
		change(&c)
		var wrong *Error
		if _, err := New(c); !errors.As(err, &wrong) || wrong.Field != field || !strings.HasPrefix(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestTails_AreExact(t *testing.T) {
	for _, c := range []struct{ got, want float64 }{
		{binomialTail(3, 0, 0.25), 1},
		{binomialTail(3, 2, 0.25), 3*0.25*0.25*0.75 + 0.25*0.25*0.25},
		{binomialTail(1000, 1000, 0.5), math.Pow(2, -1000)},
		{binomialTail(0, 0, 0.5), 1},
		{gammaTail(0, 0), 1},
		{gammaTail(1, 3), math.Exp(-3)},
		{gammaTail(3, 5), math.Exp(-5) * (1 + 5 + 12.5)},
		{gammaTail(2, 600), math.Exp(-600) * 601},
		{gammaTail(1, 1e5), math.SmallestNonzeroFloat64},
	} {
		if math.Abs(c.got/c.want-1) > 1e-9 {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}
}

// TestDetector_Detect_CountsEachContextOnce has a phrase that is repeated: it shows no more than
// once written.
func TestDetector_Detect_CountsEachContextOnce(t *testing.T) {
	d := must.Get(New(Config{secret, Gumbel, 2, DefaultGamma}))(t)
	once := d.Detect([]int32{1, 2, 3, 4, 5, 1, 2})
	again := d.Detect(slices.Repeat([]int32{1, 2, 3, 4, 5}, 50))
	if once.Scored != 5 || again.Scored != 5 || again.Score != once.Score || again.Tokens != 250 {
		t.Errorf("once %+v, repeated %+v", once, again)
	}
	if r := d.Detect([]int32{1, 2}); r != (Result{Tokens: 2, PValue: 1}) {
		t.Errorf("a text of one context: %+v", r)
	}
}

// TestDetector_Detect_PValuesHold tests many random texts without a mark, and some with one.
func TestDetector_Detect_PValuesHold(t *testing.T) {
	random := steadytest.Rand(t)
	const texts, tokens, vocabulary = 4000, 150, 50 // marked texts of so many are six deviations from the bound
	for _, scheme := range []string{Gumbel, Green} {
		low := map[float64]int{}
		d := must.Get(New(Config{secret, scheme, 2, DefaultGamma}))(t)
		for i := range texts {
			text := make([]int32, tokens)
			for j := range text {
				text[j] = random.Int32N(vocabulary)
			}
			p := d.Detect(text).PValue
			for _, bound := range []float64{0.01, 0.1} {
				if p < bound {
					low[bound]++
				}
			}
			if i >= 20 {
				continue
			}
			for j := d.width; j < tokens; j++ { // the token that either scheme likes best, of four
				k := d.key.after(uint32(text[j-2]), uint32(text[j-1]))
				best := func(t int32) uint32 {
					if scheme == Gumbel {
						return k.number(uint32(t))
					}
					return ^uint32(k.half(uint32(t)))
				}
				for range 3 {
					if other := random.Int32N(vocabulary); best(other) > best(text[j]) {
						text[j] = other
					}
				}
			}
			if r := d.Detect(text); r.PValue > 1e-5 || r.Score <= r.Expected {
				t.Errorf("%s: a marked text has %+v", scheme, r)
			}
		}
		for bound, n := range low { // of a binomial variable, five deviations above its mean
			if most := texts*bound + 5*math.Sqrt(texts*bound); float64(n) > most || float64(n) < texts*bound/4 {
				t.Errorf("%s: %d of %d texts without a mark have a p-value below %v", scheme, n, texts, bound)
			}
		}
	}
}

// FuzzDetector_Detect has no text make it panic, or give what is no probability.
func FuzzDetector_Detect(f *testing.F) {
	f.Add([]byte("abcabcabc"), true, 1)
	f.Fuzz(func(t *testing.T, text []byte, green bool, context int) {
		scheme := map[bool]string{true: Green, false: Gumbel}[green]
		d, err := New(Config{secret, scheme, context, 0.5})
		if err != nil {
			return
		}
		var tokens []int32
		for _, b := range text {
			tokens = append(tokens, int32(b))
		}
		if r := d.Detect(tokens); !(r.PValue > 0 && r.PValue <= 1) || r.Scored > r.Tokens {
			t.Errorf("%+v", r)
		}
	})
}
