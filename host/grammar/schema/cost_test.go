// SPDX-License-Identifier: MIT

package schema

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// costly is a schema that says much, or a value that is much.
type costly struct {
	name string
	text func() string
}

func much(name, text string) costly { return costly{name, func() string { return text }} }

// costlySchemas give each word of the table, and each format, values of a megabyte and thousands of
// parts; each by itself, denied, and read from thousands of places.
func costlySchemas() []costly {
	const many = 5000
	large := strings.Repeat("k", 1<<20)
	values := []costly{
		much("a long text", `"`+large+`"`),
		much("a long number", "1"+strings.Repeat("0", 1<<20)),
		much("a long name", `{"`+large+`":{}}`),
		much("texts", "["+joined(many, func(i int) string { return fmt.Sprintf(`"t%d"`, i) })+"]"),
		much("long texts", "["+joined(many, func(i int) string { return fmt.Sprintf(`"%s%d"`, large[:200], i) })+"]"),
		much("numbers", "["+joined(many, func(i int) string { return fmt.Sprintf(`%d.5e300`, i) })+"]"),
		much("schemas", "["+joined(many, func(i int) string { return fmt.Sprintf(`{"minLength":%d}`, i) })+"]"),
		much("members", "{"+joined(many, func(i int) string { return fmt.Sprintf(`"m%d":{"maximum":%d}`, i, i) })+"}"),
		much("lists of texts", "{"+joined(many, func(i int) string { return fmt.Sprintf(`"m%d":["t%d"]`, i, i) })+"}"),
		much("a deep list", strings.Repeat("[", 390)+`"`+large+`"`+strings.Repeat("]", 390)),
	}
	names := []string{"$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$defs", "then", "else", "minContains", "unevaluatedProperties", "unevaluatedItems", "title"}
	for _, w := range words {
		names = append(names, w.names...)
	}
	var all []costly
	add := func(name string, says func() string) {
		all = append(all,
			costly{name, func() string { return "{" + says() + `,"$ref":"#/$defs/a","$defs":{"a":{"$id":"a"}}}` }},
			costly{name + ", denied", func() string { return `{"not":{` + says() + `}}` }},
			costly{name + ", from everywhere", func() string {
				return `{"$defs":{"a":{` + says() + `}},"allOf":[` + joined(many, func(int) string { return `{"$ref":"#/$defs/a"}` }) + "]}"
			}},
			costly{name + ", of members", func() string {
				return `{"$defs":{"a":{` + says() + `}},"properties":{` + joined(many, func(i int) string { return fmt.Sprintf(`"p%d":{"$ref":"#/$defs/a","minLength":%d}`, i, i) }) + "}}"
			}})
	}
	for _, name := range names {
		for _, v := range values {
			add(name+": "+v.name, func() string { return fmt.Sprintf("%q:%s", name, v.text()) })
		}
	}
	for _, name := range strings.Fields("date-time date time duration email idn-email hostname idn-hostname ipv4 ipv6 uuid uri uri-reference iri iri-reference uri-template json-pointer relative-json-pointer regex") {
		for _, v := range values {
			add("format "+name+": "+v.name, func() string { return fmt.Sprintf(`"format":%q,"enum":[%s]`, name, v.text()) })
		}
	}
	return all
}

// Whatever a schema says much of, it is read or refused within a few times what the most expensive
// of sound schemas take, and takes little memory besides the document.
func TestRead_Costs_AreBounded(t *testing.T) {
	sound := `{"type":"array","items":{"type":"object","required":["a"],"properties":{` + joined(1500, func(i int) string {
		return fmt.Sprintf(`"m%d":{"type":"string","pattern":"^[a-z]{%d}","enum":["t%d","u%d"]}`, i, i%9+1, i, i)
	}) + `}}}`
	bound := 20 * steadytest.Cost(t, func() {
		if _, _, err := compile(sound, Options{}); err != nil {
			t.Fatal(err)
		}
	})
	draw := steadytest.Rand(t)
	all := costlySchemas()
	for _, i := range draw.Perm(len(all))[:steadytest.InLongTest(len(all), 20)] {
		s, text, loose := all[i], all[i].text(), draw.IntN(2) == 0
		var err error
		bytes := allocated(func() {
			if took, within := steadytest.Within(t, bound, func() { _, _, err = compile(text, Options{Loose: loose}) }); !within {
				t.Errorf("%s: took %v, at most %v may be: %v", s.name, took, bound, err)
			}
		})
		if most := uint64(100<<20 + 24*len(text)); bytes > most {
			t.Errorf("%s: took %d bytes, at most %d may be: %v", s.name, bytes, most, err)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("%s: %v", s.name, err)
		}
	}
}

