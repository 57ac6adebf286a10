// SPDX-License-Identifier: MIT

package engine

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	regex "github.com/penstock/penstock/host/grammar/pattern"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
)

// lazy finds in an answer where a lazy grammar begins, as llama.cpp does: at the first token after
// which one of its triggers is there. The grammar then begins with the text that the trigger has
// matched, in the middle of a token if need be.
type lazy struct {
	*triggers
	piece func(scheduler.Token) string // its bytes, with the text of control tokens

	asleep bool
	seen   []scheduler.Token // while asleep
	ends   []int             // where in text each of them ends
	text   []byte            // theirs
}

// triggers are those of a lazy grammar, which do not change: all answers of a request share them.
type triggers struct {
	tokens []scheduler.Token
	texts  []textTrigger // in their order
	slow   bool          // some are patterns, which read the whole answer at each token
}

// textTrigger is a word or a regular expression.
type textTrigger struct {
	word   string
	search *pattern // nil for a word
	whole  *pattern // tried first: it matches all of the text or nothing; nil unless the pattern is anchored
}

// Triggers are those of p's lazy grammar. As in llama-server, a word that is one token has become
// that token, which must be preserved. Errors are *sampling.Invalid, unless ctx is done.
func (e *Engine) Triggers(ctx context.Context, p sampling.Params) ([]sampling.Trigger, error) {
	if len(p.GrammarTriggers) == 0 {
		return nil, nil
	}
	preserved, err := e.PreservedTokens(ctx, p)
	if err != nil {
		return nil, err
	}
	triggers := slices.Clone(p.GrammarTriggers)
	for i, t := range triggers {
		if t.Kind != sampling.TriggerWord {
			continue
		}
		field := valueField(i)
		tokens, err := e.tokenizeField(ctx, field, t.Value)
		switch {
		case err != nil:
			return nil, err
		case len(tokens) != 1:
		case !slices.Contains(preserved, tokens[0]):
			return nil, sampling.Refused(field, "%s is %q, which is one token; it must stand in preserved_tokens, too", field, t.Value)
		default:
			triggers[i] = sampling.Trigger{Kind: sampling.TriggerToken, Value: t.Value, Token: tokens[0]}
		}
	}
	return triggers, nil
}

func valueField(trigger int) string { return fmt.Sprintf("grammar_triggers[%d].value", trigger) }

// newLazy makes a lazy grammar, which sleeps.
func (e *Engine) newLazy(t *triggers) *lazy { return &lazy{triggers: t, piece: e.Piece, asleep: true} }

// compileTriggers makes the triggers of a lazy grammar.
func (e *Engine) compileTriggers(ctx context.Context, p sampling.Params) (*triggers, error) {
	all, err := e.Triggers(ctx, p)
	if err != nil {
		return nil, err
	}
	made, left := &triggers{}, newPatternBudget()
	for i, t := range all {
		switch t.Kind {
		case sampling.TriggerToken:
			made.tokens = append(made.tokens, t.Token)
		case sampling.TriggerWord:
			made.texts = append(made.texts, textTrigger{word: t.Value})
		default:
			trigger, err := newPattern(t, left)
			if err != nil {
				return nil, sampling.Refused(valueField(i), "%s cannot be used: %v", valueField(i), err)
			}
			made.texts, made.slow = append(made.texts, trigger), true
		}
	}
	return made, nil
}

func newPattern(t sampling.Trigger, left *patternBudget) (textTrigger, error) {
	text := t.Value
	if t.Kind == sampling.TriggerPatternFull {
		if !strings.HasPrefix(text, "^") {
			text = "^" + text
		}
		if !strings.HasSuffix(text, "$") || text == "^" {
			text += "$"
		}
	}
	search, err := compilePattern(text, left)
	if err != nil {
		return textTrigger{}, err
	}
	trigger := textTrigger{search: &search}
	if strings.HasPrefix(text, "^") && strings.HasSuffix(text, "$") {
		whole, err := compilePattern(`\A(?:`+text+`)\z`, left)
		if err != nil {
			return textTrigger{}, err
		}
		trigger.whole = &whole
	}
	return trigger, nil
}

// begin is where the text begins that the trigger has matched: its first group that is not empty,
// or all of its match. from is how much of the text was there before and had no match in it.
func (t textTrigger) begin(text []byte, from int) (int, bool) {
	if t.search == nil {
		at := bytes.Index(text[from:], []byte(t.word))
		return from + at, at >= 0
	}
	var match []int
	if t.whole != nil {
		match = t.whole.find(text)
	}
	if match == nil {
		match = t.search.find(text)
	}
	if match == nil {
		return 0, false
	}
	for i := 2; i+1 < len(match); i += 2 {
		if match[i] < match[i+1] {
			return match[i], true
		}
	}
	return match[0], true
}

