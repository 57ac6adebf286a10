// SPDX-License-Identifier: MIT

package format_test

import (
	"fmt"
	"math/rand/v2"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/host/grammar/format"
	"github.com/penstock/penstock/host/grammar/lexeme"
	"github.com/penstock/penstock/tools/steadytest"
)

// matcher says which texts have a format.
func matcher(t *testing.T, name string) func(text string) bool {
	t.Helper()
	a := lexeme.NewArena(200_000)
	x, ok := format.Expr(a, name)
	if !ok || x == lexeme.Nothing || a.Err() != nil {
		t.Fatalf("%s: known %v, expression %d, %v", name, ok, x, a.Err())
	}
	return func(text string) bool {
		fits, err := a.Match(x, text)
		if err != nil {
			t.Fatalf("%s %q: %v", name, text, err)
		}
		return fits
	}
}

// mutated is a text with a character or two that are another, less or more.
func mutated(r *rand.Rand, text, alphabet string) string {
	letters := []rune(text)
	for range 1 + r.IntN(2) {
		at := r.IntN(len(letters) + 1)
		letter := []rune(alphabet)[r.IntN(len([]rune(alphabet)))]
		switch {
		case at == len(letters) || r.IntN(3) == 0:
			letters = append(letters[:at], append([]rune{letter}, letters[at:]...)...)
		case r.IntN(3) == 0 && len(letters) > 1:
			letters = append(letters[:at], letters[at+1:]...)
		default:
			letters[at] = letter
		}
	}
	return string(letters)
}

// agree holds a format against another implementation, with texts near some that have it.
func agree(t *testing.T, name, alphabet string, seeds func(r *rand.Rand) string, other func(text string) bool) {
	t.Helper()
	r, fits := steadytest.Rand(t), matcher(t, name)
	both := map[bool]int{}
	for range 4_000 {
		text := seeds(r)
		if r.IntN(3) > 0 {
			text = mutated(r, text, alphabet)
		}
		got, want := fits(text), other(text)
		if got != want {
			t.Fatalf("%s %q: %v, want %v", name, text, got, want)
		}
		both[got]++
	}
	if both[true] < 100 || both[false] < 100 {
		t.Errorf("%s: texts taken and not: %v, of each there should be many", name, both)
	}
}

func randomDate(r *rand.Rand) string {
	years := []int{r.IntN(10_000), 2000, 1900, 2024, 2100, 2400, 4}
	return fmt.Sprintf("%04d-%02d-%02d", years[r.IntN(len(years))], r.IntN(14), []int{r.IntN(40), 28, 29, 30, 31}[r.IntN(5)])
}

