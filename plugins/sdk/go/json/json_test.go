// SPDX-License-Identifier: MIT

package json

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
)

// plain turns a value into what encoding/json gives for the same text.
func plain(v Value) any {
	switch v.Kind() {
	case Bool:
		return v.Bool()
	case Number:
		return v.Float()
	case Text:
		return v.Text()
	case List:
		list := []any{}
		for i := range v.Len() {
			list = append(list, plain(v.At(i)))
		}
		return list
	case Object:
		object := map[string]any{}
		for _, name := range v.Names() {
			object[name] = plain(v.Get(name))
		}
		return object
	}
	return nil
}

// agree checks that Parse and encoding/json say the same.
func agree(t *testing.T, text []byte) {
	t.Helper()
	got, err := Parse(text)
	if errors.Is(err, ErrDepth) {
		return
	}
	var want any
	wantErr := stdjson.Unmarshal(text, &want)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: got error %v, encoding/json says %v", text, err, wantErr)
	}
	if err == nil && !reflect.DeepEqual(plain(got), want) {
		t.Fatalf("%q: got %#v, encoding/json says %#v", text, plain(got), want)
	}
}

var samples = []string{
	"", " ", "null", "nul", "true", "false", "truex", "0", "-0", "01", "-", "1.", ".5", "1.5e-3", "1e", "1e400", "-1e400", "1E+2", "+1", "1_0", "0x1",
	"12345678901234567890", "[]", "[1,2]", "[1,]", "[,]", "[", "]", "{}", "{\"a\":1}", "{\"a\":1,}", "{\"a\"}", "{a:1}", "{\"a\":1,\"a\":2}", "{\"a\":{\"a\":[{}]}}",
	"\"\"", "\"", "\"\\\"", "\"\\n\\t\\/\\b\\f\\r\\\"\"", "\"\\x\"", "\"\\u12\"", "\"\\u00e9\\uD83D\\ude00\"", "\"\\ud83d\"", "\"\\ud83dx\"", "\"\\ud83d\\u0041\"",
	"\"\\ude00\\ud83d\"", "\"\x01\"", "\"\xff\xc3\"", "\"é😀\"", " [ 1 , { \"b\" : null } ] \n", "1 2", "\"\\", "\"\\u", "\ufeff1", "nullnull",
}

func TestParse_AgreesWithStandardLibrary(t *testing.T) {
	for _, text := range samples {
		agree(t, []byte(text))
	}
}

func TestParse_Depth(t *testing.T) {
	nested := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	if _, err := Parse(nested(Deepest + 1)); err != nil {
		t.Errorf("%d levels: %v", Deepest+1, err)
	}
	if _, err := Parse(nested(Deepest + 2)); !errors.Is(err, ErrDepth) {
		t.Errorf("%d levels: got %v, want %v", Deepest+2, err, ErrDepth)
	}
}

func mustParse(t *testing.T, text string) Value {
	t.Helper()
	v, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestValue_Kinds(t *testing.T) {
	v := mustParse(t, `{"n":2.9,"s":"x","b":true,"l":[1],"large":1e300,"small":-1e300}`)
	if v.Get("n").Text() != "" || v.Get("s").Float() != 0 || v.Get("b").Int() != 0 || v.Get("n").Bool() || v.Get("n").Len() != 0 || v.Get("no").Kind() != Null {
		t.Error("a value of another kind must give nothing")
	}
	if v.Get("n").Float() != 2.9 || v.Get("n").Int() != 2 || v.Get("s").Text() != "x" || !v.Get("b").Bool() || v.Get("l").At(0).Int() != 1 {
		t.Error("a value of the right kind must give itself")
	}
	if v.Get("large").Int() != math.MaxInt || v.Get("small").Int() != math.MinInt {
		t.Errorf("got %d and %d", v.Get("large").Int(), v.Get("small").Int())
	}
}

func TestAppend_ReadBack(t *testing.T) {
	value := mustParse(t, `{"b":[1.5,null,true,{"c":"é\n"}],"a":-1e-300}`)
	for _, v := range []any{
		nil, true, "a\"b", 7, uint32(8), uint64(1) << 63, float32(0.1), -1e300, value, []any{1, "x", nil}, []string{"a"}, []int{1, -2}, []uint32{1, 2}, []uint32(nil),
		[]float32{0.5}, []Value{value, value}, map[string]any{"z": 1, "a": map[string]any{}},
	} {
		got, err := Append([]byte(" "), v)
		want := v
		if of, ok := v.(Value); ok {
			want = plain(of)
		} else if list, ok := v.([]Value); ok {
			want = []any{plain(list[0]), plain(list[1])}
		} else if list, ok := v.([]uint32); ok && list == nil {
			want = []any{}
		}
		text, _ := stdjson.Marshal(want)
		var a, b any
		if err != nil || stdjson.Unmarshal(got, &a) != nil || stdjson.Unmarshal(text, &b) != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%#v: got %s and %v, encoding/json writes %s", v, got, err, text)
		}
	}
	for v, want := range map[any]error{math.NaN(): ErrFinite, float32(math.Inf(1)): ErrFinite, int8(1): ErrType, struct{}{}: ErrType} {
		if _, err := Append(nil, []any{map[string]any{"a": v}}); !errors.Is(err, want) {
			t.Errorf("%v: got %v, want %v", v, err, want)
		}
	}
}

func TestAppendText_ReadBack(t *testing.T) {
	for _, text := range []string{"", "a\"b\\c", "\x00\x1f\n", "é😀", "</script>"} {
		var back string
		if err := stdjson.Unmarshal(AppendText(nil, text), &back); err != nil || back != text {
			t.Errorf("%q came back as %q, %v", text, back, err)
		}
	}
}

func TestValue_JSON_IsItsText(t *testing.T) {
	const text = `{"a":[1,2.5,"x",null,true]}`
	v, err := Parse([]byte(text))
	if err != nil || v.JSON() != text {
		t.Errorf("got %s and %v, want %s", v.JSON(), err, text)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range samples {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) < Deepest {
			agree(t, text)
		}
	})
}
