// SPDX-License-Identifier: MIT

package integer

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestUnmarshal_IntegersHoweverWritten(t *testing.T) {
	for text, want := range map[string]int{`5`: 5, `5.0`: 5, `1e1`: 10, `-2.50e2`: -250, `0.0`: 0} {
		for name, unmarshal := range map[string]func([]byte, any) error{"Unmarshal": Unmarshal, "UnmarshalKnown": UnmarshalKnown} {
			var v struct {
				A int             `json:"a"`
				B *uint8          `json:"b"`
				C json.RawMessage `json:"c"`
			}
			if err := unmarshal([]byte(`{"c":5.0,"a": `+text+` ,"b":7.0}`), &v); err != nil || v.A != want || v.B == nil || *v.B != 7 || string(v.C) != "5.0" {
				t.Errorf("%s %s: %v %+v", name, text, err, v)
			}
		}
	}
	for _, text := range []string{`5.5`, `1e300`, `1e-1`, `9007199254740994.0`, `"5.0"`, `true`} {
		var v struct {
			A int `json:"a"`
		}
		if err := Unmarshal([]byte(`{"a":`+text+`}`), &v); err == nil {
			t.Errorf("%s is taken for %d", text, v.A)
		}
	}
}

// A list of integers may be of any length, and one that is none is refused wherever it stands.
func TestUnmarshal_Lists(t *testing.T) {
	var v struct {
		A []int32   `json:"a"`
		B []float64 `json:"b"`
	}
	long := strings.Repeat("5.0, ", 1000)
	if err := Unmarshal([]byte(`{"b":[1.0,2.5],"a":[1,`+long+`3e0]}`), &v); err != nil || len(v.A) != 1002 || v.A[1000] != 5 || v.A[1001] != 3 || !slices.Equal(v.B, []float64{1, 2.5}) {
		t.Errorf("%v %d %v", err, len(v.A), v.B)
	}
	if err := Unmarshal([]byte(`{"a":[1.0,`+long+`2.5]}`), &v); err == nil || !strings.Contains(err.Error(), "2.5") {
		t.Errorf("2.5 among integers: %v", err)
	}
}

// What encoding/json takes is taken as it takes it.
func FuzzUnmarshal(f *testing.F) {
	for _, seed := range []string{`{"a":5.0}`, `{"l":[1.0, 2 ,3e0],"r":5.0}`, `{"a":5,"l":[],"r":[5.0,1e1]}`, `[5.0`, `null`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		type object struct {
			A int             `json:"a"`
			L []int32         `json:"l"`
			R json.RawMessage `json:"r"`
		}
		var want, got object
		if json.Unmarshal(text, &want) != nil {
			_ = Unmarshal(text, &got)
			return
		}
		if err := Unmarshal(text, &got); err != nil || !reflect.DeepEqual(want, got) {
			t.Errorf("%v: %+v, want %+v", err, got, want)
		}
	})
}

func TestUnmarshalKnown_RefusesOthers(t *testing.T) {
	var v struct{ A int }
	if err := UnmarshalKnown([]byte(`{"a":1.0,"b":2}`), &v); err == nil || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("%v", err)
	}
}
