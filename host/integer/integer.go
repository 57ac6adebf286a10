// SPDX-License-Identifier: MIT

// Package integer reads JSON in which integers may be written as 5.0 and 1e1, which they are by
// JSON Schema.
package integer

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxRespelt bounds how many integers of one text, or lists of them, may be written as other
// numbers: each has the text read again.
const maxRespelt = 64

// exact is up to where each integer is a float64.
const exact = 1 << 53

// Unmarshal is json.Unmarshal, but takes 5.0 and 1e1 for the integers that they are. Only a number
// that is read as an integer is taken so: the text of others stays as it is.
func Unmarshal(text []byte, v any) error {
	return read(text, func(text []byte) error { return json.Unmarshal(text, v) })
}

// UnmarshalKnown is Unmarshal, but refuses a field that v does not have.
func UnmarshalKnown(text []byte, v any) error {
	return read(text, func(text []byte) error {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		return d.Decode(v)
	})
}

func read(text []byte, decode func([]byte) error) error {
	for range maxRespelt {
		err := decode(text)
		var wrong *json.UnmarshalTypeError
		if !errors.As(err, &wrong) {
			return err
		}
		literal, isNumber := strings.CutPrefix(wrong.Value, "number ")
		integer, ok := integerOf(literal)
		end := int(wrong.Offset)
		if !isNumber || !ok || !isInteger(wrong.Type) || end > len(text) || !bytes.HasSuffix(text[:end], []byte(literal)) {
			return err
		}
		text = slices.Concat(text[:end-len(literal)], []byte(integer), restOfList(text[end:]))
	}
	return decode(text)
}

// listed is a number that follows another one in a list.
var listed = regexp.MustCompile(`^\s*,\s*(-?[0-9][-+.0-9eE]*)`)

// restOfList is a text that goes on behind an integer, with the integers that follow that in a
// list as integers are written.
func restOfList(text []byte) []byte {
	var out []byte
	for {
		at := listed.FindSubmatchIndex(text)
		if at == nil {
			return append(out, text...)
		}
		literal := string(text[at[2]:at[3]])
		if integer, ok := integerOf(literal); ok {
			literal = integer
		}
		out = append(append(out, text[:at[2]]...), literal...)
		text = text[at[3]:]
	}
}

// integerOf is how a number is written as an integer, if it is one and is not written so.
func integerOf(literal string) (string, bool) {
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > exact || !strings.ContainsAny(literal, ".eE") {
		return "", false
	}
	return strconv.FormatInt(int64(f), 10), true
}

func isInteger(t reflect.Type) bool {
	return t != nil && t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64
}
