// SPDX-License-Identifier: MIT

package main

import (
	"strings"

	"github.com/penstock/penstock/plugins/sdk/go/json"
)

// found is a part of a text that is personal data.
type found struct {
	begin, end int
	kind       string
}

// finder finds personal data.
type finder struct {
	kinds map[string]bool
	names map[byte][]string // in small letters, by their first byte
}

func newFinder(config json.Value) finder {
	f := finder{map[string]bool{}, map[byte][]string{}}
	kinds, names := config.Get("kinds"), config.Get("names")
	for i := range kinds.Len() {
		f.kinds[kinds.At(i).Text()] = true
	}
	for i := range names.Len() {
		if name := lower(names.At(i).Text()); name != "" {
			f.names[name[0]] = append(f.names[name[0]], name)
		}
	}
	return f
}

// matchers return how many bytes at the beginning of a text are of a kind; 0: none. What they look
// at is bounded, whatever the text.
var matchers = [...]struct {
	kind, name string
	match      func(text string) int
}{{"email", "EMAIL", email}, {"iban", "IBAN", iban}, {"ip", "IP", ip}, {"card", "CARD", card}, {"phone", "PHONE", phone}}

// find finds all in a text, in its order.
func (f *finder) find(text string) (all []found) {
	small := lower(text)
	for i := 0; i < len(text); i++ {
		if n, kind := f.match(text, small, i); n > 0 {
			all = append(all, found{i, i + n, kind})
			i += n - 1
		}
	}
	return all
}

// match is how many bytes from i on are personal data, of the first kind that matches. Small is the
// text in small letters.
func (f *finder) match(text, small string, i int) (n int, kind string) {
	if !boundary(text, i) {
		return 0, ""
	}
	for _, m := range matchers {
		version := m.kind == "ip" && i > 1 && text[i-1] == '.' && digit(text[i-2]) // of five numbers
		if !f.kinds[m.kind] || version {
			continue
		}
		if n = m.match(text[i:]); n > 0 && ends(text, i+n) {
			return n, m.name
		}
	}
	n = 0
	for _, name := range f.names[small[i]] {
		if len(name) > n && strings.HasPrefix(small[i:], name) && ends(text, i+len(name)) {
			n = len(name)
		}
	}
	return n, "NAME"
}

