// SPDX-License-Identifier: MIT

package sampling

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// ParamFields are Params as they stand in a JSON object. What the object leaves out, or gives as
// null, keeps its value: decode into UnsetFields, and it is what Params has then, or into FieldsOf
// what it is to be.
type ParamFields struct {
	Seed *int64 `json:"seed"` // absent or negative: random
	Plain
	LogitBias json.RawMessage `json:"logit_bias"`
	constraintFields
	thinkingFields
}

// The values of Fields that say nothing: no request can say them.
var unset = float32(math.NaN())

// Unset marks an integer that the object does not have.
const Unset = math.MinInt

// UnsetFields makes the fields of an object that says nothing.
func UnsetFields() (f ParamFields) {
	plain := reflect.ValueOf(&f.Plain).Elem()
	for _, each := range ranges {
		if v := plain.FieldByIndex(each.index); v.CanInt() {
			v.SetInt(Unset)
		} else {
			v.SetFloat(float64(unset))
		}
	}
	return f
}

// over puts those of the base in the place of what says nothing.
func (p Plain) over(base Plain) Plain {
	out, from := reflect.ValueOf(&p).Elem(), reflect.ValueOf(&base).Elem()
	for _, f := range fields {
		v := out.FieldByIndex(f.index)
		if isUnset(v) {
			v.Set(from.FieldByIndex(f.index))
		}
	}
	return p
}

func isUnset(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Float32:
		return math.IsNaN(v.Float())
	case reflect.Int:
		return v.Int() == Unset
	case reflect.Slice:
		return v.IsNil()
	}
	return false // a switch, or a text
}

// FieldsOf gives the fields the values of p, except those that Params takes from p where an object
// leaves them out: the biases, what the answer must look like, and what is known of thinking.
func FieldsOf(p Params) ParamFields {
	f := ParamFields{Plain: p.Plain}
	// decoding writes into lists
	f.Chain = append(Chain(nil), p.Chain...)
	f.DrySequenceBreakers = append([]string(nil), p.DrySequenceBreakers...)
	f.PreservedTokens = append([]string(nil), p.PreservedTokens...)
	return f
}

// Params returns the parameters, checked. base gives what the object leaves out and fields cannot
// hold: the seed, whether a trace is wanted, and what FieldsOf does not give. Errors are *Invalid.
func (f ParamFields) Params(base Params, v Vocabulary) (Params, error) {
	p := base
	p.Plain = f.over(base.Plain)
	if f.Seed != nil {
		p.Seed = foldSeed(*f.Seed)
	}
	var err error
	if p.Chain, err = resolveAliases(p.Chain); err != nil {
		return Params{}, err
	}
	if p.LogitBias, err = parseBias(f.LogitBias, base.LogitBias, v); err != nil {
		return Params{}, err
	}
	if p.Constraint, err = f.constraint(base.Constraint); err != nil {
		return Params{}, err
	}
	if p.Thinking, err = f.thinking(base.Thinking); err != nil {
		return Params{}, err
	}
	if !slices.Equal(p.PreservedTokens, base.PreservedTokens) {
		p.Ready = nil // its triggers depend on them
	}
	if err := p.Constraint.validate(v); err != nil {
		return Params{}, err
	}
	return p, p.Validate()
}

// RandomSeed draws a seed for a request that names none.
func RandomSeed() uint32 { return foldSeed(-1) }

// ForChoice adds a choice's number to the seed, so that the choices of one request differ.
func (p Params) ForChoice(number uint32) Params {
	p.Seed = foldSeed(int64(p.Seed) + int64(number))
	return p
}

// foldSeed turns a client's seed into 32 bits. llama.cpp takes the largest value as "random", so it
// is never returned.
func foldSeed(seed int64) uint32 {
	const reserved = 1<<32 - 1
	if seed < 0 {
		return rand.Uint32N(reserved)
	}
	return uint32(seed % reserved)
}

// field is a field of Plain, as its tags describe it.
type field struct {
	name  string // in JSON
	index []int  // in Plain
}

// bounds are the range of a number.
type bounds struct {
	field
	low, high float64
	want      string // what an error says of it
}

// fields are all of Plain. ranges are those of its numbers, integers last: of several that are
// wrong the first is reported.
var fields, ranges = readTags(reflect.TypeFor[Plain]())

// readTags reads the tags of a struct's fields and of those of the structs in it. A number without
// a range is a mistake: it panics.
func readTags(plain reflect.Type) (all []field, ranges []bounds) {
	var integers []bounds
	for _, f := range reflect.VisibleFields(plain) {
		each := field{f.Tag.Get("json"), f.Index}
		if each.name == "" {
			continue // an embedded struct, whose fields follow
		}
		all = append(all, each)
		switch f.Type.Kind() {
		case reflect.Float32:
			ranges = append(ranges, each.bounds(f.Tag, "a number", 32))
		case reflect.Int:
			integers = append(integers, each.bounds(f.Tag, "an integer", 64))
		}
	}
	return all, slices.Concat(ranges, integers)
}

// bounds reads the tags min and max with the bits that the number has. The tag off:"min" has
// errors say that the lowest value means off.
func (f field) bounds(tag reflect.StructTag, kind string, bits int) bounds {
	least, most, note := tag.Get("min"), tag.Get("max"), ""
	if tag.Get("off") == "min" {
		note = " (off)"
	}
	low, errLow := strconv.ParseFloat(least, bits)
	high, errHigh := strconv.ParseFloat(most, bits)
	if errLow != nil || errHigh != nil {
		panic("sampling: " + f.name + " has no range")
	}
	return bounds{f, low, high, fmt.Sprintf("%s from %s%s to %s", kind, least, note, most)}
}

// checkRanges refuses the first number that is not within its range.
func (p *Plain) checkRanges() error {
	plain := reflect.ValueOf(p).Elem()
	for i := range ranges {
		r := &ranges[i]
		v := plain.FieldByIndex(r.index)
		if v.CanInt() {
			if n := v.Int(); n < int64(r.low) || n > int64(r.high) {
				return invalid(r.name, n, r.want)
			}
		} else if x := v.Float(); !(x >= r.low && x <= r.high) { // written so that NaN fails
			return invalid(r.name, float32(x), r.want)
		}
	}
	return nil
}

// Values are the parameters of Plain under the names of a request's body.
func (p Params) Values() map[string]any {
	plain, values := reflect.ValueOf(&p.Plain).Elem(), make(map[string]any, 2*len(fields))
	for _, f := range fields {
		values[f.name] = plain.FieldByIndex(f.index).Interface()
	}
	return values
}

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
		p.Seed = foldSeed(n)
	}
	var err error
	if p.Chain, err = resolveAliases(p.Chain); err != nil {
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
			entries = readWord(entries[0])
		}
		v.Set(reflect.ValueOf(entries).Convert(v.Type()))
	}
	return nil
}