func isDate(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

func TestDate_AgreesWithTimeParse(t *testing.T) {
	agree(t, "date", "0123456789-/ T", randomDate, isDate)
}

var clock = regexp.MustCompile(`^([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]+)?([Zz]|[+-]([0-9]{2}):([0-9]{2}))$`)

// isClock is RFC 3339's full-time, of which time.Parse has no leap seconds.
func isClock(text string) bool {
	m := clock.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	number := func(s string) (n int) {
		_, _ = fmt.Sscanf(s, "%d", &n)
		return n
	}
	hour, minute, second := number(m[1]), number(m[2]), number(m[3])
	offset := number(m[6])*60 + number(m[7])
	if hour > 23 || minute > 59 || second > 60 || number(m[6]) > 23 || number(m[7]) > 59 {
		return false
	}
	if strings.HasPrefix(m[5], "-") {
		offset = -offset
	}
	return second < 60 || ((hour*60+minute-offset)%1440+1440)%1440 == 1439
}

func randomClock(r *rand.Rand) string {
	offset := (r.IntN(2*96) - 95) * 15
	local := r.IntN(1440)
	second := r.IntN(62)
	if r.IntN(2) == 0 {
		local, second = (1439+offset+1440)%1440, 60
	}
	zone := []string{"Z", "z", "+00:00", "-00:00"}[r.IntN(4)]
	switch {
	case offset > 0:
		zone = fmt.Sprintf("+%02d:%02d", offset/60, offset%60)
	case offset < 0:
		zone = fmt.Sprintf("-%02d:%02d", -offset/60, -offset%60)
	}
	return fmt.Sprintf("%02d:%02d:%02d%s%s", local/60, local%60, second, []string{"", ".5", ".0123", "."}[r.IntN(4)], zone)
}

// The characters that texts are changed by leave offsets at quarter hours, or far from a leap second.
func TestTime_AgreesWithTheStandard(t *testing.T) {
	agree(t, "time", "Z:.+-tT ", randomClock, isClock)
}

func TestDateTime_AgreesWithTheStandard(t *testing.T) {
	seeds := func(r *rand.Rand) string {
		return randomDate(r) + []string{"T", "t", "T", " "}[r.IntN(4)] + randomClock(r)
	}
	agree(t, "date-time", "Z:.+-tT ", seeds, func(text string) bool {
		return len(text) > 11 && isDate(text[:10]) && strings.ContainsAny(text[10:11], "tT") && isClock(text[11:])
	})
}

func TestDuration_AgreesWithAPattern(t *testing.T) {
	clock := `T([0-9]+S|[0-9]+M([0-9]+S)?|[0-9]+H([0-9]+M([0-9]+S)?)?)`
	days := `([0-9]+D|[0-9]+M([0-9]+D)?|[0-9]+Y([0-9]+M([0-9]+D)?)?)`
	want := regexp.MustCompile(`^P(` + days + `(` + clock + `)?|` + clock + `|[0-9]+W)$`)
	seeds := func(r *rand.Rand) string {
		return []string{"P1Y2M3DT4H5M6S", "PT36H", "P4W", "P1D", "PT1M", "P1Y1D", "P", "PT", "P1YT", "P0Y"}[r.IntN(10)]
	}
	agree(t, "duration", "PTYMDHSW01.-p", seeds, want.MatchString)
}

func TestIPv4_AgreesWithNetip(t *testing.T) {
	seeds := func(r *rand.Rand) string {
		return fmt.Sprintf("%d.%d.%d.%d", r.IntN(300), r.IntN(260), r.IntN(30), r.IntN(270))
	}
	agree(t, "ipv4", "0123456789.:", seeds, func(text string) bool {
		ip, err := netip.ParseAddr(text)
		return err == nil && ip.Is4()
	})
}

func TestIPv6_AgreesWithNetip(t *testing.T) {
	seeds := func(r *rand.Rand) string {
		var parts []string
		for range r.IntN(9) {
			parts = append(parts, fmt.Sprintf("%x", r.IntN(1<<(4*(1+r.IntN(4))))))
		}
		if at := r.IntN(len(parts) + 1); r.IntN(2) == 0 {
			parts = append(parts[:at], append([]string{""}, parts[at:]...)...)
		}
		text := strings.Join(parts, ":")
		if r.IntN(4) == 0 {
			text += ":10.0.25.255"
		}
		return []string{text, "::" + text, text + "::", "::", "::ffff:1.2.3.4"}[r.IntN(5)]
	}
	agree(t, "ipv6", "0123456789abcdefF:.", seeds, func(text string) bool {
		ip, err := netip.ParseAddr(text)
		return err == nil && ip.Is6() && ip.Zone() == ""
	})
}

func TestHostname_AgreesWithAPattern(t *testing.T) {
	label := regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$`)
	isHost := func(text string) bool {
		for part := range strings.SplitSeq(text, ".") {
			if !label.MatchString(part) {
				return false
			}
		}
		return len(text) <= 253 && !strings.Contains("."+strings.ToLower(text), ".xn--")
	}
	seeds := func(r *rand.Rand) string {
		size := 60 + r.IntN(5)
		long := strings.Repeat(strings.Repeat("a", 50)+".", 6)
		return []string{"example.com", "a-b.c1", "localhost", "xn--4gbwdl.xn--wgbh1c", strings.Repeat("a", size), long[:248+r.IntN(10)]}[r.IntN(6)]
	}
	agree(t, "hostname", "aZ09-._é", seeds, isHost)
	agree(t, "idn-hostname", "09-.", func(r *rand.Rand) string {
		return []string{"example.com", "a-b.c1", strings.Repeat("a", 60+r.IntN(5))}[r.IntN(3)]
	}, func(text string) bool {
		return isHost(text) && len(text) <= 253/4
	})
}

// Go's reader of mailboxes takes more (comments, blanks, names of one letter), so only what has the format is held against it.
func TestEmail_IsReadByNetMail(t *testing.T) {
	r, fits := steadytest.Rand(t), matcher(t, "email")
	seeds := []string{"joe.bloggs@example.com", `"joe bloggs"@example.com`, `"joe..\"bloggs"@a.b`, "te~st@example.com", "a.b+c@x-y.example", "joe@[127.0.0.1]"}
	taken := 0
	for range 5_000 {
		text := mutated(r, seeds[r.IntN(len(seeds))], `a."@\- ~[]é1`)
		if !fits(text) {
			continue
		}
		taken++
		if _, err := mail.ParseAddress("<" + text + ">"); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	}
	if taken < 300 {
		t.Errorf("%d texts had the format", taken)
	}
	for _, text := range []string{"joe@", "@a.b", ".joe@a.b", "joe.@a.b", "a..b@a.b", "a@b@c", "a b@c", "Joe <joe@a.b>", "joe@[127.0.0.300]", "joe@a_b", strings.Repeat("a", 65) + "@b", "abcdefg@" + strings.Repeat("long.", 49) + "xx"} {
		if fits(text) {
			t.Errorf("%q is taken", text)
		}
	}
	for _, text := range []string{"joe@[IPv6:::1]", strings.Repeat("a", 64) + "@b", "abcdefg@" + strings.Repeat("long.", 49) + "x", "o'neil@a.b"} {
		if !fits(text) {
			t.Errorf("%q is not taken", text)
		}
	}
}

