// SPDX-License-Identifier: MIT

package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// maxRespelt bounds how many integers of one text may be written as other numbers: each has the text read again.
const maxRespelt = 64

// exact is up to where each integer is a float64.
const exact = 1 << 53

// Unmarshal is json.Unmarshal, but takes 5.0 and 1e1 for the integers that they are by JSON Schema. Only a number that is read as an
// integer is taken so: the text of others stays as it is.
func Unmarshal(text []byte, v any) error {
	for range maxRespelt {
		err := json.Unmarshal(text, v)
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
		text = slices.Concat(text[:end-len(literal)], []byte(integer), text[end:])
	}
	return json.Unmarshal(text, v)
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
