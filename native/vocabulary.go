// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/text/unicode/norm"
)

// Attribute tells what kind of token a token is.
type Attribute int32

// The attributes of a token, as bits.
const (
	AttributeUnknown         Attribute = 1 << 0
	AttributeUnused          Attribute = 1 << 1
	AttributeNormal          Attribute = 1 << 2
	AttributeControl         Attribute = 1 << 3
	AttributeUserDefined     Attribute = 1 << 4
	AttributeByte            Attribute = 1 << 5
	AttributeEndOfGeneration Attribute = C.PS_END_OF_GENERATION
)

// vocabulary is copied out of C once, so that asking for a token's bytes calls nothing and
// allocates nothing.
type vocabulary struct {
	plain, special table
	attributes     []Attribute
	kind           int // llama_vocab_type
	alphabet       alphabet
	wordPiece      wordPiece
	specials       specials
}

// table holds the bytes of all tokens end to end.
type table struct {
	text    string
	offsets []uint32 // token t is text[offsets[t]:offsets[t+1]]
}

func (t *table) piece(token int32) string {
	if token < 0 || int(token) >= len(t.offsets)-1 {
		return ""
	}
	return t.text[t.offsets[token]:t.offsets[token+1]]
}

func (t *table) load(c *C.ps_model, n int, special bool) error {
	var e C.ps_error
	var text C.ps_text
	t.offsets = make([]uint32, n+1)
	code := C.ps_vocabulary_pieces(c, C._Bool(special), &text, (*C.uint32_t)(unsafe.Pointer(&t.offsets[0])), &e)
	if err := failure(code, &e); err != nil {
		return err
	}
	t.text = takeText(&text)
	return nil
}

func (v *vocabulary) load(c *C.ps_model, n int) error {
	if err := v.plain.load(c, n, false); err != nil {
		return err
	}
	if err := v.special.load(c, n, true); err != nil {
		return err
	}
	v.attributes = make([]Attribute, n)
	var e C.ps_error
	if err := failure(C.ps_vocabulary_attributes(c, (*C.int32_t)(unsafe.Pointer(&v.attributes[0])), &e), &e); err != nil {
		return err
	}
	return v.specials.load(c, v.attributes)
}

// Piece returns the bytes of a token; control tokens, and tokens outside the vocabulary, have
// none. It does not allocate.
func (m *Model) Piece(token int32) string { return m.vocab.plain.piece(token) }

// SpecialPiece is Piece with the text of control tokens.
func (m *Model) SpecialPiece(token int32) string { return m.vocab.special.piece(token) }

// EndOfGeneration reports whether the token ends an answer.
func (m *Model) EndOfGeneration(token int32) bool {
	return m.Attributes(token)&AttributeEndOfGeneration != 0
}

// Attributes returns the kind of a token; 0 outside the vocabulary.
func (m *Model) Attributes(token int32) Attribute {
	if token < 0 || int(token) >= len(m.vocab.attributes) {
		return 0
	}
	return m.vocab.attributes[token]
}

// TokenizeOptions say what is recognised or added besides plain text.
type TokenizeOptions struct {
	AddSpecial   bool // begin and end tokens, where the model wants them
	ParseSpecial bool // the text of control tokens becomes those tokens
}

// Tokenize turns text into tokens, as llama.cpp does. A text that llama.cpp would take too long
// for is an ErrInvalid. When ctx is done it ends with its cause: at once where special tokens part
// the text, else after the piece that llama.cpp works on.
func (m *Model) Tokenize(ctx context.Context, text string, o TokenizeOptions) ([]int32, error) {
	if err := m.enter(); err != nil {
		return nil, err
	}
	defer m.leave()
	if err := m.checkWork(text); err != nil {
		return nil, fmt.Errorf("tokenize: %w", err)
	}
	pieces := m.vocab.specials.split(text, o.ParseSpecial)
	plain := TokenizeOptions{AddSpecial: o.AddSpecial} // what is left has no special tokens
	if len(pieces) == 0 {
		tokens, err := m.appendTokens(ctx, nil, text, plain)
		return append([]int32(nil), tokens...), err // without the room that was left
	}
	around, err := m.appendTokens(ctx, nil, "", plain)
	if err != nil {
		return nil, err
	}
	begins := len(around) // of those, the ones that stand before the text
	if begins > 1 || begins == 1 && !m.info.AddBOS {
		begins--
	}
	tokens, at := append([]int32(nil), around[:begins]...), 0
	for _, f := range append(pieces, found{noSpecial, len(text), len(text)}) {
		if at < f.begin { // llama.cpp puts a space before each such piece, where it puts one before a text
			if tokens, err = m.appendTokens(ctx, tokens, text[at:f.begin], TokenizeOptions{}); err != nil {
				return nil, err
			}
		}
		if f.special != noSpecial {
			tokens = append(tokens, m.vocab.specials.tokens[f.special].token)
		}
		at = f.end
	}
	return append(tokens, around[begins:]...), nil
}