func TestURI_IsReadByNetURL(t *testing.T) {
	r := steadytest.Rand(t)
	absolute, reference := matcher(t, "uri"), matcher(t, "uri-reference")
	wide, wideReference := matcher(t, "iri"), matcher(t, "iri-reference")
	seeds := []string{"http://foo.bar/?baz=qux#quux", "ftp://user:pw@a.b:80/x;y?z", "urn:a:b", "mailto:a@b.c", "//a/b", "/a", "a/b?c", "#f", "ldap://[2001:db8::7]/c=GB?o?one"}
	taken := 0
	for range 5_000 {
		text := mutated(r, seeds[r.IntN(len(seeds))], "a/:?#@%2é\\ []<")
		if absolute(text) && (!reference(text) || !wide(text)) || reference(text) && !wideReference(text) {
			t.Fatalf("%q: a URI is a reference and an IRI", text)
		}
		if !reference(text) {
			continue
		}
		taken++
		if strings.Contains(text, "[") {
			continue // net/url reads IPv6 addresses otherwise
		}
		u, err := url.Parse(text)
		if err != nil && !strings.Contains(err.Error(), "port") && !strings.Contains(err.Error(), "URL escape") { // of which it takes fewer in hosts
			t.Fatalf("%q: %v", text, err)
		}
		if err == nil && u.IsAbs() != absolute(text) {
			t.Fatalf("%q is absolute: %v", text, u.IsAbs())
		}
	}
	if taken < 500 {
		t.Errorf("%d texts had the format", taken)
	}
}