// lower has the ASCII letters of a text small, and so the same length.
func lower(text string) string {
	b := []byte(text)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// word reports whether a byte is of a word: beyond ASCII, all are.
func word(c byte) bool { return digit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80 }

// boundary reports whether something may begin at i: after no letter and no digit, but for that of
// an escaped line break, as arguments of calls have them.
func boundary(text string, i int) bool {
	return i == 0 || escaped(text, i-1) || !word(text[i-1]) && !escaped(text, i)
}

func escaped(text string, i int) bool {
	return i > 0 && text[i-1] == '\\' && (text[i] == 'n' || text[i] == 't' || text[i] == 'r')
}

func ends(text string, i int) bool { return i == len(text) || !word(text[i]) }

// span is how many bytes from the beginning are of a kind.
func span(text string, is func(byte) bool) (n int) {
	for n < len(text) && is(text[n]) {
		n++
	}
	return n
}

// email is an address with a domain of two labels or more.
func email(text string) int {
	local := span(text[:min(len(text), 65)], func(c byte) bool { return c < 0x80 && word(c) || strings.IndexByte(".%+-", c) >= 0 })
	if local == 0 || local > 64 || local == len(text) || text[local] != '@' || text[0] == '.' {
		return 0
	}
	end, last, labels := local+1, 0, 0 // of the last label
	for {
		last = span(text[end:min(len(text), end+64)], func(c byte) bool { return c < 0x80 && word(c) && c != '_' || c == '-' })
		if last == 0 {
			break
		}
		end, labels = end+last, labels+1
		if labels > 8 || end+1 >= len(text) || text[end] != '.' || !word(text[end+1]) {
			break
		}
		end++
	}
	if letters := span(text[end-last:end], func(c byte) bool { return !digit(c) && word(c) }); labels < 2 || letters != last || last < 2 {
		return 0
	}
	return end
}

// digits reads digits that single separators of these may stand between. It returns them, and the
// length of the text up to the last.
func digits(text, separators string, most int) (list []byte, end int) {
	for i := 0; i < len(text) && len(list) <= most; i++ {
		switch c := text[i]; {
		case digit(c):
			list, end = append(list, c-'0'), i+1
		case strings.IndexByte(separators, c) < 0 || end < i:
			return list, end
		}
	}
	return list, end
}

// card is the number of a payment card: 13 to 19 digits whose check digit is right (Luhn).
func card(text string) int {
	list, end := digits(text, " -", 19)
	if len(list) < 13 || len(list) > 19 {
		return 0
	}
	sum := 0
	for i := range list {
		d := int(list[len(list)-1-i])
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	if sum%10 != 0 || sum == 0 {
		return 0
	}
	return end
}

// phone is a number that begins with + and has 7 to 15 digits, or one of 9 to 15 that begins with 0
// or has separators. A date is none.
func phone(text string) int {
	begin := 0
	if text[0] == '+' {
		begin = 1
	}
	var list []byte
	end, gaps, last := 0, 0, byte(' ')
	for i := begin; i < len(text) && len(list) <= 15; i++ {
		c := text[i]
		if digit(c) {
			list, end = append(list, c), i+1
		} else if strings.IndexByte(" -./()", c) < 0 || !digit(last) && (c != '(' && last != ')' || c == last) {
			break
		} else {
			gaps++
		}
		last = c
	}
	switch n := len(list); {
	case n > 15 || begin == 1 && n < 7 || begin == 0 && n < 9:
		return 0
	case begin == 0 && list[0] != '0' && (gaps < 2 || date(text)):
		return 0
	}
	return end
}

// date reports whether a text begins with a year, a month and a day.
func date(text string) bool {
	return len(text) >= 10 && span(text, digit) == 4 && text[4] == text[7] && !digit(text[4]) && span(text[5:], digit) == 2 && span(text[8:], digit) == 2
}

// iban is an account number whose check digits are right (ISO 13616), with spaces or without.
func iban(text string) int {
	var number []byte
	best := 0
	for i := 0; i < len(text) && len(number) < 34; i++ {
		c := text[i]
		switch upper := c >= 'A' && c <= 'Z'; {
		case c == ' ' && i > 0 && text[i-1] != ' ':
			continue
		case len(number) < 2 && !upper, len(number) >= 2 && len(number) < 4 && !digit(c), !upper && !digit(c):
			return best
		}
		number = append(number, c)
		if len(number) >= 15 && ends(text, i+1) && checks(number) {
			best = i + 1
		}
	}
	return best
}

// checks reports whether the remainder by 97 is 1, with the first four characters at the end and
// letters as numbers from 10 on.
func checks(number []byte) bool {
	rest := 0
	for i := range number {
		switch c := number[(i+4)%len(number)]; {
		case digit(c):
			rest = (rest*10 + int(c-'0')) % 97
		default:
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	return rest == 1
}

// ip is an address of IPv4 or IPv6.
func ip(text string) int {
	if n := ipv4(text); n > 0 {
		return n
	}
	groups, gap, end := 0, false, 0
	for i := 0; ; {
		n := span(text[i:], func(c byte) bool { return digit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' })
		if n > 4 || groups > 8 {
			return 0
		}
		if n > 0 {
			groups, i = groups+1, i+n
			end = i
		}
		switch {
		case strings.HasPrefix(text[i:], "::") && !gap:
			gap, i = true, i+2
		case n > 0 && i < len(text)-1 && text[i] == ':' && text[i+1] != ':':
			i++
		case groups == 8 && !gap, gap && groups >= 3 && groups < 8: // shorter ones are more likely something else
			return end
		default:
			return 0
		}
	}
}

func ipv4(text string) (end int) {
	for part := range 4 {
		if part > 0 {
			if end >= len(text) || text[end] != '.' {
				return 0
			}
			end++
		}
		n, value := span(text[end:], digit), 0
		for _, c := range text[end : end+min(n, 3)] {
			value = value*10 + int(c-'0')
		}
		if n == 0 || n > 3 || value > 255 {
			return 0
		}
		end += n
	}
	if end+1 < len(text) && text[end] == '.' && digit(text[end+1]) { // a version of five numbers
		return 0
	}
	return end
}