// appendTokens turns a text without special tokens into tokens.
func (m *Model) appendTokens(ctx context.Context, tokens []int32, text string, o TokenizeOptions) ([]int32, error) {
	if m.vocab.kind != wordPieceType || text == "" {
		return m.appendLlamaTokens(ctx, tokens, text, o)
	}
	m.vocab.wordPiece.once.Do(m.fillWordPiece)
	if !o.AddSpecial {
		return m.vocab.wordPiece.append(ctx, tokens, text)
	}
	around, err := m.appendLlamaTokens(ctx, nil, "", o) // [CLS] and [SEP]
	if err != nil {
		return nil, err
	}
	begins := min(1, len(around))
	if tokens, err = m.vocab.wordPiece.append(ctx, append(tokens, around[:begins]...), text); err != nil {
		return nil, err
	}
	return append(tokens, around[begins:]...), nil
}

// appendLlamaTokens has llama.cpp turn a text into tokens.
func (m *Model) appendLlamaTokens(ctx context.Context, tokens []int32, text string, o TokenizeOptions) ([]int32, error) {
	room := len(text) + 8 // most often enough: a token is a byte or more, plus those added
	for {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("tokenize: %w", context.Cause(ctx))
		}
		tokens = slices.Grow(tokens, room)
		free := tokens[len(tokens):cap(tokens)]
		var e C.ps_error
		var n C.size_t
		code := C.ps_tokenize(m.c(), textPointer(text), C.size_t(len(text)), C._Bool(o.AddSpecial), C._Bool(o.ParseSpecial),
			(*C.int32_t)(unsafe.Pointer(&free[0])), C.size_t(len(free)), &n, &e)
		if err := failure(code, &e); err != nil {
			return nil, fmt.Errorf("tokenize: %w", err)
		}
		if int(n) <= len(free) {
			return tokens[:len(tokens)+int(n)], nil
		}
		room = int(n)
	}
}

// DetokenizeOptions say how special tokens are shown.
type DetokenizeOptions struct {
	UnparseSpecial bool // show control tokens as text
}

// Detokenize turns tokens into text. It is the inverse of Tokenize: a leading space that
// tokenising adds is removed.
func (m *Model) Detokenize(tokens []int32, o DetokenizeOptions) (string, error) {
	if err := m.enter(); err != nil {
		return "", err
	}
	defer m.leave()
	if len(tokens) == 0 {
		return "", nil
	}
	text := make([]byte, 8*len(tokens)+16)
	for {
		var e C.ps_error
		var n C.size_t
		code := C.ps_detokenize(m.c(), (*C.int32_t)(unsafe.Pointer(&tokens[0])), C.size_t(len(tokens)),
			C._Bool(o.UnparseSpecial), (*C.char)(unsafe.Pointer(&text[0])), C.size_t(len(text)), &n, &e)
		if err := failure(code, &e); err != nil {
			return "", fmt.Errorf("detokenize: %w", err)
		}
		if int(n) <= len(text) {
			return string(text[:n]), nil
		}
		text = make([]byte, n)
	}
}

// specials finds the special tokens in a text: those whose text is looked for before all else is
// tokenised. llama.cpp looks through the whole text for one after the other, and for each that it
// finds walks through all that it has found: the square of their number.
type specials struct {
	tokens []special // in llama.cpp's order: the first of two that overlap in a text wins; it is a longer one, or as long
	trie   map[step]int
	whole  map[int][]int // by node: which of tokens end there
	first  [256]bool     // bytes that one begins with
}

type special struct {
	token int32
	text  string
	kind  Attribute
}

// step is an edge of the trie; node 0 is its root.
type step struct {
	node int
	ch   byte
}

