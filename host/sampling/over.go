// SPDX-License-Identifier: MIT

package sampling

import (
	"reflect"
	"strconv"
	"strings"
)

// Range is what a number among the parameters may be.
type Range struct {
	Low, High float64
	Default   float64 // llama.cpp's
	Integer   bool
	Want      string // as an error says it
}

// RangeOf is the range of a number by its name in JSON. It panics if there is none of that name.
func RangeOf(name string) Range {
	defaults := Default()
	for _, b := range ranges {
		if b.name != name {
			continue
		}
		r := Range{Low: b.low, High: b.high, Want: b.want}
		v := reflect.ValueOf(&defaults.Plain).Elem().FieldByIndex(b.index)
		if r.Integer = v.CanInt(); r.Integer {
			r.Default = float64(v.Int())
		} else {
			r.Default, _ = strconv.ParseFloat(strconv.FormatFloat(v.Float(), 'g', -1, 32), 64) // 0.8, not 0.800000012
		}
		return r
	}
	panic("sampling: no number is called " + name)
}

// Over gives the parameters with the values that texts have, by their names in JSON, in the place
// of theirs; lists have commas or semicolons between their entries. Errors are *Invalid.
func (p Params) Over(texts map[string]string) (Params, error) {
	plain := reflect.ValueOf(&p.Plain).Elem()
	for _, f := range fields {
		text, is := texts[f.name]
		if !is {
			continue
		}
		if err := setText(plain.FieldByIndex(f.index), f.name, text); err != nil {
			return Params{}, err
		}
	}
	if text, is := texts["seed"]; is {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return Params{}, invalid("seed", text, "an integer")
		}
		p.Seed = fold(n)
	}
	var err error
	if p.Chain, err = canonical(p.Chain); err != nil {
		return Params{}, err
	}
	return p, p.Validate()
}

// setText sets a field of Plain.
func setText(v reflect.Value, name, text string) error {
	switch v.Kind() {
	case reflect.Float32:
		x, err := strconv.ParseFloat(text, 32)
		if err != nil {
			return invalid(name, text, "a number")
		}
		v.SetFloat(x)
	case reflect.Int:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return invalid(name, text, "an integer")
		}
		v.SetInt(n)
	case reflect.Bool:
		on, err := strconv.ParseBool(text)
		if err != nil {
			return invalid(name, text, "true or false")
		}
		v.SetBool(on)
	case reflect.String:
		v.SetString(text)
	case reflect.Slice:
		entries := strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == ',' })
		if _, isChain := v.Interface().(Chain); isChain && len(entries) == 1 {
			entries = spelled(entries[0])
		}
		v.Set(reflect.ValueOf(entries).Convert(v.Type()))
	}
	return nil
}
