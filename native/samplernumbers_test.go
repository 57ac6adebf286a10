// SPDX-License-Identifier: MIT

package native

import (
	"reflect"
	"testing"
)

// Each number reaches C in a field of its own, and the floats are among those that
// TestNewSampler_AbsurdParameters tries.
func TestSamplerNumbers_ReachC(t *testing.T) {
	var o SamplerOptions
	all, floats := reflect.ValueOf(&o.SamplerNumbers).Elem(), 0
	for i := range all.NumField() {
		if f := all.Field(i); f.CanFloat() {
			f.SetFloat(float64(i + 1))
			floats++
		} else {
			f.SetInt(int64(i + 1))
		}
	}
	if floats != len(numbers) {
		t.Errorf("%d numbers are floats; the test of absurd ones has %d", floats, len(numbers))
	}
	c, reached := reflect.ValueOf(o.params()), map[float64]bool{}
	for _, f := range c.Fields() {
		switch {
		case f.CanFloat():
			reached[f.Float()] = true
		case f.CanInt():
			reached[float64(f.Int())] = true
		}
	}
	for i := range all.NumField() {
		if !reached[float64(i+1)] {
			t.Errorf("%s does not reach C", all.Type().Field(i).Name)
		}
	}
}