// accept takes the next token of the answer. If the grammar wakes at it, it begins with the tokens
// that are returned; of the text of the first, skip bytes are left out.
func (l *lazy) accept(t scheduler.Token) (begin []scheduler.Token, skip int) {
	if slices.Contains(l.tokens, t) {
		l.asleep = false
		return []scheduler.Token{t}, 0
	}
	before := len(l.text)
	l.text = append(l.text, l.piece(t)...)
	l.seen, l.ends = append(l.seen, t), append(l.ends, len(l.text))
	for _, trigger := range l.texts {
		at, found := trigger.begin(l.text, max(0, before-len(trigger.word)+1))
		if !found {
			continue
		}
		l.asleep = false
		first := 0
		for first < len(l.ends) && l.ends[first] <= at {
			first++
		}
		if first < len(l.ends) {
			skip = max(0, at-(l.ends[first]-len(l.piece(l.seen[first]))))
		}
		return l.seen[first:], skip
	}
	return nil, 0
}

// reset puts the grammar to sleep at the beginning of an answer.
func (l *lazy) reset() {
	l.asleep = true
	l.seen, l.ends, l.text = l.seen[:0], l.ends[:0], l.text[:0]
}

// undo forgets the tokens after the first n, and that the grammar woke at one of them.
func (l *lazy) undo(n int) {
	l.asleep = true
	l.seen, l.ends = l.seen[:n], l.ends[:n]
	length := 0
	if n > 0 {
		length = l.ends[n-1]
	}
	l.text = l.text[:length]
}

// pattern is a regular expression in which some places must not be followed by certain texts.
// llama.cpp's templates have triggers such as >>>(?!all); Go's regular expressions know no such
// (?!text), because they never look at a text twice.
type pattern struct {
	*regexp.Regexp
	not map[int][]byte // by the number of an empty group, which marks the place
}

// The bounds of patterns, in the instructions that they become: of one, by the work for each
// character, and of all of a request, by their memory.
const (
	maxPatternCode  = 1_000
	maxPatternsCode = 20_000
)

// patternBudget is what is left for the patterns of a request.
type patternBudget struct {
	code    int // instructions
	parsing int // see regex.Parse
}

var lookahead = regexp.MustCompile(`\(\?!((?:[^()\\]|\\.)*)\)`)

const markName = "not"

// compilePattern compiles a pattern whose negative lookaheads are texts.
func compilePattern(text string, left *patternBudget) (pattern, error) {
	var texts [][]byte
	marked := lookahead.ReplaceAllStringFunc(text, func(found string) string {
		inner := lookahead.FindStringSubmatch(found)[1]
		tree, err := regex.Parse(inner, &left.parsing)
		if err != nil || tree.Op != syntax.OpLiteral || tree.Flags&syntax.FoldCase != 0 {
			return found // which is refused
		}
		texts = append(texts, []byte(string(tree.Rune)))
		return fmt.Sprintf("(?P<%s%d>)", markName, len(texts)-1)
	})
	tree, err := regex.Parse(marked, &left.parsing)
	if err != nil {
		return pattern{}, err
	}
	n := codeSize(tree)
	if n <= 2*maxPatternCode { // more would take much only to be counted
		if code, err := syntax.Compile(tree.Simplify()); err == nil {
			n = len(code.Inst)
		}
	}
	switch left.code -= n; {
	case n > maxPatternCode:
		return pattern{}, fmt.Errorf("it repeats too much: it has %d states, at most %d are taken", n, maxPatternCode)
	case left.code < 0:
		return pattern{}, fmt.Errorf("the patterns of a request have at most %d states together, and these have more", maxPatternsCode)
	}
	r, err := regexp.Compile(marked)
	if err != nil {
		return pattern{}, err
	}
	p := pattern{r, map[int][]byte{}}
	for group, name := range r.SubexpNames() {
		if n, err := strconv.Atoi(strings.TrimPrefix(name, markName)); err == nil && n < len(texts) {
			p.not[group] = texts[n]
		}
	}
	return p, nil
}

// codeSize is about how many instructions a pattern becomes.
func codeSize(re *syntax.Regexp) int {
	n := 0
	for _, part := range re.Sub {
		n = min(n+codeSize(part), math.MaxInt32)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpRepeat:
		return min(n*max(re.Min, re.Max, 1)+re.Max-re.Min+1, math.MaxInt32)
	case syntax.OpAlternate:
		return n + len(re.Sub)
	case syntax.OpConcat:
		return n
	}
	return n + 2
}

func newPatternBudget() *patternBudget { return &patternBudget{maxPatternsCode, regex.MaxParsing} }

// find is the first match, with the bounds of its groups; nil if there is none.
func (p pattern) find(text []byte) []int {
	if len(p.not) == 0 {
		return p.FindSubmatchIndex(text)
	}
	for _, match := range p.FindAllSubmatchIndex(text, -1) {
		if !p.denied(text, match) {
			return match
		}
	}
	return nil
}

// denied reports whether a text follows where it must not.
func (p pattern) denied(text []byte, match []int) bool {
	for group, not := range p.not {
		if at := match[2*group]; at >= 0 && bytes.HasPrefix(text[at:], not) {
			return true
		}
	}
	return false
}