// The attributes of special tokens. What is white space beside one that strips belongs to it.
const (
	stripsLeft  Attribute = 1 << 7
	stripsRight Attribute = 1 << 8
	asText      Attribute = AttributeControl | AttributeUnknown // only where the text of control tokens becomes those tokens
)

func (s *specials) load(c *C.ps_model, attributes []Attribute) error {
	var e C.ps_error
	var text C.ps_text
	var n C.size_t
	tokens, offsets := make([]int32, len(attributes)+1), make([]uint32, len(attributes)+1)
	code := C.ps_vocabulary_specials(c, (*C.int32_t)(unsafe.Pointer(&tokens[0])), &n, &text, (*C.uint32_t)(unsafe.Pointer(&offsets[0])), &e)
	if err := failure(code, &e); err != nil {
		return err
	}
	all := takeText(&text)
	s.trie, s.whole = map[step]int{}, map[int][]int{}
	for i, t := range tokens[:n] {
		s.add(special{t, all[offsets[i]:offsets[i+1]], attributes[t]})
	}
	return nil
}

func (s *specials) add(t special) {
	if t.text == "" {
		return // llama.cpp would find it forever
	}
	node := 0
	for i := range len(t.text) {
		next, ok := s.trie[step{node, t.text[i]}]
		if !ok {
			next = len(s.trie) + 1
			s.trie[step{node, t.text[i]}] = next
		}
		node = next
	}
	s.first[t.text[0]] = true
	s.whole[node] = append(s.whole[node], len(s.tokens))
	s.tokens = append(s.tokens, t)
}

// found is a special token, by its place among all, and the bytes of a text that become it.
type found struct{ special, begin, end int }

const noSpecial = -1

// split takes a text apart, as llama.cpp does. The time is linear in the text: from each byte on
// it goes as far as the longest token.
func (s *specials) split(text string, parseSpecial bool) []found {
	all := s.all(text, parseSpecial)
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(a.special, b.special) })
	taken := make([]bool, len(text)) // by those before
	var kept []found
	for _, f := range all {
		if taken[f.begin] || taken[f.end-1] { // none before is shorter, so this is all that may overlap
			continue
		}
		kind := s.tokens[f.special].kind
		for kind&stripsLeft != 0 && f.begin > 0 && !taken[f.begin-1] && isSpace(text[f.begin-1]) {
			f.begin--
		}
		for kind&stripsRight != 0 && f.end < len(text) && !taken[f.end] && isSpace(text[f.end]) {
			f.end++
		}
		for i := f.begin; i < f.end; i++ {
			taken[i] = true
		}
		kept = append(kept, f)
	}
	slices.SortFunc(kept, func(a, b found) int { return cmp.Compare(a.begin, b.begin) })
	return kept
}

// all finds all special tokens in a text, those too that overlap.
func (s *specials) all(text string, parseSpecial bool) (all []found) {
	for begin := range len(text) {
		if !s.first[text[begin]] {
			continue
		}
		for node, end := 0, begin; end < len(text); {
			next, ok := s.trie[step{node, text[end]}]
			if !ok {
				break
			}
			node, end = next, end+1
			for _, i := range s.whole[node] {
				if parseSpecial || s.tokens[i].kind&asText == 0 {
					all = append(all, found{i, begin, end})
				}
			}
		}
	}
	return all
}

// isSpace is C's isspace.
func isSpace(ch byte) bool { return strings.IndexByte(" \t\n\v\f\r", ch) >= 0 }

// checkWork refuses a text that llama.cpp would take too long for: some of its tokenizers take the
// square of what they find in a text, and none can be interrupted.
func (m *Model) checkWork(text string) error {
	if len(text) < 1<<12 {
		return nil // no square of this is long
	}
	if err := m.checkUnknownCharacters(text); err != nil {
		return err
	}
	if err := m.checkRuns(text); err != nil {
		return err
	}
	return m.checkSearches(text)
}

// run is a kind of character of which llama.cpp's regular expression looks, from each one in a
// row, at all that follow.
type run struct {
	of   func(rune) bool
	what string
	step float64 // characters that it goes on by, after it has looked
	end  bool    // what ends a text or a line is found at once
}

// runs are by llama.cpp's name of the pre-tokenizer. What ends lines is split off, or taken
// together, before.
var runs = map[string]run{
	"deepseek-llm": {isBlank, "white space", 1, true},      // \s+$
	"jais-2":       {isBlank, "white space", 512, false},   // \s*[\r\n]+, and then \s{512}
	"superbpe":     {unicode.IsNumber, "digits", 1, false}, // (?=(\d{3})+(?!\d))
}

