// SPDX-License-Identifier: MIT

package session

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
)

// Logits are in JSON an array of numbers, or base64 of little-endian floats if there are too many
// to read.
type Logits []float32

// readable is up to how many logits are written as numbers: as many as the widest view of
// candidates has.
const readable = 4096

// notFinite holds the logits for which JSON has no numbers.
var notFinite = map[string]float32{"-inf": float32(math.Inf(-1)), "inf": float32(math.Inf(1)), "nan": float32(math.NaN())}

// MarshalJSON implements json.Marshaler.
func (l Logits) MarshalJSON() ([]byte, error) {
	if len(l) > readable {
		return json.Marshal(littleEndian([]float32(l)))
	}
	text := []byte{'['}
	for _, x := range l {
		text = append(appendLogit(text, x), ',')
	}
	return append(bytes.TrimSuffix(text, []byte{','}), ']'), nil
}

// Logit is one of a list of Logits.
type Logit float32

// MarshalJSON implements json.Marshaler.
func (l Logit) MarshalJSON() ([]byte, error) { return appendLogit(nil, float32(l)), nil }

// UnmarshalJSON implements json.Unmarshaler.
func (l *Logit) UnmarshalJSON(text []byte) error {
	x, err := parseLogit(text)
	*l = Logit(x)
	return err
}

func appendLogit(text []byte, x float32) []byte {
	switch {
	case math.IsNaN(float64(x)):
		return append(text, `"nan"`...)
	case math.IsInf(float64(x), -1):
		return append(text, `"-inf"`...)
	case math.IsInf(float64(x), 1):
		return append(text, `"inf"`...)
	}
	return strconv.AppendFloat(text, float64(x), 'g', -1, 32)
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *Logits) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return l.decode(text)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("%.60s are no logits: an array of numbers, or base64 of little-endian floats", text)
	}
	*l = make(Logits, len(list))
	for i, entry := range list {
		var err error
		if (*l)[i], err = parseLogit(entry); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return nil
}

func (l *Logits) decode(text []byte) error {
	var raw []byte
	if err := json.Unmarshal(text, &raw); err != nil || len(raw)%4 != 0 {
		return fmt.Errorf("%.60s is not base64 of little-endian 32-bit floats", text)
	}
	*l = make(Logits, len(raw)/4)
	_, err := binary.Decode(raw, binary.LittleEndian, []float32(*l))
	return err
}

func parseLogit(text []byte) (float32, error) {
	var name string
	if json.Unmarshal(text, &name) == nil {
		if x, ok := notFinite[name]; ok {
			return x, nil
		}
	}
	x, err := strconv.ParseFloat(string(text), 32)
	if err != nil {
		return 0, fmt.Errorf(`%.30s is no logit: a number that a 32-bit float can hold, or "-inf"`, text)
	}
	return float32(x), nil
}

// littleEndian encodes numbers as the ABI has them in memory. The lists have no named type, since
// encoding/binary would encode its elements one by one.
func littleEndian[T []float32 | []uint32](numbers T) []byte {
	b, err := binary.Append(nil, binary.LittleEndian, numbers)
	if err != nil {
		panic(err) // such numbers have a fixed size
	}
	return b
}

// digest returns the SHA-256 of the logits as little-endian floats, in hex.
func (l Logits) digest() string { return fmt.Sprintf("%x", sha256.Sum256(littleEndian([]float32(l)))) }

// Bias is added to a token's logit: in JSON [token, amount].
type Bias struct {
	Token  Token
	Amount float32
}

// MarshalJSON implements json.Marshaler.
func (b Bias) MarshalJSON() ([]byte, error) { return json.Marshal([]any{b.Token, Logit(b.Amount)}) }

// UnmarshalJSON implements json.Unmarshaler.
func (b *Bias) UnmarshalJSON(text []byte) error {
	pair := []any{&b.Token, (*Logit)(&b.Amount)}
	if err := json.Unmarshal(text, &pair); err != nil || len(pair) != 2 {
		return fmt.Errorf("%.60s is no bias: [token, amount]", text)
	}
	return nil
}

// Text is bytes: in JSON a string, or {"base64": "…"} where they are no UTF-8.
type Text string

type base64Text struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(base64Text{[]byte(t)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, (*string)(t))
	}
	var b base64Text
	if err := decodeStrict(text, &b); err != nil || b.Base64 == nil {
		return fmt.Errorf("%.60s is no text: a string, or {\"base64\": \"…\"}", text)
	}
	*t = Text(b.Base64)
	return nil
}

// Mask says which tokens may come next: only those of Allow, all but those of Ban, or those whose
// bits are set in the ABI's layout, in little-endian words. The zero value allows all.
type Mask struct {
	Allow []Token `json:"allow,omitempty"`
	Ban   []Token `json:"ban,omitempty"`
	Bits  []byte  `json:"bits,omitempty"`
}

