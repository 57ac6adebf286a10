// SPDX-License-Identifier: MIT

package json

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// plain turns a value into what encoding/json gives for the same text.
func plain(v Value) any {
	switch v.Kind() {
	case Bool:
		return v.Bool(false)
	case Number:
		return v.Number(0)
	case Text:
		return v.Text("")
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

func TestValue_Fallbacks(t *testing.T) {
	v, err := Parse([]byte(`{"n":2,"s":"x","b":true,"l":[1]}`))
	if err != nil {
		t.Fatal(err)
	}
	if v.Get("n").Text("f") != "f" || v.Get("s").Number(7) != 7 || !v.Get("n").Bool(true) || v.Get("n").Len() != 0 || v.Get("no").Kind() != Null {
		t.Error("a value of another kind must give the fallback")
	}
	if v.Get("n").Number(0) != 2 || v.Get("s").Text("") != "x" || !v.Get("b").Bool(false) || v.Get("l").At(0).Number(0) != 1 {
		t.Error("a value of the right kind must give itself")
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
