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

// What an object says counts, else what the last layer says that says it, else llama.cpp's default.
func TestDefaults_Layers(t *testing.T) {
	d := must.Get(NewDefaults(map[string]string{"temperature": "0.25", "top_k": "7", "seed": "4", "samplers": "kt", "dry_sequence_breakers": ";;a;b"},
		map[string]string{"top_k": "-1", "ignore_eos": "true"}))(t)
	want := Default()
	want.Temperature, want.TopK, want.Seed, want.Chain, want.DrySequenceBreakers, want.IgnoreEOS = 0.25, -1, 4, Chain{"top_k", "temperature"}, []string{"a", "b"}, true
	for body, change := range map[string]func(*Params){
		`{}`: func(*Params) {},
		`{"temperature":null,"top_k":null,"samplers":null,"dry_sequence_breakers":null}`: func(*Params) {},
		`{"temperature":0,"top_k":0,"seed":9,"samplers":[],"dry_sequence_breakers":[]}`: func(p *Params) {
			p.Temperature, p.TopK, p.Seed, p.Chain, p.DrySequenceBreakers = 0, 0, 9, Chain{}, []string{}
		},
	} {
		f := UnsetFields()
		must.Do(t, json.Unmarshal([]byte(body), &f))
		got, err := f.Params(d.Params(), letters{})
		want := want
		want.IgnoreEOS = false // a switch that is not said is off
		change(&want)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", body, err, diff)
		}
	}
	if !d.Seeded() || (*Defaults)(nil).Seeded() {
		t.Error("it does not tell whether a seed was said")
	}
}

func TestParams_Over_Refuses(t *testing.T) {
	for name, text := range map[string]string{"temperature": "hot", "top_k": "1.5", "top_p": "2", "samplers": "top_q;temp", "ignore_eos": "perhaps", "seed": "x", "min_p": "NaN"} {
		if _, err := Default().Over(map[string]string{name: text}); err == nil {
			t.Errorf("%s: %s was taken", name, text)
		}
	}
}

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
