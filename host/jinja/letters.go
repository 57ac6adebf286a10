// SPDX-License-Identifier: MIT

package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// isSpace is what Python takes for white space.
func isSpace(c rune) bool { return c >= 0x1c && c <= 0x1f || unicode.IsSpace(c) }

func upper(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	return cases.Upper(language.Und).String(s)
}

func lower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return cases.Lower(language.Und, cases.HandleFinalSigma(true)).String(s)
}

func casefold(s string) string { return cases.Fold().String(s) }

// titleOf is a character at the beginning of a word.
func titleOf(c rune) string {
	if c < utf8.RuneSelf {
		return strings.ToUpper(string(c))
	}
	if t := cases.Title(language.Und, cases.NoLower).String(string(c)); t != string(c) {
		return t
	}
	return string(unicode.ToTitle(c))
}

func capitalize(s string) string {
	if s == "" {
		return ""
	}
	c, n := utf8.DecodeRuneInString(s)
	return titleOf(c) + lowerWithin(s, n)
}

// lowerWithin is the text from n on in lower case, which may hang on what is before.
func lowerWithin(s string, n int) string {
	if isASCII(s) || !strings.ContainsRune(s, 'Σ') {
		return lower(s[n:])
	}
	return strings.TrimPrefix(lower(s), lower(s[:n]))
}

func title(s string) string {
	var b strings.Builder
	within := false
	for at, c := range s {
		if within {
			b.WriteString(lowerAt(s, at, c))
		} else {
			b.WriteString(titleOf(c))
		}
		within = isCased(c)
	}
	return b.String()
}

func swapcase(s string) string {
	var b strings.Builder
	for at, c := range s {
		switch {
		case isUpperRune(c):
			b.WriteString(lowerAt(s, at, c))
		case isLowerRune(c):
			b.WriteString(upper(string(c)))
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// lowerAt is the character of a text in lower case, which for a sigma hangs on what is around.
func lowerAt(s string, at int, c rune) string {
	if c != 'Σ' {
		return lower(string(c))
	}
	before, _ := utf8.DecodeLastRuneInString(s[:at])
	after, _ := utf8.DecodeRuneInString(s[at+utf8.RuneLen(c):])
	if isCased(before) && !isCased(after) {
		return "ς"
	}
	return "σ"
}

func isUpperRune(c rune) bool { return unicode.IsUpper(c) || unicode.Is(unicode.Other_Uppercase, c) }
func isLowerRune(c rune) bool { return unicode.IsLower(c) || unicode.Is(unicode.Other_Lowercase, c) }
func isCased(c rune) bool     { return isUpperRune(c) || isLowerRune(c) || unicode.IsTitle(c) }

// each is whether a text has characters and all are such.
func each(is func(rune) bool) func(string) bool {
	return func(s string) bool {
		for _, c := range s {
			if !is(c) {
				return false
			}
		}
		return s != ""
	}
}

func isSpaces(s string) bool    { return each(isSpace)(s) }
func isAlpha(c rune) bool       { return unicode.IsLetter(c) }
func isDecimal(c rune) bool     { return unicode.IsDigit(c) }
func isNumeric(c rune) bool     { return unicode.IsNumber(c) || strings.ContainsRune(ideographs, c) }
func isAlnum(c rune) bool       { return isAlpha(c) || isNumeric(c) }
func isPrintable(s string) bool { return s == "" || each(unicode.IsPrint)(s) }

// ideographs are the common ones of numbers.
const ideographs = "〇一二三四五六七八九十百千万億兆零壱弐参壹贰叁肆伍陆柒捌玖拾佰仟萬亿両两"

// digits are what is written as digits beside those of decimal numbers.
var digits = &unicode.RangeTable{
	R16: []unicode.Range16{{0xb2, 0xb3, 1}, {0xb9, 0xb9, 1}, {0x1369, 0x1371, 1}, {0x19da, 0x19da, 1}, {0x2070, 0x2070, 1}, {0x2074, 0x2079, 1},
		{0x2080, 0x2089, 1}, {0x2460, 0x2468, 1}, {0x2474, 0x247c, 1}, {0x2488, 0x2490, 1}, {0x24ea, 0x24ea, 1}, {0x24f5, 0x24fd, 1}, {0x24ff, 0x24ff, 1},
		{0x2776, 0x277e, 1}, {0x2780, 0x2788, 1}, {0x278a, 0x2792, 1}},
	R32:         []unicode.Range32{{0x10a40, 0x10a43, 1}, {0x10e60, 0x10e68, 1}, {0x11052, 0x1105a, 1}, {0x1f100, 0x1f10a, 1}},
	LatinOffset: 2,
}

func isDigitRune(c rune) bool { return unicode.IsDigit(c) || unicode.Is(digits, c) }

func isUpper(s string) bool {
	cased := false
	for _, c := range s {
		if isLowerRune(c) || unicode.IsTitle(c) {
			return false
		}
		cased = cased || isUpperRune(c)
	}
	return cased
}

func isLower(s string) bool {
	cased := false
	for _, c := range s {
		if isUpperRune(c) || unicode.IsTitle(c) {
			return false
		}
		cased = cased || isLowerRune(c)
	}
	return cased
}

func isTitle(s string) bool {
	cased, within := false, false
	for _, c := range s {
		switch {
		case isUpperRune(c) || unicode.IsTitle(c):
			if within {
				return false
			}
			within, cased = true, true
		case isLowerRune(c):
			if !within {
				return false
			}
			cased = true
		default:
			within = false
		}
	}
	return cased
}

func isIdentifier(s string) bool {
	for i, c := range s {
		begins := c == '_' || unicode.IsLetter(c) || unicode.Is(unicode.Nl, c)
		if !begins && (i == 0 || !unicode.In(c, unicode.Nd, unicode.Mn, unicode.Mc, unicode.Pc)) {
			return false
		}
	}
	return s != ""
}