func isBlank(r rune) bool { return unicode.IsSpace(r) && r != '\n' && r != '\r' }

// maxLooks bounds how many characters such an expression looks at. This many take about a second.
const maxLooks = 25_000_000

func (m *Model) checkRuns(text string) error {
	kind, ok := runs[m.meta["tokenizer.ggml.pre"]]
	if !ok {
		return nil
	}
	looks, row, longest := 0.0, 0.0, 0.0
	ends := func() {
		looks += row * row / 2 / kind.step
		longest, row = max(longest, row), 0
	}
	for _, r := range text {
		switch {
		case kind.of(r):
			row++
		case kind.end && (r == '\n' || r == '\r'):
			row = 0
		default:
			ends()
		}
	}
	if !kind.end {
		ends()
	}
	if looks > maxLooks {
		return fmt.Errorf("%w: the text has up to %.0f characters of %s in a row; the model's tokenizer takes too long for so many: send fewer in a row",
			ErrInvalid, longest, kind.what)
	}
	return nil
}

// maxHits bounds how often a special token could begin in a text. This many take a few seconds.
const maxHits = 500_000_000

// checkSearches counts the places where a special token could begin that llama.cpp looks for in
// every text, also after they were split off: it goes through the text once for each.
func (m *Model) checkSearches(text string) error {
	var begin [256]int
	for _, s := range m.vocab.specials.tokens {
		if s.kind&asText == 0 {
			begin[s.text[0]]++
		}
	}
	hits := 0
	for i := range len(text) {
		hits += begin[text[i]]
	}
	if hits > maxHits {
		return fmt.Errorf("%w: the text has %d bytes, with too many characters that one of the model's special tokens begins with: send less at a time",
			ErrInvalid, len(text))
	}
	return nil
}

// sentencePiece is LLAMA_VOCAB_TYPE_SPM.
const sentencePiece = 1

// maxCopied bounds the tokens that llama.cpp copies for a text with such a vocabulary: at each
// character that is not in the vocabulary it copies all tokens so far, to make room for a few
// more. This many take about a second.
const maxCopied = 4_000_000_000

// alphabet is the set of characters of a vocabulary without its byte tokens, one bit each.
type alphabet struct {
	once sync.Once
	bits []uint64
}

func (a *alphabet) has(r rune) bool { return a.bits[r>>6]>>(r&63)&1 != 0 }

func (m *Model) fillAlphabet() {
	m.vocab.alphabet.bits = make([]uint64, (utf8.MaxRune+64)/64)
	for t := range m.vocab.attributes {
		if m.vocab.attributes[t]&AttributeByte != 0 {
			continue
		}
		for _, r := range m.SpecialPiece(int32(t)) {
			m.vocab.alphabet.bits[r>>6] |= 1 << (r & 63)
		}
	}
}

// checkUnknownCharacters refuses a text with too many characters that are not in the vocabulary,
// and so become a token for each byte.
func (m *Model) checkUnknownCharacters(text string) error {
	if m.vocab.kind != sentencePiece || len(text) < 1<<14 {
		return nil
	}
	m.vocab.alphabet.once.Do(m.fillAlphabet)
	tokens, copied, unknown := 0.0, 0.0, 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		if (r != utf8.RuneError || size > 1) && m.vocab.alphabet.has(r) {
			tokens += 0.25 // known characters are most often joined
			continue
		}
		unknown++
		tokens += float64(size)
		copied += tokens
	}
	if copied > maxCopied {
		return fmt.Errorf("%w: the text has %d bytes, with %d characters that are not in the model's vocabulary; so many take too long: send less at a time",
			ErrInvalid, len(text), unknown)
	}
	return nil
}

// wordPieceType is LLAMA_VOCAB_TYPE_WPM, BERT's.
const wordPieceType = 3

// maxWord is how many characters a word may have; a longer one is unknown.
const maxWord = 100

// wordPiece turns words into tokens as BERT's own tokenizer does. llama.cpp's differs: it leaves
// Hangul composed, strips vowel signs as if they were accents, which takes away most of Korean,
// Hindi and Bengali, and knows words of any length.
type wordPiece struct {
	once             sync.Once
	tokens           map[string]int32 // by piece: that of a word's beginning has a space before it
	longest          int              // piece, in bytes
	unknown          int32
	lower, noAccents bool
}

