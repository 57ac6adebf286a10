// SPDX-License-Identifier: MIT

package sampling

import (
	"encoding/json"
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
