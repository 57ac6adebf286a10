// SPDX-License-Identifier: MIT

package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestCountValues(t *testing.T) {
	for text, want := range map[string]int64{
		`0`: 1, `""`: 1, `{"a":0}`: 3, `{"a":0,"b":[1,2]}`: 7, `[0,0,0]`: 4, `"[,[,[,"`: 1, `"\"[,"`: 1, `["\\",0]`: 3, `["\\\",",0]`: 3,
		``: 1, `"`: 1, `"\`: 1, `[0,"\`: 3, `]]]]`: 1, `[,,,`: 5,
		strings.Repeat("[", 10000):                                maxDepth + 2, // the decoder goes no further
		strings.Repeat("[", 200) + "0" + strings.Repeat("]", 200): 201,
	} {
		if got := countValues([]byte(text)); got != want {
			t.Errorf("%.40q has %d values, want %d", text, got, want)
		}
	}
}

// FuzzCountValues: what decodes has no more values and keys than were counted.
func FuzzCountValues(f *testing.F) {
	for _, seed := range []string{`{"a":[0,"x\"y",{"b":null}],"c":{}}`, `[[],[[]],"\\"]`, `"\u005c"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) || checkText(text) != nil {
			return
		}
		d, n := jsontext.NewDecoder(bytes.NewReader(text)), int64(0)
		for {
			token, err := d.ReadToken()
			if err != nil {
				break
			}
			if kind := token.Kind(); kind != ']' && kind != '}' {
				n++
			}
		}
		if counted := countValues(text); counted < n {
			t.Errorf("%d values in %q, %d counted", n, text, counted)
		}
	})
}
