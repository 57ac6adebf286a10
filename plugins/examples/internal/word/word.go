// SPDX-License-Identifier: MIT

// Package word tells where words end. Unicode's tables would make a plugin many times larger.
package word

// Has reports whether a character belongs to a word that a border separates from others: beyond
// ASCII all but punctuation, symbols, and the scripts that write no spaces between words.
func Has(c rune) bool {
	switch {
	case c < 0x80:
		return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || c == '_'
	case c < 0xc0 && c != 0xaa && c != 0xb5 && c != 0xba, c == 0xd7, c == 0xf7,
		0xe00 <= c && c < 0xf00, 0x1000 <= c && c < 0x10a0, 0x1780 <= c && c < 0x1800, // Thai and Lao, Burmese, Khmer
		0x2000 <= c && c < 0x2c00, 0x2e00 <= c && c < 0xa000, // punctuation and symbols; Chinese and Japanese
		0xf900 <= c && c < 0xfb00, 0xfe00 <= c && c < 0xfe70, 0xff00 <= c && c < 0xff10, 0xff60 <= c && c <= 0xffff,
		c >= 0x1f000:
		return false
	}
	return true
}
