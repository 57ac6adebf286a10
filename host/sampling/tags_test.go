// SPDX-License-Identifier: MIT

package sampling

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/must"
)

// Both ends of each range are taken, and what lies behind them is refused with the range.
func TestParams_Validate_EveryRange(t *testing.T) {
	for _, r := range ranges {
		for value, taken := range map[float64]bool{r.low: true, r.high: true, r.low - 1: false, r.high + 1024: false} {
			p := Default()
			v := reflect.ValueOf(&p.Plain).Elem().FieldByIndex(r.index)
			v.Set(reflect.ValueOf(value).Convert(v.Type()))
			err := p.Validate()
			if taken && err != nil {
				t.Errorf("%s of %v: %v", r.name, value, err)
			}
			var invalid *Invalid
			if !taken && (!errors.As(err, &invalid) || invalid.Field != r.name || invalid.Want != r.want) {
				t.Errorf("%s of %v: %v; it must be %s", r.name, value, err, r.want)
			}
		}
	}
}

func TestReadTags(t *testing.T) {
	type inner struct {
		Count int     `json:"count" min:"-1" max:"2147483647"`
		Share float32 `json:"share" min:"0.01" max:"0.99"`
	}
	_, got := readTags(reflect.TypeFor[struct {
		inner
		Word  string  `json:"word"`
		Sigma float32 `json:"sigma" min:"-1" max:"1000" off:"min"`
	}]())
	least, most := float32(0.01), float32(0.99)
	want := []bounds{ // integers last
		{field{"share", []int{0, 1}}, float64(least), float64(most), "a number from 0.01 to 0.99"},
		{field{"sigma", []int{2}}, -1, 1000, "a number from -1 (off) to 1000"},
		{field{"count", []int{0, 0}}, -1, 2147483647, "an integer from -1 to 2147483647"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	defer func() {
		if recover() == nil {
			t.Error("a number without a range was taken")
		}
	}()
	readTags(reflect.TypeFor[struct {
		Count int `json:"count"`
	}]())
}

// The values are those that JSON has of Plain, under the same names.
func TestParams_Values(t *testing.T) {
	text := must.Get(json.Marshal(Default().Plain))(t)
	var want map[string]any
	must.Do(t, json.Unmarshal(text, &want))
	got := Default().Values()
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Error(diff)
	}
	if got["top_p"] != float32(0.95) || got["top_k"] != 40 {
		t.Errorf("top_p is %v and top_k %v", got["top_p"], got["top_k"])
	}
}
