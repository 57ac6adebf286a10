// SPDX-License-Identifier: MIT

package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/penstock/penstock/host/refusal"
)

func TestDecode_TextThatIsReadInTwoWays(t *testing.T) {
	for name, tc := range map[string]struct{ body, code, param, message string }{
		"twice":           {`{"a":1,"b":2,"a":3}`, "duplicate_key", "a", "a is given twice"},
		"twice, escaped":  {`{"a":1,"\u0061":3}`, "duplicate_key", "a", "a is given twice"},
		"twice, inside":   {`{"messages":[{},{"role":"user","role":"system"}]}`, "duplicate_key", "messages[1].role", "given twice"},
		"twice, a number": {`{"logit_bias":{"5":1,"5":2}}`, "duplicate_key", "logit_bias[5]", "given twice"},
		"not UTF-8":       {"{\"prompt\":\"a\xffb\"}", "invalid_json", "prompt", "not UTF-8"},
		"not UTF-8, key":  {"{\"a\xc3\":1}", "invalid_json", "", "not UTF-8"},
		"half a pair":     {`{"prompt":"\ud83d"}`, "invalid_json", "prompt", "not UTF-8"},
		"deep":            {strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300), "invalid_json", "", "more than 256 deep"},
		"deep, open":      {strings.Repeat("[", 10<<20), "invalid_json", "", "more than 256 deep"},
		"deep, inside":    {`{"tools":` + strings.Repeat(`[`, 10<<20), "invalid_json", "", "more than 256 deep"},
	} {
		var v struct{ Prompt string }
		var e *refusal.Error
		err := Decode([]byte(tc.body), &v)
		if !errors.As(err, &e) || StatusOf(e) != 400 || e.Code != tc.code || e.Field != tc.param || !strings.Contains(e.Message, tc.message) || len(e.Message) > 300 {
			t.Errorf("%s: %+v", name, err)
		}
	}
	for name, body := range map[string]string{
		"depth":        strings.Repeat(`{"a":`, 256) + "1" + strings.Repeat("}", 256),
		"same in two":  `{"a":{"x":1},"b":{"x":1}}`,
		"a pair":       `{"prompt":"\ud83d\ude00"}`,
		"replacement":  `{"prompt":"` + "\ufffd" + `"}`,
		"null byte":    `{"prompt":"\u0000"}`,
		"large number": `{"seed":1e400}`,
	} {
		var v map[string]json.RawMessage
		if err := Decode([]byte(body), &v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is refused is the client's fault, and what is taken is what encoding/json reads.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"a":1,"a":2}`, `{"prompt":"a` + "\xff" + `"}`, `[[[[`, `{"a":{"b":[1,"\ud800"]}} x`, ``, `null`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var v any
		err := Decode(body, &v)
		var e *refusal.Error
		if err != nil && (!errors.As(err, &e) || StatusOf(e) != 400) {
			t.Errorf("%v", err)
		}
		if err != nil {
			return
		}
		var want any
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatalf("taken: %v", err)
		}
		if !reflect.DeepEqual(want, v) {
			t.Errorf("it is read in two ways: %v, and by encoding/json %v", v, want)
		}
	})
}

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