func (m *Model) fillWordPiece() {
	w := &m.vocab.wordPiece
	w.tokens, w.unknown = map[string]int32{}, 100 // llama.cpp's, where the file does not say
	if n, err := strconv.ParseInt(m.meta["tokenizer.ggml.unknown_token_id"], 10, 32); err == nil {
		w.unknown = int32(n)
	}
	for token := range int32(len(m.vocab.attributes)) {
		if piece := m.vocab.plain.piece(token); piece != "" && m.vocab.attributes[token]&AttributeNormal != 0 {
			w.tokens[piece], w.longest = token, max(w.longest, len(piece))
		}
	}
	w.lower = m.meta["tokenizer.ggml.normalizer.lowercase"] != "false"
	w.noAccents = w.lower
	if says, ok := m.meta["tokenizer.ggml.normalizer.strip_accents"]; ok {
		w.noAccents = says == "true"
	}
}

// append adds the tokens of a text without special tokens.
func (w *wordPiece) append(ctx context.Context, tokens []int32, text string) ([]int32, error) {
	for word := range w.words(text) {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("tokenize: %w", context.Cause(ctx))
		}
		tokens = w.appendWord(tokens, word)
	}
	return tokens, nil
}

// words yields words and marks, normalised, each with a space before it.
func (w *wordPiece) words(text string) func(yield func(string) bool) {
	if w.noAccents {
		text = norm.NFD.String(strings.Map(cleaned, text))
	}
	return func(yield func(string) bool) {
		word := []byte(" ")
		ends := func() bool {
			whole := string(word)
			word = word[:1]
			return len(whole) == 1 || yield(whole)
		}
		for _, r := range text {
			r = cleaned(r)
			switch alone := isMark(r) || isIdeograph(r); {
			case r < 0 || w.noAccents && unicode.Is(unicode.Mn, r):
			case unicode.IsSpace(r):
				if !ends() {
					return
				}
			case alone:
				if !ends() || !yield(" "+string(r)) {
					return
				}
			case w.lower && r == '\u0130': // the only one that becomes two
				word = append(word, "i\u0307"...)
			case w.lower:
				word = utf8.AppendRune(word, unicode.ToLower(r))
			default:
				word = utf8.AppendRune(word, r)
			}
		}
		ends()
	}
}

// cleaned is -1 for what no text shows. Control characters that are white space elsewhere are gone
// too, but for tabs and ends of lines.
func cleaned(r rune) rune {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		return ' '
	case r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co):
		return -1
	}
	return r
}

// isMark reports whether a character is a word by itself: punctuation, and all of ASCII that is
// neither a letter nor a digit.
func isMark(r rune) bool {
	return unicode.IsPunct(r) || r > ' ' && r < unicode.MaxASCII && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// ideographs are BERT's ranges of characters that stand alone.
var ideographs = [][2]rune{
	{0x4e00, 0x9fff}, {0x3400, 0x4dbf}, {0x20000, 0x2a6df}, {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0xf900, 0xfaff}, {0x2f800, 0x2fa1f},
}

func isIdeograph(r rune) bool {
	for _, i := range ideographs {
		if r >= i[0] && r <= i[1] {
			return true
		}
	}
	return false
}

// appendWord adds the longest piece that the word begins with, and so on with the rest. A word of
// which a part is unknown is unknown.
func (w *wordPiece) appendWord(tokens []int32, word string) []int32 {
	before := len(tokens)
	if utf8.RuneCountInString(word) > maxWord+1 {
		return append(tokens, w.unknown)
	}
	rest := strings.ReplaceAll(word, "\u2581", " ") // so it is in a piece
	for rest != "" {
		n, token := w.longestPiece(rest)
		if n == 0 {
			return append(tokens[:before], w.unknown)
		}
		tokens, rest = append(tokens, token), rest[n:]
	}
	return tokens
}

// longestPiece finds the longest piece that a text begins with, and its length.
func (w *wordPiece) longestPiece(text string) (n int, token int32) {
	for n = min(len(text), w.longest); n > 0; n-- {
		if n == len(text) || utf8.RuneStart(text[n]) {
			if token, ok := w.tokens[text[:n]]; ok {
				return n, token
			}
		}
	}
	return 0, 0
}
