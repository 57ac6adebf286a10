// SPDX-License-Identifier: MIT

package peer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestComparison_Differences(t *testing.T) {
	all := Comparison{Except: []string{"id", "choices[].at", "**.timings"}, Tolerance: map[string]float64{"choices[].probs": 0.01}}
	for name, tc := range map[string]struct {
		want, got string
		expect    []string
	}{
		"equal":              {`{"a":[1,{"b":null}]}`, `{"a":[1,{"b":null}]}`, nil},
		"float":              {`{"a":0.800000011920929}`, `{"a":0.8}`, nil},
		"value":              {`{"a":1}`, `{"a":2}`, []string{"a: 1 → 2"}},
		"absent":             {`{"a":1}`, `{}`, []string{"a: 1 → absent"}},
		"too many":           {`{}`, `{"a":"x"}`, []string{`a: absent → "x"`}},
		"type":               {`{"a":1}`, `{"a":"1"}`, []string{`a: 1 → "1"`}},
		"null is a value":    {`{"a":null}`, `{"a":false}`, []string{`a: null → false`}},
		"length":             {`{"a":[1,2]}`, `{"a":[1]}`, []string{`a: [1,2] → [1]`}},
		"deep":               {`{"a":[{"b":[1]}]}`, `{"a":[{"b":[2]}]}`, []string{`a[].b[]: 1 → 2`}},
		"exceptions":         {`{"id":1,"choices":[{"at":1}],"x":{"timings":{"ms":1}}}`, `{"id":2,"choices":[{"at":{"b":2}}],"x":{}}`, nil},
		"not an exception":   {`{"ids":1}`, `{"ids":2}`, []string{"ids: 1 → 2"}},
		"tolerated":          {`{"choices":[{"probs":[{"p":-1}]}]}`, `{"choices":[{"probs":[{"p":-1.001}]}]}`, nil},
		"not tolerated":      {`{"choices":[{"probs":[{"p":-1}]}]}`, `{"choices":[{"probs":[{"p":-2}]}]}`, []string{"choices[].probs[].p: -1 → -2"}},
		"tolerant elsewhere": {`{"p":-1}`, `{"p":-1.001}`, []string{"p: -1 → -1.001"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.expect, all.Differences(t, tc.want, tc.got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
