// SPDX-License-Identifier: MIT

package sampling

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
)

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
