// SPDX-License-Identifier: MIT

package session

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Logits are in JSON an array of numbers, or base64 of little-endian floats where they are too
// many to read.
type Logits []float32

// readable is how many logits are written as numbers: as many as the widest view of candidates has.
const readable = 4096

// notFinite are the logits that JSON has no numbers for.
var notFinite = map[string]float32{"-inf": float32(math.Inf(-1)), "inf": float32(math.Inf(1)), "nan": float32(math.NaN())}

// MarshalJSON implements json.Marshaler.
func (l Logits) MarshalJSON() ([]byte, error) {
	if len(l) > readable {
		return json.Marshal(l.bytes())
	}
	text := []byte{'['}
	for i, x := range l {
		if i > 0 {
			text = append(text, ',')
		}
		text = appendLogit(text, x)
	}
	return append(text, ']'), nil
}

// Logit is one of them.
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
	for i := range *l {
		(*l)[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return nil
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

// bytes are the logits as little-endian floats.
func (l Logits) bytes() []byte {
	b := make([]byte, 0, 4*len(l))
	for _, x := range l {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// digest is the sha256 of the logits as little-endian floats, in hex.
func (l Logits) digest() string {
	sum := sha256.Sum256(l.bytes())
	return hex.EncodeToString(sum[:])
}

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
