// SPDX-License-Identifier: MIT

package main

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/penstock/penstock/plugins/examples/internal/word"
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
	names map[rune][]string // by their first character, folded
}

func newFinder(config json.Value) finder {
	f := finder{map[string]bool{}, map[rune][]string{}}
	kinds, names := config.Get("kinds"), config.Get("names")
	for i := range kinds.Len() {
		f.kinds[kinds.At(i).Text()] = true
	}
	for i := range names.Len() {
		name := names.At(i).Text()
		c, _ := utf8.DecodeRuneInString(name)
		f.names[folded(c)] = append(f.names[folded(c)], name)
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
	for i := 0; i < len(text); i++ {
		if n, kind := f.match(text, i); n > 0 {
			all = append(all, found{i, i + n, kind})
			i += n - 1
		}
	}
	return all
}

// match is how many bytes from i on are personal data, of the first kind that matches.
func (f *finder) match(text string, i int) (n int, kind string) {
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
	n, c := 0, folded(first(text[i:]))
	for _, name := range f.names[c] {
		if size := named(text[i:], name); size > n && ends(text, i+size) {
			n = size
		}
	}
	return n, "NAME"
}

// named is how many bytes at the beginning of a text are a name, in any case of its letters.
func named(text, name string) (n int) {
	for range name {
		_, size := utf8.DecodeRuneInString(text[n:])
		n += size
	}
	if !strings.EqualFold(text[:n], name) {
		return 0
	}
	return n
}

// folded is the same for characters that differ only in case.
func folded(c rune) rune { return unicode.ToLower(unicode.ToUpper(c)) }

func digit(c byte) bool { return c >= '0' && c <= '9' }

// boundary reports whether something may begin at i: after no letter and no digit, but for that of
// an escaped line break, as arguments of calls have them.
func boundary(text string, i int) bool {
	if i == 0 || escaped(text, i-1) {
		return true
	}
	c, _ := utf8.DecodeLastRuneInString(text[:i])
	return utf8.RuneStart(text[i]) && !word.Has(c) && !escaped(text, i)
}

func escaped(text string, i int) bool {
	return i > 0 && text[i-1] == '\\' && (text[i] == 'n' || text[i] == 't' || text[i] == 'r')
}

func ends(text string, i int) bool { return i == len(text) || !word.Has(first(text[i:])) }

// first is the first character of a text; utf8.RuneError without one.
func first(text string) rune {
	c, _ := utf8.DecodeRuneInString(text)
	return c
}

// span is how many bytes from the beginning are of a kind.
func span(text string, is func(byte) bool) (n int) {
	for n < len(text) && is(text[n]) {
		n++
	}
	return n
}

// letters is how many bytes from the beginning are characters of words, or others of these.
func letters(text, others string) (n int) {
	for n < len(text) {
		c, size := utf8.DecodeRuneInString(text[n:])
		if !word.Has(c) && strings.IndexRune(others, c) < 0 {
			break
		}
		n += size
	}
	return n
}

// email is an address with a domain of two labels or more.
func email(text string) int {
	local := letters(text[:min(len(text), 65)], ".%+-")
	if local == 0 || local > 64 || local == len(text) || text[local] != '@' || text[0] == '.' {
		return 0
	}
	end, last, labels := local+1, 0, 0 // of the last label
	for {
		last = letters(text[end:min(len(text), end+64)], "-")
		if last == 0 {
			break
		}
		end, labels = end+last, labels+1
		if labels > 8 || end+1 >= len(text) || text[end] != '.' || !word.Has(first(text[end+1:])) {
			break
		}
		end++
	}
	if labels < 2 || last < 2 || span(text[end-last:end], func(c byte) bool { return !digit(c) && c != '-' && c != '_' }) != last {
		return 0
	}
	return end
}

// card is the number of a payment card: 13 to 19 digits whose check digit is right, with single
// spaces and dashes or without. Other numbers, such as its last month, may follow.
func card(text string) (end int) {
	var list []byte
	for i := 0; i < len(text) && len(list) < 19; i++ {
		switch c := text[i]; {
		case digit(c):
			list = append(list, c-'0')
		case strings.IndexByte(" -", c) < 0 || i == 0 || !digit(text[i-1]):
			return end
		}
		dash := i+2 < len(text) && text[i+1] == '-' && digit(text[i+2])
		if len(list) >= 13 && ends(text, i+1) && !dash && luhn(list) {
			end = i + 1
		}
	}
	return end
}

// luhn reports whether the last of digits is right.
func luhn(list []byte) bool {
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
	return sum%10 == 0 && sum > 0
}

// phone is a number that begins with + and has 7 to 15 digits, or one of 9 to 15 that begins with 0
// or has separators. A date is none. Of more digits those up to a space are looked at.
func phone(text string) int {
	begin := 0
	if text[0] == '+' {
		begin = 1
	}
	var list []byte
	end, gaps, last := 0, 0, byte(' ')
	spaceEnd, spaceDigits, spaceGaps := 0, 0, 0
	for i := begin; i < len(text) && len(list) <= 15; i++ {
		c := text[i]
		if digit(c) {
			list, end = append(list, c), i+1
		} else if strings.IndexByte(" -./()", c) < 0 || !digit(last) && (c != '(' && last != ')' || c == last) {
			break
		} else {
			if c == ' ' && digit(last) {
				spaceEnd, spaceDigits, spaceGaps = end, len(list), gaps
			}
			gaps++
		}
		last = c
	}
	if len(list) > 15 {
		end, list, gaps = spaceEnd, list[:spaceDigits], spaceGaps
	}
	switch n := len(list); {
	case begin == 1 && n < 7 || begin == 0 && n < 9:
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
