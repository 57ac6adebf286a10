// SPDX-License-Identifier: MIT

package json

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Errors of Append.
var (
	ErrType   = errors.New("not a kind of value that JSON is written of: nil, bool, string, int, uint32, uint64, float32, float64, Value, a list that Append names, or a map[string]any")
	ErrFinite = errors.New("JSON has no infinite numbers and no NaN")
)

// Append writes a value: nil, a bool, string, int, uint32, uint64, float32, float64 or Value, a
// []any, []string, []int, []uint32, []float32 or []Value, or a map[string]any, whose names are
// written in their order.
func Append(b []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case string:
		return AppendText(b, v), nil
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case uint32:
		return strconv.AppendUint(b, uint64(v), 10), nil
	case uint64:
		return strconv.AppendUint(b, v, 10), nil
	case float32:
		return appendFloat(b, float64(v), 32)
	case float64:
		return appendFloat(b, v, 64)
	case Value:
		return appendValue(b, v)
	case []any:
		return appendList(b, v)
	case []string:
		return appendList(b, v)
	case []int:
		return appendList(b, v)
	case []uint32:
		return appendList(b, v)
	case []float32:
		return appendList(b, v)
	case []Value:
		return appendList(b, v)
	case map[string]any:
		return appendMap(b, v)
	}
	return b, ErrType
}

func appendFloat(b []byte, x float64, bits int) ([]byte, error) {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return b, ErrFinite
	}
	return strconv.AppendFloat(b, x, 'g', -1, bits), nil
}

func appendList[T any](b []byte, list []T) (_ []byte, err error) {
	b = append(b, '[')
	for i, item := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = Append(b, item); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

func appendMap(b []byte, m map[string]any) (_ []byte, err error) {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = Append(append(AppendText(b, name), ':'), m[name]); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

// appendValue writes a value that was read.
func appendValue(b []byte, v Value) (_ []byte, err error) {
	switch v.kind {
	case Bool:
		return strconv.AppendBool(b, v.Bool()), nil
	case Number:
		return appendFloat(b, v.number, 64)
	case Text:
		return AppendText(b, v.text), nil
	case List:
		return appendList(b, v.items)
	case Object:
		b = append(b, '{')
		for i, name := range v.names {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendValue(append(AppendText(b, name), ':'), v.items[i]); err != nil {
				return b, err
			}
		}
		return append(b, '}'), nil
	}
	return append(b, "null"...), nil
}

// AppendText appends a text as a JSON string. Invalid UTF-8 becomes U+FFFD.
func AppendText(b []byte, text string) []byte {
	b = append(b, '"')
	for _, r := range text {
		if r >= ' ' && r != '"' && r != '\\' {
			b = utf8.AppendRune(b, r)
			continue
		}
		b = append(b, '\\')
		if r < ' ' {
			b = append(b, 'u', '0', '0', '0'+byte(r>>4))
			r = rune("0123456789abcdef"[r&15])
		}
		b = append(b, byte(r))
	}
	return append(b, '"')
}

// JSON is the value's text, as Append writes it.
func (v Value) JSON() string {
	text, _ := Append(nil, v) // it was read, or made by the reader
	return string(text)
}