// NewMask returns the shortest form of a mask over n tokens in the ABI's layout.
func NewMask(words []uint32, n int) *Mask {
	allowed := 0
	for _, w := range words {
		allowed += bits.OnesCount32(w)
	}
	list := func(set uint32) []Token {
		tokens := []Token{}
		for t := range n {
			if words[t/32]>>(t%32)&1 == set {
				tokens = append(tokens, Token(t))
			}
		}
		return tokens
	}
	short := max(len(words)/2, 8) // as many tokens as a number of bits takes characters, about
	switch {
	case allowed > 0 && allowed <= short:
		return &Mask{Allow: list(1)}
	case n-allowed <= short:
		return &Mask{Ban: list(0)}
	}
	return &Mask{Bits: littleEndian(words)}
}

// Words returns the mask over n tokens in the ABI's layout.
func (m *Mask) Words(n int) []uint32 {
	words := make([]uint32, (n+31)/32)
	if m.Bits != nil {
		_, _ = binary.Decode(m.Bits, binary.LittleEndian, words) // check knows that they are as many
		return words
	}
	for t := range n {
		if m.Allow == nil {
			words[t/32] |= 1 << (t % 32)
		}
	}
	for _, t := range m.Allow {
		words[t/32] |= 1 << (t % 32)
	}
	for _, t := range m.Ban {
		words[t/32] &^= 1 << (t % 32)
	}
	return words
}

// check refuses a mask that is invalid for n tokens.
func (m *Mask) check(n int) error {
	switch {
	case m == nil:
		return nil
	case m.Allow != nil && m.Ban != nil, m.Bits != nil && (m.Allow != nil || m.Ban != nil):
		return fmt.Errorf("mask: it has two of allow, ban and bits; give one")
	case m.Bits != nil && len(m.Bits) != (n+31)/32*4:
		return fmt.Errorf("mask.bits: %d bytes; a mask over %d tokens has %d", len(m.Bits), n, (n+31)/32*4)
	}
	return cmp.Or(checkTokens("mask.allow", m.Allow, n), checkTokens("mask.ban", m.Ban, n))
}

// Vocabulary is a model's, as plugins see it.
type Vocabulary struct {
	Pieces       []Text             `json:"pieces"`
	Attributes   map[string][]Token `json:"attributes,omitempty"` // by name: control, end, byte, unused
	Special      map[string]Token   `json:"special,omitempty"`    // by name: bos, eos, eot, newline
	LongestPiece bool               `json:"longest_piece,omitempty"`
}

// attributes and specials map names to the ABI's numbers.
var (
	attributes = map[string]uint32{"control": abi.AttrControl, "end": abi.AttrEnd, "byte": abi.AttrByte, "unused": abi.AttrUnused}
	specials   = map[string]int32{"bos": abi.SpecialBOS, "eos": abi.SpecialEOS, "eot": abi.SpecialEOT, "newline": abi.SpecialNewline}
)

// NewVocabulary records a vocabulary.
func NewVocabulary(from plugin.Vocabulary) Vocabulary {
	v := Vocabulary{Attributes: map[string][]Token{}, Special: map[string]Token{}}
	for t := range Token(from.Size()) {
		v.Pieces = append(v.Pieces, Text(from.Piece(t)))
		has := from.Attributes(t)
		for name, bit := range attributes {
			if has&bit != 0 {
				v.Attributes[name] = append(v.Attributes[name], t)
			}
		}
	}
	for name, kind := range specials {
		if t := from.Special(kind); t >= 0 {
			v.Special[name] = t
		}
	}
	return v
}

// check looks for names and tokens that do not exist.
func (v *Vocabulary) check() error {
	n := len(v.Pieces)
	if n == 0 {
		return errors.New("vocabulary.pieces: there are none")
	}
	for name, tokens := range v.Attributes {
		if _, ok := attributes[name]; !ok {
			return fmt.Errorf("vocabulary.attributes.%s: there are control, end, byte and unused", name)
		}
		if err := checkTokens("vocabulary.attributes."+name, tokens, n); err != nil {
			return err
		}
	}
	for name, t := range v.Special {
		if _, ok := specials[name]; !ok {
			return fmt.Errorf("vocabulary.special.%s: there are bos, eos, eot and newline", name)
		}
		if err := checkToken("vocabulary.special."+name, t, n); err != nil {
			return err
		}
	}
	return nil
}

func checkTokens(field string, tokens []Token, n int) error {
	for i, t := range tokens {
		if err := checkToken(fmt.Sprintf("%s[%d]", field, i), t, n); err != nil {
			return err
		}
	}
	return nil
}

func checkToken(field string, t Token, n int) error {
	if t < 0 || int(t) >= n {
		return fmt.Errorf("%s: there is no token %d; the vocabulary has %d", field, t, n)
	}
	return nil
}