// allocated is how many bytes f makes, garbage among them.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// What multiplies or repeats is paid for: each of these took seconds, or gigabytes.
func TestRead_Costs_OfAttacks(t *testing.T) {
	reference := steadytest.Cost(t, func() {
		_, _, _ = compile(`{"enum":[`+joined(20_000, func(i int) string { return fmt.Sprintf(`"t%d"`, i) })+`]}`, Options{})
	})
	k := strings.Repeat("k", 1_000_000)
	for name, schema := range map[string]string{
		"denied names": `{"type":"object","required":[` + joined(9000, func(i int) string { return fmt.Sprintf(`"r%d"`, i) }) + `],"allOf":[` +
			joined(9000, func(i int) string { return fmt.Sprintf(`{"not":{"required":["k%d"]}}`, i) }) + `]}`,
		"a long name beside denied ones": `{"type":"object","required":["` + k + `"],"allOf":[` + joined(4000, func(i int) string { return fmt.Sprintf(`{"not":{"required":["k%d"]}}`, i) }) + `]}`,
		"a long base":                    `{"$id":"http://x/` + k + `/","$ref":"0","$defs":{` + joined(1200, func(i int) string { return fmt.Sprintf(`"k%d":{"$id":"%d"}`, i, i) }) + `}}`,
		"a long base, unused":            `{"$id":"http://x/` + k + `/","$defs":{` + joined(1200, func(i int) string { return fmt.Sprintf(`"k%d":{"$id":"%d"}`, i, i) }) + `}}`,
		"a long path":                    `{"$ref":"#a","$defs":{"` + k + `":{"$anchor":"a","properties":{` + joined(3000, func(i int) string { return fmt.Sprintf(`"k%d":{"$ref":"http://x/%d"}`, i, i) }) + `}}}}`,
		"items before contains":          `{"type":"array","prefixItems":[` + joined(20_000, func(int) string { return `{}` }) + `],"contains":{"type":"string"}}`,
		"alternatives of many values":    `{"allOf":[{"enum":[` + joined(19_000, func(i int) string { return fmt.Sprint(i) }) + `]},{"anyOf":[` + joined(5000, func(i int) string { return fmt.Sprintf(`{"const":%d}`, i) }) + `]}]}`,
		"a list of types, read often":    `{"$defs":{"a":{"type":[` + joined(100_000, func(int) string { return `"string"` }) + `]}},"allOf":[` + joined(10_000, func(int) string { return `{"$ref":"#/$defs/a"}` }) + `]}`,
	} {
		for _, loose := range []bool{false, true} {
			var relaxed []Relaxed
			bytes := allocated(func() {
				if took, within := steadytest.Within(t, 20*reference, func() { _, relaxed, _ = compile(schema, Options{Loose: loose}) }); !within {
					t.Errorf("%s: took %v; the values of an enum %v", name, took, reference)
				}
			})
			if bytes > 150<<20 {
				t.Errorf("%s: took %d bytes", name, bytes)
			}
			if len(relaxed) > MaxRelaxed+1 {
				t.Errorf("%s: %d places are told", name, len(relaxed))
			}
			for _, r := range relaxed {
				if len(r.Pointer)+len(r.Why) > 1000 {
					t.Errorf("%s: %s: %s", name, r.Pointer, r.Why)
				}
			}
		}
	}
}

// Of many places that are not enforced, the first are told, and how many there are besides.
func TestRead_Relaxed_Many(t *testing.T) {
	_, relaxed := compiled(t, `{"properties":{`+joined(100, func(i int) string { return fmt.Sprintf(`"k%d":{"$ref":"http://x/%d"}`, i, i) })+`}}`, Options{Loose: true})
	if len(relaxed) != MaxRelaxed+1 || relaxed[0].More != 0 || relaxed[MaxRelaxed] != (Relaxed{Why: "84 more places are not enforced", More: 84}) {
		t.Errorf("%d: %v", len(relaxed), relaxed)
	}
}

// A reading that is stopped ends with the reason, wherever it is.
func TestRead_Stopped(t *testing.T) {
	gone := errors.New("gone")
	schema := `{"oneOf":[` + joined(150, func(i int) string {
		return fmt.Sprintf(`{"properties":{"a":{"const":%d}},"patternProperties":{"^x{%d}":{}}}`, i, i)
	}) + `]}`
	for _, loose := range []bool{false, true} {
		asked := 0
		read := func(stopAt int) error {
			b := grammar.NewBuilder()
			asked = 0
			b.Lexemes.Stop = func() error {
				if asked++; asked > stopAt {
					return gone
				}
				return nil
			}
			_, _, err := Read(b, []byte(schema), Options{Loose: loose})
			if asked > stopAt+1 {
				t.Errorf("asked %d times after it was stopped", asked-stopAt)
			}
			return err
		}
		if err := read(1 << 30); errors.Is(err, gone) || asked < 20 {
			t.Fatalf("%v, asked %d times", err, asked)
		}
		for _, at := range []int{0, 1, asked / 2, asked - 1} {
			if err := read(at); !errors.Is(err, gone) {
				t.Errorf("stopped after %d: %v", at, err)
			}
		}
	}
}

// Values are the same that JSON Schema takes for one, and no others.
func TestValue_CanonicalKey(t *testing.T) {
	long := strings.Repeat("k", 100)
	groups := [][]string{
		{`1`, `1.0`, `10e-1`, `0.1E1`, `1e0`}, {`-1`, `-1.00`}, {`0`, `-0`, `0.0`, `0e9`}, {`100`, `1e2`, `1.00e+2`}, {`1e500`, `10e499`}, {`"1"`}, {`"1e0"`}, {`null`}, {`"null"`}, {`true`}, {`"true"`},
		{`[]`}, {`{}`}, {`""`}, {`[1]`, `[1.0]`}, {`[[1]]`}, {`[1,2]`}, {`[[1],2]`}, {`{"a":1,"b":2}`, `{"b":2.0,"a":1}`}, {`{"a":2,"b":1}`}, {`{"ab":1}`}, {`["a","b"]`}, {`["ab"]`},
		{`"` + long + `"`}, {`["` + long + `"]`}, {`"` + long + `k"`},
	}
	seen := map[string]string{}
	for _, group := range groups {
		var sames []string
		for _, s := range group {
			v, _ := must.Both(parse([]byte(s), func() error { return nil }))(t)
			sames = append(sames, v.canonicalKey())
			if len(v.canonicalKey()) > 80 {
				t.Errorf("%s: %d bytes", s, len(v.canonicalKey()))
			}
		}
		if len(slices.Compact(slices.Clone(sames))) != 1 {
			t.Errorf("not the same: %v", group)
		}
		if other, taken := seen[sames[0]]; taken {
			t.Errorf("%s is the same as %s", group[0], other)
		}
		seen[sames[0]] = group[0]
	}
}

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
