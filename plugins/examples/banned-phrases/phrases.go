// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/penstock/penstock/plugins/examples/internal/pattern"
	"github.com/penstock/penstock/plugins/sdk/go/json"
)

// readBans reads what must not appear.
func readBans(config json.Value) (p phrases, m *pattern.Matcher, err error) {
	p.fold, p.whole = config.Get("ignore_case").Bool(), config.Get("whole_words").Bool()
	var patterns []string
	add := func(field, source string) error {
		if _, err := pattern.Compile(source); err != nil {
			return fmt.Errorf("config.%s has %q: %w", field, source, err)
		}
		patterns = append(patterns, source)
		return nil
	}
	list := config.Get("phrases")
	for i := range list.Len() {
		p.add(list.At(i).Text())
	}
	list = config.Get("patterns")
	for i := range list.Len() {
		if err := add("patterns", list.At(i).Text()); err != nil {
			return p, nil, err
		}
	}
	text := config.Get("list").Text()
	if config.Get("slop").Bool() {
		text += "\n" + slop
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch n := len(line) - 1; {
		case n < 0 || line[0] == '#':
		case n > 1 && line[0] == '/' && line[n] == '/':
			if err := add("list", line[1:n]); err != nil {
				return p, nil, err
			}
		case n > 1 && line[0] == '"' && line[n] == '"': // as SillyTavern writes them
			p.add(line[1:n])
		default:
			p.add(line)
		}
	}
	if len(patterns) > 0 {
		if m, err = pattern.Compile(patterns...); err != nil {
			err = fmt.Errorf("config.patterns: %w", err)
		}
	}
	return p, m, err
}

// slop is what readers complain about most in the prose of language models: refusals and talk about
// themselves, worn-out images, and a rhetorical figure.
const slop = `
as an AI language model
as a large language model
/(?i)\bI('|’| a)m just an AI\b/
I hope this helps
/(?i)\bit( i|['’])s (important to note|worth noting) that\b/
/(?i)\bdelv(e|es|ed|ing)\b/
/(?i)\brich tapestry\b/
/(?i)\btapestry of\b/
/(?i)\btestament to\b/
/(?i)\bsymphony of\b/
/(?i)\bkaleidoscope of\b/
/(?i)\blabyrinth of\b/
in today's fast-paced world
in the ever-evolving
in the realm of
unlock the power of
unleash the power of
navigate the complexities
a beacon of hope
game-changer
/(?i)\bshivers? (ran |run |running |went |going )?(down|up) (my|your|his|her|their|the) spine/
/(?i)\bvoice (was )?(barely|hardly) above a whisper/
barely above a whisper
barely a whisper
/(?i)\beyes? (glint|gleam|sparkl|twinkl|shin|glow)(ed|ing|s|ening|en|e|es)?\b/
/(?i)\bbreath (I|you|he|she|they) (didn['’]t|hadn['’]t|did not) (know|realize|realise|known)/
/(?i)\bheart (pounded|pounding|hammered|hammering) in (my|your|his|her|their) chest/
/(?i)\ba mix(ture)? of (emotions|feelings|fear|awe|hope|dread|curiosity|excitement|surprise|relief|anger|sadness|admiration|amusement|pride)\b/
the air was thick with
hung heavy in the air
sent shivers
/(?i)\bministrations\b/
the world around them faded
time seemed to stand still
little did they know
only time will tell
the scent of ozone
/\b(Elara|Eldoria)\b/
/(?i)\bwhispering woods\b/
/(?i)\b(it|this|that)( i|['’])s(n['’]t| not) (just|only|merely|about) [^.!?\n]+[;,.—–-]+ ?(it|this|that)( i|['’])s\b/
`

// phrases are texts that must not appear, as a tree of their characters. nodes[0] is its root.
type phrases struct {
	nodes []node
	fold  bool // capitals are small letters
	whole bool // nothing may be joined to a phrase that makes it a part of a longer word
}

// node is a character of the tree. Its next is another character that may come in its place; 0:
// none.
type node struct {
	c           rune
	child, next int32
	last        bool // it ends a phrase
}

// thread is the beginning of a phrase in the text.
type thread struct {
	at   int32 // the node of its last character
	from int   // where it begins, in bytes
}

// spelling is where a text stands in the tree.
type spelling struct {
	before  rune     // the character before; −1: none
	threads []thread // the earlier they began, the further in front
}

func (p *phrases) empty() bool { return len(p.nodes) <= 1 }

// add puts a phrase into the tree.
func (p *phrases) add(phrase string) {
	if len(p.nodes) == 0 {
		p.nodes = append(p.nodes, node{})
	}
	at := int32(0)
	for _, c := range phrase {
		c = p.folded(c)
		next := p.child(at, c)
		if next == 0 {
			next = int32(len(p.nodes))
			p.nodes = append(p.nodes, node{c: c, next: p.nodes[at].child})
			p.nodes[at].child = next
		}
		at = next
	}
	p.nodes[at].last = at != 0
}

// child is the node of a character after another; 0: there is none.
func (p *phrases) child(at int32, c rune) int32 {
	for at = p.nodes[at].child; at != 0 && p.nodes[at].c != c; {
		at = p.nodes[at].next
	}
	return at
}

// folded is a character as the tree has it: the least of those that differ only in case.
func (p *phrases) folded(c rune) rune {
	if !p.fold {
		return c
	}
	if c < 0x80 && c != 'k' && c != 's' && c != 'K' && c != 'S' { // others are beside K and S
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		return c
	}
	least := c
	for f := unicode.SimpleFold(c); f != c; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
}

// step takes the next character, at a place in the text, and tells where the first phrase begins
// that is complete; −1: none is.
func (p *phrases) step(s *spelling, c rune, from int) (first int) {
	first = -1
	if p.empty() {
		return first
	}
	if !p.whole || !isWord(s.before) || !isWord(c) {
		first = p.end(s)
		s.threads = append(s.threads, thread{0, from})
	}
	folded, kept := p.folded(c), s.threads[:0]
	for _, t := range s.threads {
		if t.at = p.child(t.at, folded); t.at == 0 {
			continue
		}
		kept = append(kept, t)
		if p.nodes[t.at].last && !(p.whole && isWord(c)) && (first < 0 || t.from < first) {
			first = t.from
		}
	}
	s.before, s.threads = c, kept
	return first
}

// end tells where the first phrase begins that only waits for the end of a word, which is here; −1:
// none does.
func (p *phrases) end(s *spelling) int {
	if p.whole && isWord(s.before) {
		for _, t := range s.threads {
			if p.nodes[t.at].last {
				return t.from
			}
		}
	}
	return -1
}

func isWord(c rune) bool {
	return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c)
}
