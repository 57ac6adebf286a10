// SPDX-License-Identifier: MIT

package schema

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// joined is texts of numbers below n with commas between.
func joined(n int, text func(i int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = text(i)
	}
	return strings.Join(all, ",")
}

// What takes much is read, where it is only long.
func TestRead_Long(t *testing.T) {
	emails := joined(40, func(i int) string { return fmt.Sprintf(`"f%d":{"type":"string","format":"email"}`, i) })
	holds(t, Options{}, []promise{
		{"enum", `{"type":"string","enum":[` + joined(5100, func(i int) string { return fmt.Sprintf(`"k%d"`, i) }) + `]}`, []string{`"k0"`, `"k5099"`}, []string{`"k5100"`, `"k"`}},
		{"emails", `{"type":"object","properties":{` + emails + `}}`, []string{`{"f7":"a@example.com","f0":"b@example.org"}`}, []string{`{"f7":"a"}`}},
		{"items", `{"type":"array","items":{"type":"string"},"maxItems":2000}`, []string{`["a","b"]`, `[` + joined(2000, func(int) string { return `""` }) + `]`}, []string{`[` + joined(2001, func(int) string { return `""` }) + `]`}},
		{"references", `{"$ref":"#/$defs/d0","$defs":{` + joined(5000, func(i int) string { return fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1) }) + `,"d5000":{"type":"null"}}}`, []string{`null`}, []string{`1`}},
		{"counted patterns", `{"type":"string","pattern":"^((a{1,100}){1,100}){1,100}$"}`, []string{`"aaa"`}, []string{`""`, `"b"`}},
		{"nested", strings.Repeat(`{"type":"array","items":`, 190) + `{"type":"null"}` + strings.Repeat(`}`, 190), []string{`[[]]`, strings.Repeat("[", 190) + "null" + strings.Repeat("]", 190)}, []string{`[1]`}},
		{"members within counts", `{"type":"object","additionalProperties":false,"minProperties":2,"maxProperties":3,"properties":{` + joined(100, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"null"}`, i) }) + `}}`,
			[]string{`{"p3":null,"p97":null}`}, []string{`{"p3":null}`, `{"p1":null,"p2":null,"p3":null,"p4":null}`}},
	})
}

// What multiplies is refused, with its place.
func TestRead_Hostile(t *testing.T) {
	for name, schema := range map[string]string{
		"doubling references": `{"$ref":"#/$defs/d0","$defs":{` + joined(60, func(i int) string {
			return fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1)
		}) + `,"d60":{}}}`,
		"alternatives":      `{"type":"object","allOf":[` + joined(40, func(i int) string { return fmt.Sprintf(`{"anyOf":[{"required":["a%d"]},{"required":["b%d"]}]}`, i, i) }) + `]}`,
		"dependencies":      `{"type":"object","dependentRequired":{` + joined(30, func(i int) string { return fmt.Sprintf(`"a%d":["b%d"]`, i, i) }) + `}}`,
		"exclusive":         `{"type":"object","oneOf":[` + joined(300, func(i int) string { return fmt.Sprintf(`{"required":["a%d"]}`, i) }) + `]}`,
		"patterns of names": `{"type":"object","patternProperties":{` + joined(40, func(i int) string { return fmt.Sprintf(`"(a|b)*a(a|b){%d}c":{"minLength":%d}`, i, i+1) }) + `}}`,
		"counted members":   `{"additionalProperties":false,"minProperties":700,"maxProperties":1500,"properties":{` + joined(2000, func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) + `}}`,
		"members":           `{"properties":{` + joined(20_000, func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) + `}}`,
		"nested":            strings.Repeat(`{"items":`, 1000) + `{}` + strings.Repeat(`}`, 1000),
	} {
		_, _, err := compile(schema, Options{})
		if err == nil {
			t.Errorf("%s: taken", name)
			continue
		}
		var e *Error
		if errors.As(err, &e) && !strings.HasPrefix(e.Pointer, "#") || len(err.Error()) > 400 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
