// SPDX-License-Identifier: MIT

package examples

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/schematest"
	"github.com/penstock/penstock/host/plugin/stage"
)

// patterns are expressions with strings that match them, and strings that do not.
var patterns = []struct {
	pattern    string
	valid, not []string
}{
	{`^a*$`, []string{``, `aaa`}, []string{`b`, `aab`, "a\n"}},
	{`a+`, []string{`a`, `xaay`, `日a`}, []string{``, `b`, `日`}},
	{`^(ab|cd)+e?$`, []string{`ab`, `abcde`, `cdab`}, []string{``, `abe_`, `ac`, `e`}},
	{`^[^0-9]{2,3}$`, []string{`ab`, `é日x`, "\n\t"}, []string{`a`, `a1`, `abcd`}},
	{`^\d{3}-\d{4}$`, []string{`555-0123`}, []string{`5550123`, `555-01234`, `५५५-0123`}},
	{`^\w+@\w+\.\w{2,}$`, []string{`a@b.cd`, `ab_1@c2.org`}, []string{`a@b.c`, `@b.cd`, `é@b.cd`}},
	{`^\S+\s\S+$`, []string{`a b`, `é b`, "a\tb"}, []string{`ab`, `a  b`, ` b`}},
	{`^(?:x|y)(?<name>z)?$`, []string{`x`, `yz`}, []string{`z`, `xzz`}},
	{`^.$`, []string{`a`, `é`, `日`, `😀`, `"`, `\`}, []string{``, "\n", `ab`}},
	{`^\u0041\x42\u{43}\cJ\t\/$`, []string{"ABC\n\t/"}, []string{`ABC`, "abc\n\t/"}},
	{`^[\u{1F600}-\u{1F64F}]+$`, []string{`😀`, `😀😃`}, []string{`a`, `🚀`, ``}},
	{`^\ud83d\ude00$`, []string{`😀`}, []string{`😃`, ``}},
	{`\bcat\b`, []string{`cat`, `a cat.`, `cat-like`}, []string{`cats`, `concat`, `_cat`}},
	{`^\Bx`, []string{}, []string{`x`, `ax`}},
	{`^a|b$`, []string{`a`, `ax`, `xb`}, []string{`xa`, `bx`}},
	{`^[\w.-]+\\[^\\"]$`, []string{`a.b-c\x`}, []string{`a\\`, `a\"`, `\x`}},
	{`^{}[]a]$`, []string{}, []string{`{}`, `{}a]`}},
	{`^a{,2}{$`, []string{`a{,2}{`}, []string{`aa`, `a`}},
	{`^[]$`, []string{}, []string{``, `]`}},
	{`^[^]$`, []string{`a`, "\n"}, []string{``, `ab`}},
	{`^[a\-z]$`, []string{`a`, `-`, `z`}, []string{`b`}},
	{`^[a-]$`, []string{`a`, `-`}, []string{`b`}},
	{`^(a?b?){3}$`, []string{``, `ababab`, `bbb`}, []string{`bbbb`, `c`}},
	{`^(a+?)*?$`, []string{``, `aa`}, []string{`b`}},
	{`(a|b)*a(a|b){6}$`, []string{`abbbbbb`, `bbabababa`}, []string{`bbbbbbb`, `abbbbb`}},
	{``, []string{``, `anything`}, nil},
}

func TestJSONSchema_Pattern_IsObeyedAndMasksNothingElse(t *testing.T) {
	w := newWords()
	m := loaded(t, "json-schema", w)
	for _, tc := range patterns {
		schema := mustJSON(t, map[string]any{"type": "array", "items": map[string]any{"pattern": tc.pattern}, "maxItems": 2})
		s := mustOpen(t, m, schema)
		for _, text := range tc.valid {
			mustTell(t, s, tc.pattern, text, true)
		}
		for _, text := range tc.not {
			mustTell(t, s, tc.pattern, text, false)
		}
		mustClose(t, s)
	}
}

// mustTell wants a string to be allowed, or not, in each of its spellings.
func mustTell(t *testing.T, s *stage.Stage, pattern, text string, want bool) {
	t.Helper()
	for _, spelled := range spellings(text) {
		if got := allowed(t, s, `[`+spelled+`]`); got != want {
			t.Errorf("%s: %s may be written: %t", pattern, spelled, got)
		}
	}
}

// spellings are the ways in which a string may be written: as it is, with short escapes, and with all escapes that there are.
func spellings(text string) []string {
	plain := strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\n", `\n`, "\t", `\t`, "\f", `\f`, "\r", `\r`, "\b", `\b`).Replace(text)
	var escaped strings.Builder
	for i, r := range text {
		if r > 0xffff {
			escaped.WriteRune(r)
			continue
		}
		digits := fmt.Sprintf("%04x", r)
		if i%2 == 1 {
			digits = strings.ToUpper(digits)
		}
		escaped.WriteString(`\u` + digits)
	}
	return []string{`"` + plain + `"`, `"` + escaped.String() + `"`}
}

func mustOpen(t *testing.T, m *load.Plugin, schema []byte) *stage.Stage {
	t.Helper()
	s, err := stage.New(m, plugin.Request{Config: []byte(`{"schema":` + string(schema) + `}`), MaxTokens: 2000, ContextSize: 4096})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reset(prompt, len(prompt)); err != nil {
		mustClose(t, s)
		t.Fatalf("%s: %v", schema, err)
	}
	return s
}

func mustClose(t *testing.T, s *stage.Stage) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// formats are strings of each format, and strings that are not.
var formats = map[string]struct{ valid, not []string }{
	"date": {[]string{"2024-02-29", "2000-02-29", "1999-12-31", "0001-01-01"},
		[]string{"2023-02-29", "1900-02-29", "2024-04-31", "2024-13-01", "2024-1-1", "2024-01-00", "24-01-01", "2024-01-01T", "२०२४-01-01"}},
	"time": {[]string{"08:30:06Z", "23:59:60Z", "23:59:60.5+00:00", "08:30:06.283185z", "00:00:00+23:59", "12:00:00-08:30"},
		[]string{"24:00:00Z", "08:60:00Z", "08:30:61Z", "22:59:60Z", "08:30:06", "8:30:06Z", "08:30:06.Z", "08:30:06+24:00", "08:30:06PST", "08:30:06Z+00:00"}},
	"date-time": {[]string{"1963-06-19T08:30:06.283185Z", "1990-12-31t15:59:50z", "1998-12-31T23:59:60Z", "2024-02-29T00:00:00-08:00"},
		[]string{"1963-06-19 08:30:06Z", "1990-02-31T15:59:59Z", "1990-12-31T24:00:00Z", "1998-12-31T22:59:60Z", "1963-06-19", "2013-350T01:01:01"}},
	"duration": {[]string{"P4DT12H30M5S", "P4Y", "PT0S", "P0D", "P1M", "PT1M", "PT36H", "P1DT12H", "P2W", "P1Y2M3D", "PT1H2M3S"},
		[]string{"P", "PT", "P1YT", "PT1D", "4DT12H", "P2D1Y", "P1D2H", "P2S", "P1Y2W", "P1", "P1.5D", "P1Y2D", "PT1H2S"}},
	"email": {[]string{"joe.bloggs@example.com", "te~st@example.com", "~test@a", `"joe bloggs"@example.com`, `"joe..bloggs"@example.com`, "a@[127.0.0.1]", "a@[IPv6:::1]", strings.Repeat("a", 64) + "@b.c"},
		[]string{"2962", ".test@example.com", "test.@example.com", "te..st@example.com", "a@@b", "@b", "a@", "a@-b", "a@[127.0.0.300]", "a b@c", strings.Repeat("a", 65) + "@b.c"}},
	"hostname": {[]string{"www.example.com", "a", "0a-b.c", "a.b.c", strings.Repeat("a", 63) + ".com", "ab-c", "abc-d", "a-b"},
		[]string{"", ".", ".a", "a..b", "-a", "a-", "a_b", "a b", strings.Repeat("a", 64) + ".com", strings.Repeat("a.", 127) + "a", "é.com"}},
	"ipv4": {[]string{"192.168.0.1", "0.0.0.0", "255.255.255.255"},
		[]string{"127.0.0.0.1", "256.1.1.1", "127.0", "0x7f000001", "087.10.0.1", "1.2.3.4 ", "1.2.3.4/24", "1২7.0.0.1"}},
	"ipv6": {[]string{"::", "::1", "::42:ff:1", "d6::", "1:d6::42", "1::d6:192.168.0.1", "1:2::192.168.0.1", "::ffff:192.168.0.1", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "FFFF::a"},
		[]string{"12345::", ":", ":2:3:4:5:6:7:8", "1:2:3:4:5:6:7:", "1::d6::42", "1:2:3:4:5:::8", "1:2:3:4:5:6:7", "1", "127.0.0.1", "1:2:3:4:1.2.3", "fe80::a%eth1", "1:2:3:4:5:6:7:8:9", " ::1", "1:2:3:4::5:6:7:8"}},
	"uri": {[]string{"http://foo.bar/?baz=qux#quux", "http://foo.com/blah_(wikipedia)_blah#cite-1", "http://foo.bar/?q=Test%20URL-encoded%20stuff", "http://223.255.255.254", "ftp://ftp.is.co.za/rfc/rfc1808.txt", "http://www.ietf.org/rfc/rfc2396.txt", "ldap://[2001:db8::7]/c=GB?one", "mailto:John.Doe@example.com", "tel:+1-816-555-1212", "urn:oasis:names:specification:docbook:dtd:xml:4.1.2", "http://a:b@c:80/", "a:", "http://a:/"},
		[]string{"//foo.bar/?baz=qux#quux", "/abc", `\\WINDOWS\fileshare`, "abc", "http:// shouldfail.com", ":// should fail", "bar,baz:foo", "http://a/%zz", "1http://a", "http://a:b", "http://[::1", "http://a/<b>", "a b"}},
	"uri-reference": {[]string{"http://foo.bar/?baz=qux#quux", "//foo.bar/?a", "/abc", "abc", "#fragment", "", "a/b:c", "?q"},
		[]string{`\\WINDOWS\fileshare`, "#frag\\ment", "a b", ":a", "%z"}},
	"uuid": {[]string{"2EB8AA08-AA98-11EA-B4AA-73B441D16380", "2eb8aa08-aa98-11ea-b4aa-73b441d16380"},
		[]string{"2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08-aa98-11ea-73b441d16380", "2eb8aa08aa9811eab4aa73b441d16380", "2eb8-aa08-aa98-11ea-b4aa73b44-1d16380", "zeb8aa08-aa98-11ea-b4aa-73b441d16380"}},
	"json-pointer":          {[]string{"", "/", "/foo/bar~0/baz~1/%a", "/é", "/ ", "//a"}, []string{"a", "/foo/bar~", "/~2", "#", "0"}},
	"relative-json-pointer": {[]string{"1", "0/foo/bar", "2/0/baz/1/zip", "0#", "10"}, []string{"/foo", "-1/a", "01", "0##", "+1", "", "#"}},
}

func TestJSONSchema_Format_IsObeyedAndMasksNothingElse(t *testing.T) {
	w := newWords()
	m := loaded(t, "json-schema", w)
	for name, tc := range formats {
		schema := mustJSON(t, map[string]any{"type": "array", "items": map[string]any{"format": name}, "maxItems": 2})
		s := mustOpen(t, m, schema)
		for _, text := range tc.valid {
			mustTell(t, s, name, text, true)
			if err := schematest.Fits(schema, string(mustJSON(t, []string{text}))); err != nil {
				t.Errorf("%s: %q is right, but %v", name, text, err)
			}
		}
		for _, text := range tc.not {
			mustTell(t, s, name, text, false)
		}
		for seed := range uint64(10) {
			text, err := write(s, w, 400, rand.New(rand.NewPCG(seed, 11)), func(string) {})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if err := schematest.Fits(schema, text); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		mustClose(t, s)
	}
}

// A pattern that is not regular, or that would take too long, is refused with its place; none is a fault.
func TestJSONSchema_Pattern_RefusesByPlace(t *testing.T) {
	w := newWords()
	m := loaded(t, "json-schema", w)
	for pattern, want := range map[string]string{
		`^(?=a)`:                     `look-ahead`,
		`(?<!a)b`:                    `look-behind`,
		`(a)\1`:                      `refers back`,
		`(?<n>a)\k<n>`:               `refers back`,
		`(?i:a)`:                     `unknown kind of group`,
		`\p{L}`:                      `property of Unicode`,
		`a**`:                        `repeats nothing`,
		`+`:                          `repeats nothing`,
		`(a`:                         `is not closed`,
		`a)`:                         `closes nothing`,
		`[a`:                         `ends too early`,
		`[z-a]`:                      `goes down`,
		`[a-\d]`:                     `ends with a set`,
		`a{2,1}`:                     `counts down`,
		`a{99999}`:                   `counts further`,
		`\a`:                         `is no escape`,
		`\u00g0`:                     `no hexadecimal digit`,
		`a\`:                         `ends with a backslash`,
		`^*`:                         `cannot be repeated`,
		`(a|b)*a(a|b){20}`:           `more than 4096 states`,
		`^(?:(?:a{100}){100}){100}$`: `more than 20000 parts`,
		strings.Repeat("(", 200) + "a" + strings.Repeat(")", 200): `levels deep`,
		strings.Repeat("(", 100_000):                              `levels deep`,
		`^[a-z]{5000}$`:                                           `more than 4096 states`,
		`^(a?b?){2000}$`:                                          `too much to work through`,
		`^[` + every(2, 9000) + `]{3000}$`:                        `too much to work through`,
	} {
		schema := mustJSON(t, map[string]any{"type": "object", "required": []string{"a"}, "properties": map[string]any{"a": map[string]any{"pattern": pattern}}})
		_, err := generate(t, m, w, schema, 400, rand.New(rand.NewPCG(0, 0)))
		var refusal *plugin.Refusal
		if !errors.As(err, &refusal) || !strings.Contains(refusal.Message, "#/properties/a.pattern") || !strings.Contains(refusal.Message, want) {
			t.Errorf("%.100s: got %.300v, want a refusal with %q", pattern, err, want)
		}
	}
}

// every is each nth of so many characters.
func every(n, of int) string {
	var text strings.Builder
	for r := 0x4e00; r < 0x4e00+of; r += n {
		text.WriteRune(rune(r))
	}
	return text.String()
}
