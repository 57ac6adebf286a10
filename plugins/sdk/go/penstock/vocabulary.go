// SPDX-License-Identifier: MIT

package penstock

import (
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
)

// Token is the id of a token.
type Token = uint32

// VocabSize is the number of tokens.
func VocabSize() int { return int(abi.VocabSize()) }

// Piece appends to buffer[:0] the bytes of a token: none for a control token or one that does not
// exist. They need not be valid UTF-8 by themselves.
func Piece(t Token, buffer []byte) []byte {
	if cap(buffer) == 0 {
		buffer = make([]byte, 0, 64)
	}
	for {
		buffer = buffer[:cap(buffer)]
		n := int(abi.Piece(int32(t), unsafe.Pointer(&buffer[0]), int32(len(buffer))))
		if n <= len(buffer) {
			return buffer[:max(n, 0)]
		}
		buffer = make([]byte, n)
	}
}

// TextOf is the joined pieces of tokens. It may begin and end inside a character.
func TextOf(tokens []Token) string {
	var text, piece []byte
	for _, t := range tokens {
		piece = Piece(t, piece)
		text = append(text, piece...)
	}
	return string(text)
}

// Vocabulary is the bytes of all tokens. Reading it takes memory and time in proportion to the
// vocabulary, so it is meant for Warm, which runs once for all requests.
type Vocabulary struct {
	offsets []uint32 // one more than there are tokens
	bytes   []byte
}

// ReadVocabulary reads all tokens.
func ReadVocabulary() *Vocabulary {
	size := abi.Vocab(nil, 0)
	words := make([]uint32, (size+3)/4)
	if size == 0 {
		return &Vocabulary{}
	}
	abi.Vocab(unsafe.Pointer(&words[0]), size)
	n := VocabSize()
	text := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), size)
	return &Vocabulary{words[:n+1], text[4*(n+1):]}
}

// Len is the number of tokens.
func (v *Vocabulary) Len() int { return max(len(v.offsets)-1, 0) }

// Piece is the bytes of a token, like the function Piece: none for one that does not exist, such as
// MediaToken. They must not be changed.
func (v *Vocabulary) Piece(t Token) []byte {
	if uint64(t) >= uint64(v.Len()) {
		return nil
	}
	return v.bytes[v.offsets[t]:v.offsets[t+1]]
}

// Fits are the tokens with which a text that is not empty may begin: those that are a beginning of
// it, and those that it is a beginning of.
func (v *Vocabulary) Fits(text string) *Mask {
	mask := NewMask()
	v.fitting(text, func(t Token, _ int) { mask.Allow(t) })
	return mask
}

// Spell returns tokens whose text is the given one, whatever the tokenizer would return: the
// longest that fits, again and again. It ends where none fits.
func (v *Vocabulary) Spell(text string) (tokens []Token) {
	for text != "" {
		best, length := Token(0), 0
		v.fitting(text, func(t Token, size int) {
			if size > length && size <= len(text) {
				best, length = t, size
			}
		})
		if length == 0 {
			break
		}
		tokens, text = append(tokens, best), text[length:]
	}
	return tokens
}

// fitting calls f with the tokens that a text begins with and those that begin with it, and how
// long they are. It takes about 25 instructions a token: comparisons of package bytes would
// allocate.
func (v *Vocabulary) fitting(text string, f func(t Token, size int)) {
	begin := uint32(0)
	for t := range v.Len() {
		end := v.offsets[t+1]
		if begin < end && v.bytes[begin] == text[0] {
			size := int(end - begin)
			both, n := min(size, len(text)), 1
			for n < both && v.bytes[int(begin)+n] == text[n] {
				n++
			}
			if n == both {
				f(Token(t), size)
			}
		}
		begin = end
	}
}

// Attributes are bits for the kind of a token.
type Attributes int32

// The attributes.
const (
	AttrControl Attributes = abi.AttrControl // a control token
	AttrEnd     Attributes = abi.AttrEnd     // ends generation
	AttrByte    Attributes = abi.AttrByte    // a single byte
	AttrUnused  Attributes = abi.AttrUnused  // never trained
)

// AttributesOf returns the attributes of a token, none if it does not exist.
func AttributesOf(t Token) Attributes { return Attributes(max(abi.TokenAttr(int32(t)), 0)) }

// Special names a token with a role.
type Special int32

// The roles.
const (
	BOS     Special = abi.SpecialBOS     // beginning of a sequence
	EOS     Special = abi.SpecialEOS     // end of a sequence
	EOT     Special = abi.SpecialEOT     // end of a turn
	Newline Special = abi.SpecialNewline // a line break
)

// SpecialToken is the token with a role, if the model has one.
func SpecialToken(s Special) (Token, bool) {
	t := abi.Special(int32(s))
	return Token(t), t >= 0
}

// Tokenizing says how to read a text; bits may be combined.
type Tokenizing int32

// How to read a text. Without any, control tokens in it are plain text.
const (
	AddSpecial   Tokenizing = abi.TokenizeAddSpecial   // add the tokens the model wants at the beginning and end
	ParseSpecial Tokenizing = abi.TokenizeParseSpecial // read the text of control tokens as control tokens
)

// Tokenize turns text into tokens.
func Tokenize(text string, how Tokenizing) []Token {
	tokens := make([]Token, len(text)+2) // no token stands for less than a byte
	for {
		n := abi.Tokenize(unsafe.Pointer(unsafe.StringData(text)), int32(len(text)), int32(how), unsafe.Pointer(&tokens[0]), int32(len(tokens)))
		if int(n) <= len(tokens) {
			return tokens[:max(n, 0)]
		}
		tokens = make([]Token, n)
	}
}