// table is texts that have a format, and texts that have not.
var table = map[string][2][]string{
	"uri":                   {{"urn:oasis:names:specification:docbook:dtd:xml:4.1.2", "http://-.~_!$&'()*+,;=:%40:80%2f::::::@example.com", "http://[::1]:80"}, {"//a", "/a", "a", `\\a\b`, "http:// x", ":// x", "bar,baz:foo", "http://a/<>", "http://a/%1", "https://[@example.org/t.txt", "http://ä.de"}},
	"iri":                   {{"http://ƒøø.ßår/?∂éœ=πîx#πîüx"}, {"/abc", "http://2001:0db8:85a3:0000:0000:8a2e:0370:7334 ", "âππ"}},
	"iri-reference":         {{"âππ", "#ƒräg", ""}, {`\\WINDOWS\filëßåré`, "#ƒräg\\mênt"}},
	"uuid":                  {{"2EB8AA08-aa98-11ea-b4aa-73b441d16380"}, {"2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08aa98-11ea-b4aa73b441d16380", "2eb8aa08-aa98-11ea-b4ga-73b441d16380"}},
	"json-pointer":          {{"", "/", "/foo/0/a~1b/~0", "/é\x00"}, {"a", "/~2", "#", "/~"}},
	"relative-json-pointer": {{"0", "1/foo", "120#", "0/"}, {"/a", "-1", "01", "0##", "+1", ""}},
	"uri-template":          {{"http://a/{term:1}/{term}", "{?x,y*}", "", "{+a.b}", "a'b"}, {"http://a/{term:1}/{term", "{}", "a}", "{a b}", "{=a}"}},
	"regex":                 {{"^[a-z]+$", "([abc])+\\s+$", "a|b", "(?:x{2,3}?)(?!y)", "[^\\d-]", "", `\/\u00e9`, "[-+]?[0-9]*"}, {"^(abc]", "a**", "[z-a]", "(", "a{3,2}", "\\a", "*", "[", "(?=a)*", "{"}},
	"idn-hostname":          {{"실례.테스트", "例え.jp", "bücher.de", "אב1", "straße", "a-ß", "a。b", "א.b", "〇"}, {"〮실례", "a.-b", "ab--ß", "ß-", "Ü", "אa", "ａ", "e\u0301", "·", "a..b", "", "xn--X", "0a.א", "XN--aa---o47jg78q", "א.0"}},
	"hostname":              {{"a.b", "r3---sn-x.com"}, {"xn--X", "a.Xn--b", "xn--"}},
	"idn-email":             {{"실례@실례.테스트", "joe@a.b", "ü.ä@b", "\u0085@a.b", "\uffff@a.b"}, {"실례", "ü..ä@b", "@b"}},
	"email":                 {{"a@b"}, {"ä@b.c", "a@ä.c"}},
	"date":                  {{"2024-02-29", "0000-01-01"}, {"2023-02-29", "1900-02-29", "2024-2-9", "२०२४-०१-०१"}},
	"time":                  {{"23:59:60Z", "15:59:60.5-08:00"}, {"22:59:60Z", "24:00:00Z", "12:00:00", "08:30:06 PST"}},
}

func TestExpr_Table(t *testing.T) {
	for name, texts := range table {
		fits := matcher(t, name)
		for i, want := range []bool{true, false} {
			for _, text := range texts[i] {
				if fits(text) != want {
					t.Errorf("%s %q: %v", name, text, !want)
				}
			}
		}
	}
}

func TestExpr_UnknownFormats(t *testing.T) {
	for _, name := range []string{"", "color", "Date", "int32", "url"} {
		if x, ok := format.Expr(lexeme.NewArena(1000), name); ok || x != lexeme.Nothing {
			t.Errorf("%q is known", name)
		}
		if format.Exact(name) {
			t.Errorf("%q has all texts of a format", name)
		}
	}
}

func TestExact_IsNotOfNarrowerFormats(t *testing.T) {
	for name, has := range map[string]string{"regex": "(?<name>a)", "time": "23:40:60-00:19", "email": "a@[x400:b]", "uri-template": "{!a}", "hostname": "xn--4gbwdl.xn--wgbh1c", "ipv4": "", "date": "", "uuid": ""} {
		if format.Exact(name) != (has == "") {
			t.Errorf("%s: exact %v", name, format.Exact(name))
		}
		if has != "" && matcher(t, name)(has) {
			t.Errorf("%s takes %q: is it exact now?", name, has)
		}
	}
}
